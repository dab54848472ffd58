//! A process to its end: what it came to, and how a test looks at it.

use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::patience::PATIENCE;

/// What a command came to.
#[derive(Debug)]
pub struct Done {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The error's code, as in `error[CODE]`.
    pub fn error(&self) -> &str {
        let begin = self.stderr.split("error[").nth(1);
        begin
            .and_then(|rest| rest.split(']').next())
            .unwrap_or_default()
    }

    #[track_caller]
    pub fn fails_with(&self, code: i32, error: &str) {
        assert_eq!((self.code, self.error()), (Some(code), error), "{self:?}");
    }

    #[track_caller]
    pub fn succeeds(&self) {
        assert_eq!(self.code, Some(0), "{self:?}");
    }

    /// Asserts that stderr has this in it.
    #[track_caller]
    pub fn says(&self, expected: &str) {
        assert!(self.stderr.contains(expected), "{expected:?}: {self:?}");
    }

    /// The one value on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        parse(&self.stdout)
    }
}

#[track_caller]
pub fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?} is not JSON: {error}"))
}

#[track_caller]
pub fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is not a text"))
}

pub fn start(command: &mut Command) -> Child {
    command.spawn().expect("the program can be started")
}

/// Waits for a process and collects what it printed. Never waits for ever, and no program of ours panics.
pub fn finish(child: Child) -> Done {
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    collected(child, text)
}

/// The same for a process that may print bytes of strangers.
pub fn finish_lossy(child: Child) -> Done {
    collected(child, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn collected(mut child: Child, text: impl Fn(Vec<u8>) -> String) -> Done {
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait_for_end(&mut child);
    let text =
        |thread: JoinHandle<Vec<u8>>| text(thread.join().expect("reading a pipe does not panic"));
    let done = Done {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    };
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    done
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        }
        bytes
    })
}

/// Waits for the end of a process; one that does not end is killed, and the test fails.
#[track_caller]
pub fn wait_for_end(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the process can be waited for") {
            return status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("the process can be killed");
            child.wait().expect("a killed process ends");
            panic!("the program did not end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The most memory that a process has had when it ends, in kilobytes.
pub fn peak_kb(child: &Child) -> JoinHandle<u64> {
    let status = format!("/proc/{}/status", child.id());
    thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = std::fs::read_to_string(&status) {
            // One that has ended has no memory any more.
            peak = held_kb(&status).unwrap_or(0).max(peak);
            thread::sleep(Duration::from_millis(2));
        }
        peak
    })
}

/// What the system says in a process' status of the most memory that it has held at once.
pub(crate) fn held_kb(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

pub fn kill(mut child: Child) {
    child.kill().expect("the process can be killed");
    child.wait().expect("a killed process ends");
}

pub fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_child(child);
    kill_process(pid, signal).expect("a child that was not waited for can be signalled");
}
