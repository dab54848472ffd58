//! The runs of a place: how a test begins them, what it asks of the store about them, and what must hold of each.

use std::process::Child;

use serde_json::Value;

use super::{Done, FOREVER_MS, Place, parse, start, with};
use crate::done::kill;
use crate::patience::wait_until;

/// A run as the store lists it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub id: String,
    pub status: String,
}

/// The field of each entry of this kind.
pub fn of_kind<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let chosen = entries.iter().filter(|entry| entry["kind"] == kind);
    chosen.map(|entry| &entry["data"]).collect()
}

impl Place {
    /// The log of a run, as `show --json` prints it.
    pub fn log(&self, run: &str) -> Vec<String> {
        let shown = self.bonded(&["show", run, "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.stdout.lines().map(str::to_owned).collect()
    }

    pub fn entries(&self, run: &str) -> Vec<Value> {
        self.log(run).iter().map(|line| parse(line)).collect()
    }

    /// Plays a script under the id `run` to its end.
    pub fn play(&self, lines: &[Value]) -> Done {
        let script = self.script(lines);
        self.bonded(&["run", "--id", "run", "--model", &script, "the goal"])
    }

    /// Plays a script under the id `run`, with flags, and gives the result object.
    pub fn result(&self, flags: &[&str], lines: &[Value]) -> Value {
        let script = self.script(lines);
        let fixed = [
            "run", "--id", "run", "--json", "--model", &script, "the goal",
        ];
        self.bonded(&[&fixed, flags].concat()).json()
    }

    /// Starts a run under the id `run` and waits until an entry of this kind stands in this turn.
    pub fn start_until(&self, lines: &[Value], turn: u64, kind: &str) -> Child {
        let script = self.script(lines);
        let words = ["run", "--id", "run", "--model", &script, "the goal"];
        let child = start(&mut self.command(&words));
        self.wait_for_entry("run", turn, kind);
        child
    }

    pub fn wait_for_entry(&self, run: &str, turn: u64, kind: &str) {
        wait_until(&format!("turn {turn} has {kind}"), || {
            let shown = self.bonded(&["show", run, "--json"]);
            let mut entries = shown.stdout.lines().map(parse);
            entries.any(|entry| entry["turn"] == turn && entry["kind"] == kind)
        });
    }

    /// Leaves a run under the id `run` whose process was killed in this turn, while the model was asked.
    pub fn interrupt_in(&self, lines: &[Value], turn: usize) {
        let mut hanging = lines.to_vec();
        hanging[turn - 1] = with(hanging[turn - 1].take(), "delay_ms", FOREVER_MS);
        kill(self.start_until(&hanging, turn as u64, "attempt_started"));
        self.script(lines);
    }

    pub fn resume(&self) -> Done {
        self.bonded(&["resume", "run"])
    }

    /// Looks at the call that a run waits for, and approves what was looked at.
    pub fn approve(&self, run: &str, flags: &[&str]) -> Done {
        let looked = self.bonded(&["approve", run]);
        assert_eq!(
            looked.code,
            Some(4),
            "nothing is approved unseen: {looked:?}"
        );
        let mut lines = looked.stderr.lines();
        let digest = lines.find_map(|it| it.strip_prefix("digest"));
        let digest = digest.expect("what waits has a digest").trim();
        let words = [&["approve", run, "--digest", digest], flags].concat();
        self.bonded(&words)
    }

    /// The log is whole, and this build computes every step of it again.
    #[track_caller]
    pub fn passes_the_audit(&self, run: &str) {
        // Nothing is kept of it elsewhere.
        self.bonded(&["verify", run]).fails_with(7, "not-compared");
        self.bonded(&["replay", run]).succeeds();
    }

    /// All runs of the store, the newest first; none where there is no store yet.
    pub fn listed(&self) -> Vec<Listed> {
        let listed = self.bonded(&["runs", "--json", "--limit", "1000"]);
        if listed.stderr.contains("store-missing") {
            return vec![];
        }
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let runs = listed.stdout.lines().map(parse);
        runs.map(|run| Listed {
            id: text(&run["runId"]),
            status: text(&run["status"]),
        })
        .collect()
    }

    /// The status of every run, the newest first.
    pub fn statuses(&self) -> Vec<String> {
        self.listed().into_iter().map(|run| run.status).collect()
    }

    /// The status of a run, if there is one.
    pub fn status(&self, run: &str) -> Option<String> {
        let all = self.listed();
        let it = all.into_iter().find(|listed| listed.id == run);
        it.map(|listed| listed.status)
    }

    /// Waits until the runs stand so.
    #[track_caller]
    pub fn wait_for(&self, expected: &[&str]) {
        wait_until(&format!("the runs stand as {expected:?}"), || {
            self.statuses() == expected
        });
    }

    /// Each call of a tool was executed once; or, where its outcome is unknown, at most once.
    #[track_caller]
    pub fn check_witness(&self, tool: &str, done: usize) {
        let (mut known, mut unknown) = (0, 0);
        for run in self.listed() {
            let entries = self.entries(&run.id);
            let finished = of_kind(&entries, "tool_finished");
            for call in finished.iter().filter(|call| call["tool"] == tool) {
                // The log leaves out what is the rule: success.
                match call["outcome"].as_str().unwrap_or("ok") {
                    "ok" => known += 1,
                    _ => unknown += 1,
                }
            }
        }
        assert!(
            (known..=known + unknown).contains(&done),
            "{tool} was done {done} times; {known} calls succeeded and {unknown} did not"
        );
    }
}
