//! A server of the soak: how it is started, what the system says about it, and how it is stopped.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::place::Place;
use crate::wire::PATIENCE;

/// What the server over stdio is called.
pub(crate) const STDIO: &str = "mcp";

pub(crate) struct Process {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    child: Mutex<Child>,
    id: u32,
    /// What it said of itself on stderr.
    said: Mutex<Receiver<String>>,
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
    let built = env!("CARGO_BIN_EXE_bonded");
    let program = std::env::var_os("BONDED_SOAK_PROGRAM").map_or(built.into(), PathBuf::from);
    let mut command = place.command_of(&program, words);
    let scratch = place.path("scratch");
    fs::create_dir_all(&scratch).expect("a directory can be made");
    command.env("TMPDIR", scratch);
    command
}

impl Process {
    pub(crate) fn start(name: &'static str, place: Place, mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program can be started");
        let (sender, said) = channel();
        let stderr = child.stderr.take().expect("stderr is a pipe");
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Nobody may listen any more.
                let _unheard = sender.send(line);
            }
        });
        Self {
            name,
            place,
            id: child.id(),
            child: Mutex::new(child),
            said: Mutex::new(said),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut heard = vec![];
        loop {
            let line = said.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("{} listens nowhere: {heard:?}", self.name));
            if let Some(address) = line.strip_prefix("listening on http://") {
                return address.to_owned();
            }
            heard.push(line);
        }
    }

    pub(crate) fn stdin(&self) -> ChildStdin {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.stdin.take().expect("stdin is a pipe")
    }

    pub(crate) fn stdout(&self) -> ChildStdout {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.stdout.take().expect("stdout is a pipe")
    }

    /// As full as a disk can be: no file may grow; or again as much as it wants.
    pub(crate) fn set_disk_full(&self, is_full: bool) {
        let limit = Rlimit {
            current: is_full.then_some(0),
            maximum: None,
        };
        let pid = Pid::from_raw(self.id.cast_signed());
        prlimit(pid, Resource::Fsize, limit).expect("a person may limit their own processes");
    }

    pub(crate) fn look(&self) -> Look {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|it| it.parse().ok()).unwrap_or(0.0)
        };
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.id));
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
        let pid = Pid::from_raw(self.id.cast_signed()).expect("a process has a number");
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(Some(status)) = child.try_wait() {
            // A server over stdio has ended with its client.
            if status.success() && name == STDIO {
                return vec![];
            }
            return vec![format!("{name}: it was gone already: {status}")];
        }
        let sent = kill_process(pid, Signal::TERM);
        sent.expect("a child can be signalled");
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if began.elapsed() > PATIENCE {
                child.kill().expect("a child can be killed");
                child.wait().expect("a killed child ends");
                return vec![format!("{name}: SIGTERM did not end it")];
            }
            thread::sleep(Duration::from_millis(20));
        };
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings: Vec<String> = said
            .try_iter()
            .filter(|line| line.contains("panicked"))
            .map(|line| format!("{name}: {line}"))
            .collect();
        if ![Some(0), Some(143)].contains(&status.code()) {
            findings.push(format!("{name}: it ended with {status}"));
        }
        findings
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was stopped needs no end.
        let _ended = child.kill().and_then(|()| child.wait());
    }
}

/// Reads a pipe to its end, so that nobody waits for a reader.
pub(crate) fn drain(mut pipe: impl Read + Send + 'static) {
    thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()));
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
