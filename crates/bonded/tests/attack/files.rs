//! The file tools: what a model names, and what others do to a tree meanwhile.

mod hidden;
mod links;
mod protected;
mod writers;

use std::path::Path;

use serde_json::{Value, json};

use crate::person::{Done, Person, call, done};

fn write(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

fn append(path: &str, content: &str) -> Value {
    call("append", json!({ "path": path, "content": content }))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit", json!({ "path": path, "old": old, "new": new }))
}

fn read(path: &str) -> Value {
    call("read", json!({ "path": path }))
}

/// Plays the calls, and gives what `show` says of each and of what the model was shown.
fn play(person: &Person, flags: &[&str], calls: &[Value]) -> Vec<String> {
    let mut lines = calls.to_vec();
    lines.push(done());
    let turns = (lines.len() + 1).to_string();
    let flags = [flags, &["--max-turns", &turns]].concat();
    let ran = person.run(&flags, &lines);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    outcomes(person, "run", calls.len())
}

fn show(person: &Person, run: &str, flags: &[&str]) -> Done {
    person.bonded(&[&["show", run], flags].concat())
}

/// What became of the calls of a run but for the last, which ends it.
fn outcomes(person: &Person, run: &str, calls: usize) -> Vec<String> {
    let shown = show(person, run, &[]).stdout;
    let ran = shown.lines().filter_map(|line| line.split_once("  ran "));
    let outcomes: Vec<_> = ran.map(|(_, what)| what.trim().to_owned()).collect();
    assert!(outcomes.len() >= calls, "{shown}");
    outcomes[..calls].to_vec()
}

/// Fails where one of the calls was not refused with this code.
#[track_caller]
fn all_refused(outcomes: &[String], code: &str) {
    for outcome in outcomes {
        assert!(
            outcome.contains(&format!("(tool failed: {code}: ")),
            "{outcome}"
        );
    }
}

#[track_caller]
fn all_ok(outcomes: &[String]) {
    for outcome in outcomes {
        assert!(outcome.contains(": ok, "), "{outcome}");
    }
}

fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("it is there")
}
