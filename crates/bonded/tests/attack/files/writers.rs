//! Many writers of few files: whatever was told to be ok is in the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{append, edit, outcomes, play, text, write};
use crate::person::{Person, done, finish, start};
use crate::witness::rounds;

/// A script for one process, which many runs of it play at once.
fn script(person: &Person, process: usize, lines: &[Value]) -> String {
    let path = person.path(&format!("script-{process}.jsonl"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    person.write(&path, text);
    format!("script:{}", path.display())
}

const PROCESSES: usize = 8;
const RUNS: usize = 8;

#[test]
fn every_append_of_64_runs_in_8_processes_that_was_ok_is_in_the_file_once() {
    let person = Person::new();
    let appends = rounds(6);
    let goals: String = (0..RUNS).map(|_| "\"goal\"\n").collect();
    person.write(person.path("goals.jsonl"), goals);
    let goals = person.path("goals.jsonl").display().to_string();
    let children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let lines = (0..appends).map(|at| append(&format!("f{}", at % 2), &line(process, at)));
            let lines: Vec<Value> = lines.chain([done()]).collect();
            let script = script(&person, process, &lines);
            let store = person
                .path(&format!("store-{process}.db"))
                .display()
                .to_string();
            let turns = (appends + 2).to_string();
            let words = [
                "run",
                "--store",
                &store,
                "--each",
                &goals,
                "--jobs",
                "8",
                "--model",
                &script,
                "--max-turns",
                &turns,
            ];
            start(&mut person.command(&words))
        })
        .collect();
    for child in children {
        let ran = finish(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ended = ran.stdout.lines().count();
        assert_eq!(ended, RUNS, "{}", ran.stdout);
    }
    let mut oks = BTreeMap::new();
    for process in 0..PROCESSES {
        let store = person.path(&format!("store-{process}.db"));
        count_oks(&person, &store, &mut oks);
    }
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for name in ["f0", "f1"] {
        for line in text(person.work().join(name)).lines() {
            *found.entry(line.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(found, oks);
    assert_eq!(oks.values().sum::<usize>(), PROCESSES * RUNS * appends);
}

fn line(process: usize, at: usize) -> String {
    format!("process {process} line {at}\n")
}

/// What the logs of a store say was appended.
fn count_oks(person: &Person, store: &Path, oks: &mut BTreeMap<String, usize>) {
    let store = store.display().to_string();
    let runs = person
        .bonded(&["runs", "--store", &store, "--json", "--limit", "1000"])
        .stdout;
    for run in runs.lines() {
        let run: Value = serde_json::from_str(run).expect("it is JSON");
        let id = run["runId"].as_str().expect("a run has an id");
        let shown = person.bonded(&["show", id, "--store", &store]).stdout;
        let decided = shown
            .lines()
            .filter_map(|line| line.split_once("\"content\":\""));
        let decided: Vec<_> = decided
            .filter_map(|(_, rest)| rest.split_once("\\n"))
            .map(|(line, _)| line.to_owned())
            .collect();
        let ran = shown
            .lines()
            .filter(|line| line.contains("  ran      append"));
        for (line, ran) in decided.into_iter().zip(ran) {
            if ran.contains(": ok, ") {
                *oks.entry(line).or_default() += 1;
            }
        }
    }
}

#[test]
fn edits_of_different_lines_by_two_processes_are_all_kept() {
    let person = Person::new();
    let edits = rounds(20);
    person.write(person.work().join("f"), "a=0;\nb=0;\n");
    let children: Vec<_> = ["a", "b"]
        .into_iter()
        .enumerate()
        .map(|(process, name)| {
            let step = |at: usize| {
                edit(
                    "f",
                    &format!("{name}={at};"),
                    &format!("{name}={};", at + 1),
                )
            };
            let lines: Vec<Value> = (0..edits).map(step).chain([done()]).collect();
            let script = script(&person, process, &lines);
            let turns = (edits + 2).to_string();
            let words = [
                "run",
                "--id",
                name,
                "--model",
                &script,
                "--max-turns",
                &turns,
                "goal",
            ];
            start(&mut person.command(&words))
        })
        .collect();
    for child in children {
        let ran = finish(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let expected = format!("a={edits};\nb={edits};\n");
    assert_eq!(text(person.work().join("f")), expected);
}

#[test]
fn of_two_processes_that_write_from_one_snapshot_exactly_one_is_told_ok() {
    let person = Person::new();
    let files = rounds(20);
    let hash = |text: &str| {
        let mut digits = bonded_kernel::Hash::of(text.as_bytes()).to_string();
        digits.truncate(16);
        digits
    };
    for file in 0..files {
        person.write(person.work().join(format!("f{file}")), "old");
    }
    let children: Vec<_> = ["a", "b"]
        .into_iter()
        .enumerate()
        .map(|(process, name)| {
            let one = |file: usize| {
                let mut line = write(&format!("f{file}"), name);
                line["calls"][0]["arguments"]["expected_hash"] = json!(hash("old"));
                line
            };
            let lines: Vec<Value> = (0..files).map(one).chain([done()]).collect();
            let script = script(&person, process, &lines);
            let turns = (files + 2).to_string();
            let words = [
                "run",
                "--id",
                name,
                "--model",
                &script,
                "--max-turns",
                &turns,
                "goal",
            ];
            start(&mut person.command(&words))
        })
        .collect();
    for child in children {
        let ran = finish(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let (a, b) = (outcomes(&person, "a", files), outcomes(&person, "b", files));
    for file in 0..files {
        let is_ok = |outcomes: &[String]| outcomes[file].contains(": ok, ");
        assert_ne!(is_ok(&a), is_ok(&b), "{} and {}", a[file], b[file]);
        let winner = if is_ok(&a) { "a" } else { "b" };
        assert_eq!(text(person.work().join(format!("f{file}"))), winner);
    }
}

#[test]
fn who_locks_a_file_for_ever_holds_nobody_up_for_long() {
    let person = Person::new();
    let path = person.work().join("f");
    person.write(&path, "1");
    let held = std::fs::File::open(&path).expect("it is there");
    held.lock().expect("it can be locked");
    let outcomes = play(&person, &[], &[append("f", "2"), edit("f", "12", "3")]);
    super::all_ok(&outcomes);
    assert_eq!(text(&path), "3");
}
