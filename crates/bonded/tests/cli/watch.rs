//! Watching a run from outside, and stopping what is watched.

use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::done::kill;
use crate::place::{Done, Place, finish, parse, start, with};

const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than any test waits: what has this delay hangs.
pub(crate) const FOREVER_MS: u64 = 600_000;

/// Polls until the condition holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_child(child);
    kill_process(pid, signal).expect("a child that was not waited for can be signalled");
}

/// Whether any process has this on its command line. One that ended and that nobody waited for has none.
/// Inside a sandbox processes have other numbers, so that none could tell us its own.
pub(crate) fn is_running(marker: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(marker))
}

/// The field of each entry of this kind.
pub(crate) fn of_kind<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let chosen = entries.iter().filter(|entry| entry["kind"] == kind);
    chosen.map(|entry| &entry["data"]).collect()
}

/// A reply that never comes.
pub(crate) fn never() -> Value {
    with(json!({ "text": "too late" }), "delay_ms", FOREVER_MS)
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).expect("the file can be written");
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

impl Place {
    pub(crate) fn entries(&self, run: &str) -> Vec<Value> {
        self.log(run).iter().map(|line| parse(line)).collect()
    }

    /// Plays a script under the id `run` to its end.
    pub(crate) fn play(&self, lines: &[Value]) -> Done {
        self.bonded(&[
            "run",
            "--id",
            "run",
            "--model",
            &self.script(lines),
            "the goal",
        ])
    }

    /// Plays a script under the id `run`, with flags, and gives the result object.
    pub(crate) fn result(&self, flags: &[&str], lines: &[Value]) -> Value {
        let script = self.script(lines);
        let fixed = [
            "run", "--id", "run", "--json", "--model", &script, "the goal",
        ];
        self.bonded(&[&fixed, flags].concat()).json()
    }

    /// Starts a run under the id `run` and waits until an entry of this kind stands in this turn.
    pub(crate) fn start_until(&self, lines: &[Value], turn: u64, kind: &str) -> Child {
        let script = self.script(lines);
        let child =
            start(&mut self.command(&["run", "--id", "run", "--model", &script, "the goal"]));
        self.wait_for_entry("run", turn, kind);
        child
    }

    pub(crate) fn wait_for_entry(&self, run: &str, turn: u64, kind: &str) {
        wait_until(&format!("turn {turn} has {kind}"), || {
            let shown = self.bonded(&["show", run, "--json"]);
            let mut entries = shown.stdout.lines().map(parse);
            entries.any(|entry| entry["turn"] == turn && entry["kind"] == kind)
        });
    }

    /// Leaves a run under the id `run` whose process was killed in this turn, while the model was asked.
    pub(crate) fn interrupt_in(&self, lines: &[Value], turn: usize) {
        let mut hanging = lines.to_vec();
        hanging[turn - 1]["delay_ms"] = FOREVER_MS.into();
        kill(self.start_until(&hanging, turn as u64, "attempt_started"));
        self.script(lines);
    }

    pub(crate) fn resume(&self) -> Done {
        self.bonded(&["resume", "run"])
    }

    /// The log is whole, and this build computes every step of it again.
    #[track_caller]
    pub(crate) fn passes_the_audit(&self, run: &str) {
        // Nothing is kept of it elsewhere.
        self.bonded(&["verify", run]).fails_with(7, "not-compared");
        self.bonded(&["replay", run]).succeeds();
    }
}

/// Starts the program with a text as its stdin and waits for its end.
pub(crate) fn with_stdin(place: &Place, arguments: &[&str], stdin: &[u8]) -> Done {
    let path = place.path("stdin");
    write(&path, stdin);
    let file = std::fs::File::open(path).expect("the file was just written");
    finish(start(place.command(arguments).stdin(file)))
}
