//! The crash test: the real program, killed by SIGKILL at random moments and resumed until its run has
//! ended, has lost nothing that it had acknowledged and repeated nothing that must not be repeated.
//!
//! `BONDED_CRASH_KILLS` says how often to kill, `BONDED_CRASH_SEED` which moments to choose.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::place::{Place, call, done, parse, start, with};
use bonded_testkit::rng::{Rng, number, seed, tell};
use serde_json::{Value, json};

const KILLS_DEFAULT: u64 = 200;
const WORKERS: u64 = 2;

/// Five calls each: write, append, run, edit, read.
const ROUNDS: usize = 4;
const REPLY_DELAY_MS: u64 = 8;

/// What a run takes undisturbed, roughly: kills fall within it.
const RUN_MS: u64 = 500;

const UNKNOWN: &str = "(tool failed: interrupted, outcome unknown)";

/// A moment for a kill: anywhere in a run, and as often early, where a process starts and recovers.
fn moment(rng: &mut Rng) -> Duration {
    let within_ms = if rng.below(2) == 0 {
        RUN_MS
    } else {
        RUN_MS / 6
    };
    Duration::from_micros(rng.below(within_ms * 1000))
}

#[test]
fn a_run_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing() {
    let kills = number("BONDED_CRASH_KILLS").unwrap_or(KILLS_DEFAULT);
    let seed = seed("BONDED_CRASH_SEED");
    let made = AtomicU64::new(0);
    let interrupted: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let made = &made;
                scope.spawn(move || kill_runs(seed, worker, kills, made))
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| panic!("BONDED_CRASH_SEED={seed}"))
            })
            .sum()
    });
    let made = made.into_inner();
    tell(&format!(
        "{made} kills, {interrupted} calls of unknown outcome, BONDED_CRASH_SEED={seed}"
    ));
    assert!(made >= kills);
    if kills >= KILLS_DEFAULT {
        assert!(
            interrupted > 0,
            "no kill ever fell into a call, BONDED_CRASH_SEED={seed}"
        );
    }
}

/// Kills runs until enough kills were made; gives how many calls ended with their outcome unknown.
fn kill_runs(seed: u64, worker: u64, kills: u64, made: &AtomicU64) -> u64 {
    let mut rng = Rng::of(seed, worker);
    let mut interrupted = 0;
    while made.load(Ordering::Relaxed) < kills {
        let world = World::new();
        world.drive(&mut rng, made, kills);
        interrupted += world.check();
    }
    interrupted
}

/// One run and what was seen of it.
struct World {
    place: Place,
    script: String,
    /// The entries that somebody was shown, by sequence number.
    seen: std::cell::RefCell<BTreeMap<u64, String>>,
}

fn lines() -> Vec<Value> {
    let mut lines = vec![];
    for n in 0..ROUNDS {
        lines.extend([
            call(
                "write",
                json!({ "path": format!("w{n}.txt"), "content": written(n) }),
            ),
            call(
                "append",
                json!({ "path": "appended", "content": format!("a{n}\n") }),
            ),
            call("run", json!({ "command": format!("echo r{n} >> ran") })),
            call(
                "edit",
                json!({ "path": format!("e{n}.txt"), "old": "mark\n", "new": "mark\nedited\n" }),
            ),
            call("read", json!({ "path": format!("w{n}.txt") })),
        ]);
    }
    lines.push(done("ok"));
    let delayed = lines
        .into_iter()
        .map(|line| with(line, "delay_ms", REPLY_DELAY_MS));
    delayed.collect()
}

/// Long enough to lie in a blob.
fn written(n: usize) -> String {
    format!("content {n}\n").repeat(200)
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        for n in 0..ROUNDS {
            std::fs::write(place.work().join(format!("e{n}.txt")), "mark\n")
                .expect("a file can be written");
        }
        let script = place.script(&lines());
        Self {
            place,
            script,
            seen: std::cell::RefCell::default(),
        }
    }

    /// Starts the run and kills it, until it has ended or enough kills were made; then lets it end.
    fn drive(&self, rng: &mut Rng, made: &AtomicU64, kills: u64) {
        let arguments = [
            "run",
            "--id",
            "run",
            "--stream-json",
            "--model",
            &self.script,
            "the goal",
        ];
        loop {
            let last = made.load(Ordering::Relaxed) >= kills;
            let mut child = start(self.place.command(&arguments).stderr(Stdio::null()));
            // A pipe that nobody empties would stop the run.
            let mut stdout = child.stdout.take().expect("stdout is piped");
            let reader = thread::spawn(move || {
                let mut printed = vec![];
                stdout
                    .read_to_end(&mut printed)
                    .expect("a pipe can be read");
                String::from_utf8_lossy(&printed).into_owned()
            });
            let printed = || reader.join().expect("a pipe is read to its end");
            let moment = moment(rng);
            let began = Instant::now();
            let mut is_over = false;
            while !is_over && (last || began.elapsed() < moment) {
                thread::sleep(Duration::from_millis(1));
                is_over = child
                    .try_wait()
                    .expect("a child can be waited for")
                    .is_some();
            }
            if is_over {
                let end = child.wait().expect("a child can be waited for");
                assert_eq!(end.code(), Some(0));
                self.saw(&printed());
                return;
            }
            child.kill().expect("a child can be killed");
            made.fetch_add(1, Ordering::Relaxed);
            child.wait().expect("a killed child ends");
            self.saw(&printed());
            if rng.below(4) == 0 {
                self.look();
            }
        }
    }

    /// What another process is shown between two kills counts as acknowledged as well.
    fn look(&self) {
        let shown = self.place.bonded(&["show", "run", "--json"]);
        // Before the first step was durable there is no run, and before that no store.
        let nothing_yet =
            shown.stderr.contains("unknown-run") || shown.stderr.contains("store-missing");
        assert!(shown.code == Some(0) || nothing_yet, "{shown:?}");
        self.saw(&shown.stdout);
    }

    /// Remembers whole lines; the kill may have cut the last one.
    fn saw(&self, printed: &str) {
        let mut seen = self.seen.borrow_mut();
        for line in printed
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
        {
            let seq = parse(line)["seq"]
                .as_u64()
                .expect("an entry has a sequence number");
            let before = seen.insert(seq, line.to_owned());
            assert!(
                before.is_none_or(|before| before == line),
                "entry {seq} was shown in two forms"
            );
        }
    }

    /// Everything that must hold of a run that was killed any number of times.
    fn check(&self) -> u64 {
        let log = self.place.log("run");
        for (seq, line) in self.seen.borrow().iter() {
            let kept = log.get(*seq as usize - 1);
            assert_eq!(kept, Some(line), "entry {seq} was acknowledged and lost");
        }
        let entries: Vec<Value> = log.iter().map(|line| parse(line)).collect();
        let ends: Vec<bool> = entries
            .iter()
            .map(|entry| entry["kind"] == "run_ended")
            .collect();
        assert_eq!(ends.iter().filter(|ended| **ended).count(), 1);
        assert_eq!(ends.last(), Some(&true));
        for (command, code) in [("verify", 7), ("replay", 0)] {
            let audited = self.place.bonded(&[command, "run"]);
            assert_eq!(audited.code, Some(code), "{audited:?}");
        }
        let interrupted = self.check_calls(&entries);
        for n in 0..ROUNDS {
            assert_eq!(
                read(&self.place.work().join(format!("w{n}.txt"))),
                written(n)
            );
        }
        self.check_names(interrupted);
        interrupted
    }

    /// Nothing lies in the directory but what the calls made, and what a call that was given up had begun.
    fn check_names(&self, interrupted: u64) {
        let entries = std::fs::read_dir(self.place.work()).expect("the directory can be read");
        let names = entries.map(|entry| entry.expect("an entry can be read").file_name());
        let names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let (begun, made): (Vec<_>, Vec<_>) =
            names.iter().partition(|name| name.starts_with(".bonded-"));
        assert!(begun.len() as u64 <= interrupted, "{names:?}");
        let is_known = |name: &&String| {
            let files = (0..ROUNDS).flat_map(|n| [format!("w{n}.txt"), format!("e{n}.txt")]);
            ["appended", "ran"].contains(&name.as_str())
                || files.into_iter().any(|file| file == **name)
        };
        assert!(made.iter().all(is_known), "{names:?}");
    }

    /// Each call was executed once; or, where its outcome is unknown, at most once.
    fn check_calls(&self, entries: &[Value]) -> u64 {
        let mut interrupted = 0;
        let mut calls = 0;
        for entry in entries
            .iter()
            .filter(|entry| entry["kind"] == "tool_finished")
        {
            let (data, turn) = (&entry["data"], &entry["turn"]);
            let tool = data["tool"].as_str().expect("a call names its tool");
            let round = (turn.as_u64().expect("an entry has a turn") as usize - 1) / 5;
            calls += 1;
            let marks = self.marks(tool, round);
            // The log leaves out what is the rule: success.
            match data["outcome"].as_str().unwrap_or("ok") {
                "ok" => assert_eq!(marks, 1, "turn {turn}: {tool} was done {marks} times"),
                "interrupted" => {
                    interrupted += 1;
                    assert_eq!(data["output"], UNKNOWN);
                    assert!(
                        !["read", "write"].contains(&tool),
                        "{tool} is repeated, not given up"
                    );
                    assert!(marks <= 1, "turn {turn}: {tool} was done {marks} times");
                }
                other => panic!("turn {turn}: {tool} ended as {other}: {data}"),
            }
        }
        assert_eq!(calls, ROUNDS * 5 + 1);
        interrupted
    }

    /// How often the call of this round left its mark; what leaves none counts as one.
    fn marks(&self, tool: &str, round: usize) -> usize {
        let work = self.place.work();
        let count = |file: &str, mark: &str| {
            let content = read(&work.join(file));
            content.lines().filter(|line| *line == mark).count()
        };
        match tool {
            "append" => count("appended", &format!("a{round}")),
            "run" => count("ran", &format!("r{round}")),
            "edit" => count(&format!("e{round}.txt"), "edited"),
            _ => 1,
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
