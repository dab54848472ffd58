//! Text as it may be shown: without secrets, and for a terminal without anything that drives it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bonded_host::Secrets;
use bonded_host::letters::harmless;

/// What neither stream shows. Set once, by the first command that reads a configuration.
static SECRETS: OnceLock<Arc<Secrets>> = OnceLock::new();

/// Secrets that are in no configuration, each with what stands in its place.
static HIDDEN: RwLock<Vec<(String, &str)>> = RwLock::new(vec![]);

/// Keeps a secret out of everything that is written from now on.
pub(crate) fn hide(secret: &str, name: &'static str) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    if !secret.is_empty() && !hidden.iter().any(|(known, _)| known == secret) {
        hidden.push((secret.to_owned(), name));
    }
}

/// Keeps secrets out of everything that is written from now on.
pub(crate) fn mask_with(secrets: &Arc<Secrets>) {
    // A second one is the same: a process has one environment.
    let _set = SECRETS.set(secrets.clone());
}

/// A line as it may be shown.
pub(crate) fn masked(line: &str) -> Cow<'_, str> {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let mut found = hidden
        .iter()
        .filter(|(secret, _)| line.contains(secret.as_str()));
    let Some(first) = found.next() else {
        return masked_by_configuration(line);
    };
    let replaced = std::iter::once(first)
        .chain(found)
        .fold(line.to_owned(), |line, (secret, name)| {
            line.replace(secret.as_str(), &format!("[{name}]"))
        });
    masked_by_configuration(&replaced).into_owned().into()
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
