//! The two streams. A reader that went away is no error: the run goes on and its log is kept.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, OnceLock};

use bonded_host::Secrets;

use crate::stderr_writer;

/// What neither stream shows. Set once, by the first command that reads a configuration.
static SECRETS: OnceLock<Arc<Secrets>> = OnceLock::new();

/// Keeps secrets out of everything that is written from now on.
pub(crate) fn mask_with(secrets: &Arc<Secrets>) {
    // A second one is the same: a process has one environment.
    let _set = SECRETS.set(secrets.clone());
}

/// A line as it may be shown.
pub(crate) fn masked(line: &str) -> std::borrow::Cow<'_, str> {
    match SECRETS.get() {
        // The mask is taken, not lent: it must not be held while a slow reader is waited for.
        Some(secrets) => secrets.mask().text(line).into_owned().into(),
        None => line.into(),
    }
}

/// Writes a line to stdout: answers and data only.
pub(crate) fn stdout(line: &str) {
    let line = masked(line);
    let mut stream = io::stdout().lock();
    // A closed pipe means that nobody reads any more.
    let _unread = writeln!(stream, "{line}").and_then(|()| stream.flush());
}

/// Writes a line to stderr: everything else.
pub(crate) fn stderr(line: &str) {
    // A server has nobody wait for whoever reads.
    let Some(line) = stderr_writer::take(masked(line).into_owned()) else {
        return;
    };
    let mut stream = io::stderr().lock();
    let _unread = writeln!(stream, "{line}");
}

pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}
