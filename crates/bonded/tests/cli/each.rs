//! `bonded run --each`: many goals, one result a line, nothing repeated.

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::done::{kill, text};
use crate::place::{Place, call, done, finish, parse, start};
use crate::watch::{never, read, signal, wait_until, write};

const GOALS: usize = 12;
const MARKS: usize = 3;

fn goal_file(place: &Place) -> String {
    let goals = (0..GOALS).map(|n| {
        format!(
            "{}\n",
            json!({ "goal": format!("goal {n}"), "id": format!("g{n}") })
        )
    });
    let path = place.path("goals.jsonl");
    write(&path, goals.collect::<String>());
    path.display().to_string()
}

/// Each call leaves its own name in the journal (run, turn and place) and goes on for a moment, so that a
/// kill that waits for a mark falls into a call.
fn marking_script(place: &Place, goes_on_s: &str) -> String {
    let command = format!("echo $BONDED_CALL >> journal; sleep {goes_on_s}");
    let mut lines = vec![call("run", json!({ "command": command })); MARKS];
    lines.push(done("ok"));
    place.script(&lines)
}

/// The arguments of a run of all goals, in which no repetition is too much.
fn run_each<'a>(goals: &'a str, script: &'a str) -> [&'a str; 9] {
    [
        "run",
        "--each",
        goals,
        "--jobs",
        "4",
        "--no-progress",
        "0",
        "--model",
        script,
    ]
}

fn results(stdout: &str) -> BTreeMap<String, Value> {
    let lines = stdout.lines().map(parse);
    lines
        .map(|line| (text(&line["runId"]).to_owned(), line))
        .collect()
}

#[test]
fn each_goal_gives_one_result_and_the_same_file_again_repeats_nothing() {
    let place = Place::new();
    let (goals, script) = (goal_file(&place), marking_script(&place, "0"));
    let arguments = run_each(&goals, &script);
    let first = place.bonded(&arguments);
    first.succeeds();
    let given = results(&first.stdout);
    assert_eq!((given.len(), first.stdout.lines().count()), (GOALS, GOALS));
    assert!(
        given.values().all(|result| result["answer"] == "ok"),
        "{given:?}"
    );
    assert!(
        first.stderr.contains("12 of 12 goals succeeded"),
        "{}",
        first.stderr
    );
    let journal = read(&place.work().join("journal"));
    let failed = |it: &Value| it["data"]["outcome"] == "failed";
    let entries = (0..GOALS).flat_map(|n| place.entries(&format!("g{n}")));
    let failed: Vec<Value> = entries.filter(failed).collect();
    assert_eq!(failed, Vec::<Value>::new());
    assert_eq!(journal.lines().count(), GOALS * MARKS);
    let again = place.bonded(&arguments);
    again.succeeds();
    assert_eq!(results(&again.stdout), given);
    assert_eq!(read(&place.work().join("journal")), journal);
}

#[test]
fn a_killed_each_goes_on_where_it_was_and_repeats_no_call() {
    let place = Place::new();
    let (goals, script) = (goal_file(&place), marking_script(&place, "0.1"));
    let arguments = run_each(&goals, &script);
    let journal = place.work().join("journal");
    for stop_at in [3, 11, 23] {
        let child = start(&mut place.command(&arguments));
        wait_until("some calls were made", || {
            read(&journal).lines().count() >= stop_at
        });
        kill(child);
    }
    let last = place.bonded(&arguments);
    last.succeeds();
    assert_eq!(results(&last.stdout).len(), GOALS);
    let mut marks: BTreeMap<String, usize> = BTreeMap::new();
    for line in read(&journal).lines() {
        *marks.entry(line.to_owned()).or_default() += 1;
    }
    let interrupted = (0..GOALS).map(|goal| expect_marks_of(&place, &format!("g{goal}"), &marks));
    assert!(interrupted.sum::<usize>() > 0, "no kill fell into a call");
}

/// A call whose outcome is unknown left at most one mark, every other exactly one. Gives how many of the
/// first there are.
fn expect_marks_of(place: &Place, run: &str, marks: &BTreeMap<String, usize>) -> usize {
    let (mut calls, mut interrupted) = (0, 0);
    for entry in place.entries(run) {
        if entry["kind"] != "tool_finished" || entry["data"]["tool"] != "run" {
            continue;
        }
        calls += 1;
        // Each reply has one call, and the log leaves out what is the rule: the first call, and success.
        let key = format!("{run}/{}/0", entry["turn"]);
        let left = marks.get(&key).copied().unwrap_or(0);
        match entry["data"]["outcome"].as_str().unwrap_or("ok") {
            "ok" => assert_eq!(left, 1, "{key}"),
            "interrupted" => {
                interrupted += 1;
                assert!(left <= 1, "{key}: {left}");
            }
            other => panic!("{key}: {other}: {}", entry["data"]),
        }
    }
    assert_eq!(calls, MARKS, "{run}");
    place.passes_the_audit(run);
    interrupted
}

#[test]
fn ctrl_c_stops_what_was_begun_and_begins_nothing_more() {
    let place = Place::new();
    let goals = goal_file(&place);
    let script = place.script(&[never()]);
    let arguments = ["run", "--each", &goals, "--jobs", "2", "--model", &script];
    let child = start(&mut place.command(&arguments));
    for id in ["g0", "g1"] {
        place.wait_for_entry(id, 1, "attempt_started");
    }
    signal(&child, Signal::INT);
    let end = finish(child);
    assert_eq!(end.code, Some(130), "{end:?}");
    end.says("stopped: not all goals are done\n  Resume: give the same file again\n");
    let listed = place.listed();
    let states: Vec<&str> = listed.iter().map(|run| run.status.as_str()).collect();
    assert_eq!(states, ["interrupted", "interrupted"]);
}

#[test]
fn what_a_machine_stops_is_not_taken_for_a_failure_of_the_goals() {
    // All goals have begun, and with one job some have not.
    for jobs in ["8", "1"] {
        let place = Place::new();
        let goals = goal_file(&place);
        let script = place.script(&[never()]);
        let arguments = ["run", "--each", &goals, "--jobs", jobs, "--model", &script];
        let child = start(&mut place.command(&arguments));
        place.wait_for_entry("g0", 1, "attempt_started");
        signal(&child, Signal::TERM);
        finish(child).fails_with(143, "interrupted");
    }
}

#[test]
fn a_bad_line_is_refused_before_anything_runs() {
    let place = Place::new();
    let script = marking_script(&place, "0");
    let path = place.path("goals.jsonl");
    let bad_lines = [
        ("not json", "line 3"),
        ("{\"goal\": 7}", "line 3"),
        ("{\"goal\": \"x\", \"ID\": \"y\"}", "line 3"),
        ("\"  \"", "line 3"),
        ("{\"goal\": \"x\", \"id\": \"../up\"}", "line 3"),
        ("{\"goal\": \"x\", \"id\": \"same\"}", "same"),
    ];
    for (line, named) in bad_lines {
        write(
            &path,
            format!("\"first\"\n{{\"goal\": \"second\", \"id\": \"same\"}}\n{line}\n"),
        );
        let goals = path.display().to_string();
        let refused = place.bonded(&["run", "--each", &goals, "--model", &script]);
        refused.fails_with(4, "bad-goal");
        assert!(refused.stderr.contains(named), "{line}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
        assert!(
            !place.path("store.db").exists() && !place.work().join("journal").exists(),
            "{line}"
        );
    }
}

#[test]
fn goals_without_ids_get_the_same_ids_from_the_same_file() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let path = place.path("goals.jsonl");
    write(&path, "\"one\"\n\n{\"goal\": \"two\"}\n\"one\"\n");
    let goals = path.display().to_string();
    let arguments = ["run", "--each", &goals, "--model", &script];
    let first = results(&place.bonded(&arguments).stdout);
    assert_eq!(first.len(), 3, "{first:?}");
    assert_eq!(results(&place.bonded(&arguments).stdout), first);
    assert_eq!(place.bonded(&["runs", "--json"]).stdout.lines().count(), 3);
}

#[test]
fn one_failed_goal_fails_the_command_and_the_others_have_their_results() {
    let place = Place::new();
    let script = place.script(&[done("blocked: cannot")]);
    let path = place.path("goals.jsonl");
    write(
        &path,
        "{\"goal\": \"one\", \"id\": \"a\"}\n{\"goal\": \"two\", \"id\": \"b\"}\n",
    );
    let good = place.path("good.jsonl");
    write(&good, format!("{}\n", done("fine")));
    let good = format!("script:{}", good.display());
    place
        .bonded(&["run", "--id", "a", "--model", &good, "one"])
        .succeeds();
    let goals = path.display().to_string();
    let mixed = place.bonded(&["run", "--each", &goals, "--model", &script]);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    let results = results(&mixed.stdout);
    assert_eq!(results["a"]["success"], true);
    assert_eq!(results["b"]["termination"]["kind"], "blocked");
}
