//! The two streams. A reader that went away is no error: the run goes on and its log is kept.

use std::io::{self, IsTerminal as _, Write as _};

/// Writes a line to stdout: answers and data only.
pub(crate) fn stdout(line: &str) {
    let mut stream = io::stdout().lock();
    // A closed pipe means that nobody reads any more.
    let _unread = writeln!(stream, "{line}").and_then(|()| stream.flush());
}

/// Writes a line to stderr: everything else.
pub(crate) fn stderr(line: &str) {
    let mut stream = io::stderr().lock();
    let _unread = writeln!(stream, "{line}");
}

pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}
