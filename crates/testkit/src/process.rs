//! A process of the program that serves others: where it listens, what it says, what the system says about it, and
//! how it ends.

#[cfg(test)]
mod tests;

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;

use crate::done::{Done, held_kb, start, wait_for_end};
use crate::patience::PATIENCE;

/// What a server says when it is ready.
const LISTENING: &str = "listening on http://";

/// It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
    pid: Pid,
    told: Arc<Told>,
}

/// What a process has said on stderr.
#[derive(Debug, Default)]
struct Told {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    all: Vec<String>,
    is_over: bool,
}

/// Where a server listens, by a line of its log, be that text or an object.
fn address_in(line: &str) -> Option<String> {
    let object: Option<Value> = serde_json::from_str(line).ok();
    let message = object.as_ref().and_then(|it| it["message"].as_str());
    let address = message.unwrap_or(line).strip_prefix(LISTENING)?;
    Some(address.to_owned())
}

impl Process {
    /// Starts it and does not wait.
    pub fn begin(command: &mut Command) -> Self {
        let mut child = start(command);
        let told = Arc::new(Told::default());
        match child.stderr.take() {
            Some(stderr) => {
                let told = told.clone();
                thread::spawn(move || told.listen(stderr));
            }
            // Somebody else reads it, or nobody.
            None => told.lock().is_over = true,
        }
        Self {
            pid: Pid::from_child(&child),
            child: Mutex::new(child),
            told,
        }
    }

    /// Starts it and waits until it listens; gives where.
    #[track_caller]
    pub fn serve(command: &mut Command) -> (Self, String) {
        let process = Self::begin(command);
        let address = process.address();
        let address = address.unwrap_or_else(|told| panic!("no start: {told:?}"));
        (process, address)
    }

    /// Where it listens, once it does; an error with what it told where it ends instead.
    pub fn address(&self) -> Result<String, Vec<String>> {
        let lines = self
            .told
            .wait(|lines| lines.iter().any(|it| address_in(it).is_some()));
        let mut found = lines.all.iter();
        found.find_map(|it| address_in(it)).ok_or(lines.all.clone())
    }

    /// Where it listens, if it does already.
    pub fn address_now(&self) -> Option<String> {
        let lines = self.told.lock();
        let mut lines = lines.all.iter();
        lines.find_map(|line| address_in(line))
    }

    /// All that it has said so far on stderr.
    pub fn told(&self) -> Vec<String> {
        self.told.lock().all.clone()
    }

    /// What it said before it listened.
    pub fn told_first(&self) -> Vec<String> {
        let lines = self.told().into_iter();
        lines
            .take_while(|line| !line.starts_with(LISTENING))
            .collect()
    }

    /// The first line on stderr that holds this, once there is one.
    #[track_caller]
    pub fn line_with(&self, part: &str) -> String {
        self.line(part, |line| line.contains(part))
    }

    /// Waits until it has said something on stderr that begins so.
    #[track_caller]
    pub fn wait_until_told(&self, beginning: &str) {
        self.line(beginning, |line| line.starts_with(beginning));
    }

    #[track_caller]
    fn line(&self, part: &str, is_meant: impl Fn(&String) -> bool) -> String {
        let lines = self.told.wait(|lines| lines.iter().any(&is_meant));
        let line = lines.all.iter().find(|line| is_meant(line));
        line.unwrap_or_else(|| panic!("no line with {part:?}: {:?}", lines.all))
            .clone()
    }

    pub fn stdin(&self) -> ChildStdin {
        self.lock().stdin.take().expect("stdin is a pipe")
    }

    pub fn stdout(&self) -> ChildStdout {
        self.lock().stdout.take().expect("stdout is a pipe")
    }

    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        // It is waited for with the lock, so that its number is nobody else's.
        let _child = self.lock();
        kill_process(self.pid, signal).expect("a child can be signalled");
    }

    /// A file of the system about it.
    pub fn about(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.id())).expect("it runs")
    }

    /// The most memory that it has held at once.
    pub fn peak_bytes(&self) -> u64 {
        held_kb(&self.about("status")).expect("the system says how much memory a process had") << 10
    }

    /// Lets it have no more of something; gives what it might have before.
    pub fn limit(&self, resource: Resource, most: Option<u64>) -> Rlimit {
        // The hard limit is that of this process, from which it has it.
        let limit = Rlimit {
            current: most,
            ..rustix::process::getrlimit(resource)
        };
        let before = prlimit(Some(self.pid), resource, limit);
        before.expect("a person may limit their own processes")
    }

    /// As full as a disk can be: no file may grow; or again as much as it wants.
    pub fn set_disk_full(&self, is_full: bool) {
        self.limit(Resource::Fsize, is_full.then_some(0));
    }

    /// How it has ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.lock().try_wait().expect("a child can be looked at")
    }

    /// Waits for its end, and gives all that it said.
    #[track_caller]
    pub fn finish(&self) -> Done {
        let mut child = self.lock();
        let mut stdout = String::new();
        if let Some(mut pipe) = child.stdout.take() {
            // A server says next to nothing there: the pipe never fills while it runs.
            let status = wait_for_end(&mut child);
            pipe.read_to_string(&mut stdout)
                .expect("a pipe can be read");
            return self.done(status, stdout);
        }
        let status = wait_for_end(&mut child);
        self.done(status, stdout)
    }

    fn done(&self, status: ExitStatus, stdout: String) -> Done {
        let lines = self.told.wait(|_| false);
        let stderr = lines.all.join("\n");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Done {
            code: status.code(),
            stdout,
            stderr,
        }
    }

    /// Sends it a signal, waits for its end, and gives all that it said.
    #[track_caller]
    pub fn end(&self, signal: Signal) -> Done {
        self.signal(signal);
        self.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.lock();
        // One that has ended by itself needs no end.
        let _ended = child.kill().and_then(|()| child.wait());
    }
}

impl Told {
    /// Reads to the end, so that nobody waits for a reader.
    fn listen(&self, stderr: ChildStderr) {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            self.lock().all.push(line);
            self.changed.notify_all();
        }
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until the lines are as they should be, or there will be no more of them.
    fn wait(&self, is_time: impl Fn(&[String]) -> bool) -> MutexGuard<'_, Lines> {
        let early = |lines: &mut Lines| !lines.is_over && !is_time(&lines.all);
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, early);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a pipe to its end, so that nobody waits for a reader.
pub fn drain(mut pipe: impl Read + Send + 'static) {
    thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()));
}
