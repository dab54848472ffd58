//! Text as it may be shown: without secrets, and for a terminal without anything that drives it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bonded_host::Secrets;
use bonded_host::letters::harmless;

/// What neither stream shows. Set once, by the first command that reads a configuration.
static SECRETS: OnceLock<Arc<Secrets>> = OnceLock::new();

/// Keeps secrets out of everything that is written from now on.
pub(crate) fn mask_with(secrets: &Arc<Secrets>) {
    // A second one is the same: a process has one environment.
    let _set = SECRETS.set(secrets.clone());
}

/// A line as it may be shown.
pub(crate) fn masked(line: &str) -> Cow<'_, str> {
    match SECRETS.get() {
        // The mask is taken, not lent: it must not be held while a slow reader is waited for.
        Some(secrets) => secrets.mask().text(line).into_owned().into(),
        None => line.into(),
    }
}

/// A line as it may reach a terminal.
pub(crate) fn for_terminal(line: &str) -> String {
    harmless(&masked(line)).into_owned()
}
