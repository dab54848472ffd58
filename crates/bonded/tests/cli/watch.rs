//! Looking at what a run does outside, and what a test leaves for it.

use std::path::Path;

use bonded_testkit::provider::{Provider, raw};

use crate::place::{Done, Place, finish, start};

pub(crate) use bonded_testkit::done::signal;
pub(crate) use bonded_testkit::patience::wait_until;
pub(crate) use bonded_testkit::place::{FOREVER_MS, never, of_kind};

/// Whether any process has this on its command line. One that ended and that nobody waited for has none.
/// Inside a sandbox processes have other numbers, so that none could tell us its own.
pub(crate) fn is_running(marker: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(marker))
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).expect("the file can be written");
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A provider that answers with these bodies, one after the other.
pub(crate) fn saying<const N: usize>(bodies: [Vec<u8>; N]) -> Provider {
    let provider = Provider::start();
    provider.say(bodies.map(|body| raw(200, "application/json", body)));
    provider
}

/// Starts the program with a text as its stdin and waits for its end.
pub(crate) fn with_stdin(place: &Place, arguments: &[&str], stdin: &[u8]) -> Done {
    let path = place.path("stdin");
    write(&path, stdin);
    let file = std::fs::File::open(path).expect("the file was just written");
    finish(start(place.command(arguments).stdin(file)))
}
