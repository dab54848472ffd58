//! The two streams, and the only place that writes to them. A reader that went away is no error: the run goes on and
//! its log is kept.
//!
//! Whatever is shown may hold what others wrote: a model, a tool, a server, a file's name. So nothing that drives a
//! terminal gets through to one, whoever wrote it. The colours that this program uses are put around texts that are
//! harmless already, by one type (`Styled`), and its live rows are drawn by one module (`stderr_writer`).
//!
//! Secrets are masked on both streams, always. Control characters are made harmless where a terminal reads, and on
//! stderr always, because people read it later too; data for programs goes out as it is. An error of stdout is
//! remembered and reported at the end, since a command that goes on must not depend on its reader.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

use bonded_host::letters::harmless;
use rustix::termios::tcgetsid;
use serde::Serialize;

use crate::flow;
use crate::log_form;
use crate::masking::{for_terminal, masked};
use crate::stderr_writer;
use crate::style::{Look, Stream, Styled, prose_columns};

/// How long a terminal that takes nothing is waited for before something is drawn on it.
const SETTLING: Duration = Duration::from_secs(1);

/// The first error of stdout.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// How long a terminal that takes nothing is waited for before the other stream is written to.
const OTHER_STREAM: Duration = Duration::from_secs(1);

/// Writes a line to stdout: answers and data only. What goes to a file or another program goes there as it is.
pub(crate) fn stdout(line: &str) {
    let masked = masked(line);
    let line = match io::stdout().is_terminal() {
        true => harmless(&masked),
        false => masked,
    };
    write_stdout(&line);
}

/// Writes a line of ours to stdout, with its colours where it has some.
pub(crate) fn styled_stdout(line: &Styled, look: &Look) {
    write_stdout(&line.render(look));
}

/// Writes a text for people to stdout: on a terminal in rows that break between words. Data is left as it is.
pub(crate) fn prose(text: &str) {
    let is_data = text.trim_start().starts_with(['{', '[']);
    if is_data || !Look::of(Stream::Out).terminal {
        return stdout(text);
    }
    let room = prose_columns(Stream::Out.size().0);
    write_stdout(&flow::rows(text, room).join("\n"));
}

/// On a terminal what was said on stderr comes first, so that the two streams never share a line.
fn write_stdout(line: &str) {
    if io::stdout().is_terminal() {
        stderr_writer::settle(OTHER_STREAM);
    }
    let mut stream = io::stdout().lock();
    let written = writeln!(stream, "{line}").and_then(|()| stream.flush());
    match written {
        // A closed pipe means that nobody reads any more.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            // The first is the one to tell.
            let _is_first = UNWRITTEN.set(error.to_string());
        }
        _ => {}
    }
}

/// Writes an object for programs to stdout, on one line, with its fields sorted by their names.
pub(crate) fn object(object: &impl Serialize) {
    let value = serde_json::to_value(object).expect("all keys of an object are strings");
    stdout(&value.to_string());
}

/// Why something that was to be read on stdout is not there, if so.
pub(crate) fn unwritten() -> Option<&'static str> {
    UNWRITTEN.get().map(String::as_str)
}

/// Writes a line to stderr: everything else. People read it, now or later.
pub(crate) fn stderr(line: &str) {
    log(&log_form::shaped(line));
}

/// Writes a line of the log to stderr as it is.
pub(crate) fn log(line: &str) {
    write_stderr(stderr_writer::take(for_terminal(line)));
}

/// Draws on stderr what this program has made for a terminal itself, colours included. Whatever others wrote in it was
/// made harmless before, letter by letter; what was said until now is written first.
pub(crate) fn draw(text: &str) {
    stderr_writer::settle(SETTLING);
    let text = masked(text);
    let mut stream = io::stderr().lock();
    let _unread = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

/// Writes a line of ours to stderr, with its colours where it has some.
pub(crate) fn styled(line: &Styled, look: &Look) {
    write_stderr(stderr_writer::take_drawn(line.render(look)));
}

/// Writes what the writer did not take: a server, or a run, has nobody wait for whoever reads. The line and its end are
/// one write, so that nothing gets in between.
fn write_stderr(untaken: Option<String>) {
    let Some(mut line) = untaken else {
        return;
    };
    line.push('\n');
    let _unread = io::stderr().lock().write_all(line.as_bytes());
}

/// Whether both streams are the same terminal: what stands there once need not be written again.
pub(crate) fn is_one_terminal() -> bool {
    let (out, err) = (io::stdout(), io::stderr());
    let device = |stat: rustix::io::Result<rustix::fs::Stat>| stat.ok().map(|it| it.st_rdev);
    let same_device = device(rustix::fs::fstat(&out)) == device(rustix::fs::fstat(&err));
    // A terminal has several names; the session that it controls is one.
    let session = tcgetsid(&out).ok();
    let same_session = session.is_some() && session == tcgetsid(&err).ok();
    out.is_terminal() && err.is_terminal() && (same_device || same_session)
}

/// Whether a person may be asked there.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}
