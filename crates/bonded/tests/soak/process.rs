//! A server of the soak: how it is started, what the system says about it, and how it is stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};

use bonded_testkit::process;
use rustix::process::Signal;

use crate::place::{Place, program};

/// What the server over stdio is called.
pub(crate) const STDIO: &str = "mcp";

pub(crate) struct Process {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    inner: process::Process,
}

/// What the system says about a process at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) memory_kb: f64,
    pub(crate) descriptors: f64,
    pub(crate) threads: f64,
    /// Everything that lies in its directories.
    pub(crate) files: f64,
    /// Of the largest one.
    pub(crate) wal_kb: f64,
    pub(crate) bytes_kb: f64,
}

/// The program in a place, with a directory for scratch that is nobody else's.
pub(crate) fn command(place: &Place, words: &[String]) -> Command {
    let program = std::env::var_os("BONDED_SOAK_PROGRAM").map_or_else(program, PathBuf::from);
    let mut command = place.command_of(&program, words);
    let scratch = place.path("scratch");
    fs::create_dir_all(&scratch).expect("a directory can be made");
    command.env("TMPDIR", scratch);
    command
}

impl Process {
    pub(crate) fn start(name: &'static str, place: Place, command: &mut Command) -> Self {
        Self {
            name,
            place,
            inner: process::Process::begin(command),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        let address = self.inner.address();
        address.unwrap_or_else(|heard| panic!("{} listens nowhere: {heard:?}", self.name))
    }

    pub(crate) fn stdin(&self) -> ChildStdin {
        self.inner.stdin()
    }

    pub(crate) fn stdout(&self) -> ChildStdout {
        self.inner.stdout()
    }

    pub(crate) fn set_disk_full(&self, is_full: bool) {
        self.inner.set_disk_full(is_full);
    }

    pub(crate) fn look(&self) -> Look {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.inner.id())).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|it| it.parse().ok()).unwrap_or(0.0)
        };
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.inner.id()));
        let mut look = Look {
            // Pages of the program itself come and go as the system likes.
            memory_kb: field("RssAnon:"),
            threads: field("Threads:"),
            descriptors: descriptors.map_or(0.0, |them| them.count() as f64),
            ..Look::default()
        };
        count(&self.place.path(""), &mut look);
        look
    }

    /// Stops it as a machine would; gives what is wrong with its end and with what it said.
    pub(crate) fn stop(&self) -> Vec<String> {
        let name = self.name;
        if let Some(status) = self.inner.ended() {
            // A server over stdio has ended with its client.
            if status.success() && name == STDIO {
                return vec![];
            }
            return vec![format!("{name}: it was gone already: {status}")];
        }
        let ended = self.inner.end(Signal::TERM);
        match ended.code {
            Some(0 | 143) => vec![],
            code => vec![format!("{name}: it ended with {code:?}")],
        }
    }
}

fn count(directory: &Path, look: &mut Look) {
    // What is gone between two looks is not counted.
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        look.files += 1.0;
        let Ok(about) = entry.metadata() else {
            continue;
        };
        if about.is_dir() {
            count(&entry.path(), look);
            continue;
        }
        let kb = about.len() as f64 / 1024.0;
        look.bytes_kb += kb;
        if entry.file_name().to_string_lossy().ends_with("-wal") {
            look.wal_kb = look.wal_kb.max(kb);
        }
    }
}
