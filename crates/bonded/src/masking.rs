//! Text as it may be shown: without secrets, and for a terminal without anything that drives it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bonded_host::Secrets;
use bonded_host::letters::harmless;

/// What neither stream shows. Set once, by the first command that reads a configuration.
static SECRETS: OnceLock<Arc<Secrets>> = OnceLock::new();

/// The password of the store, which is in no configuration.
static PASSWORD: OnceLock<String> = OnceLock::new();

/// Keeps the password of the store out of everything that is written from now on.
pub(crate) fn hide(password: &str) {
    // A process has one store.
    let _set = PASSWORD.set(password.to_owned());
}

/// Keeps secrets out of everything that is written from now on.
pub(crate) fn mask_with(secrets: &Arc<Secrets>) {
    // A second one is the same: a process has one environment.
    let _set = SECRETS.set(secrets.clone());
}

/// A line as it may be shown.
pub(crate) fn masked(line: &str) -> Cow<'_, str> {
    if let Some(password) = PASSWORD.get().filter(|it| line.contains(it.as_str())) {
        let line = line.replace(password.as_str(), "[the store's password]");
        return masked_by_configuration(&line).into_owned().into();
    }
    masked_by_configuration(line)
}

fn masked_by_configuration(line: &str) -> Cow<'_, str> {
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
