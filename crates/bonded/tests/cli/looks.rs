//! `bonded runs` and `bonded show`: looking at runs, also while they execute.

use serde_json::{Value, json};

use crate::done::kill;
use crate::place::{Place, call, done, finish, parse, start};
use crate::watch::{never, write};

#[test]
fn runs_lists_the_newest_first_with_status_and_goal() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    place
        .bonded(&["run", "--id", "good", "--model", &script, "first goal"])
        .succeeds();
    let script = place.script(&[done("blocked: no")]);
    place.bonded(&["run", "--id", "bad", "--model", &script, "second goal"]);
    let listed = place.bonded(&["runs"]);
    listed.succeeds();
    let rows: Vec<Vec<&str>> = listed
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 3, "{}", listed.stdout);
    assert_eq!(rows[0][..2], ["RUN", "STATUS"]);
    assert_eq!(rows[1][..2], ["bad", "failed"]);
    assert_eq!(rows[2][..2], ["good", "succeeded"]);
    assert!(listed.stdout.contains("first goal") && listed.stdout.contains("second goal"));
    assert_eq!(
        place
            .bonded(&["runs", "--limit", "1"])
            .stdout
            .lines()
            .count(),
        2
    );
}

#[test]
fn runs_with_json_prints_one_object_a_line() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let listed = place.bonded(&["runs", "--json"]).json();
    assert_eq!(listed["runId"], "run");
    assert_eq!(listed["status"], "succeeded");
    assert_eq!(listed["goal"], "the goal");
    assert_eq!(listed["turns"], 1);
    assert_eq!(
        listed["termination"],
        json!({ "kind": "done", "reason": "ok" })
    );
    assert!(listed["startedAt"].as_u64() <= listed["updatedAt"].as_u64());
}

#[test]
fn the_status_tells_a_run_that_is_driven_from_one_that_was_interrupted() {
    let place = Place::new();
    let child = place.start_until(&[never()], 1, "attempt_started");
    assert_eq!(
        place.bonded(&["runs", "--json"]).json()["status"],
        "running"
    );
    kill(child);
    assert_eq!(
        place.bonded(&["runs", "--json"]).json()["status"],
        "interrupted"
    );
    let shown = place.bonded(&["show", "run"]).stdout;
    assert!(
        shown.contains("status   interrupted") && shown.contains("bonded resume run"),
        "{shown}"
    );
}

#[test]
fn a_store_without_runs_is_listed_as_such() {
    let place = Place::new();
    write(&place.path("store.db"), "");
    let listed = place.bonded(&["runs"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""));
    assert!(listed.stderr.contains("no runs yet"));
}

#[test]
fn show_tells_the_goal_the_end_and_each_step() {
    let place = Place::new();
    place
        .play(&[call("list", json!({})), done("forty-two")])
        .succeeds();
    let shown = place.bonded(&["show", "run"]);
    shown.succeeds();
    let parts = [
        "run      run",
        "status   succeeded",
        "goal     the goal",
        "end      done: forty-two",
    ];
    let steps = [
        "started",
        "decided  list",
        "ran      list: ok",
        "decided  done",
        "ended    done",
    ];
    for part in parts.iter().chain(&steps) {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
}

#[test]
fn show_of_one_turn_has_that_turn_whole_and_no_other() {
    let place = Place::new();
    let long = "x".repeat(3000);
    let first = json!({ "text": "hear my reasons", "calls": [
        { "tool": "write", "arguments": { "path": "a.txt", "content": long } }
    ] });
    place.play(&[first, done("forty-two")]).succeeds();
    let shown = place.bonded(&["show", "run", "--turn", "1"]).stdout;
    for part in [
        "hear my reasons",
        long.as_str(),
        "tool_invoked",
        "\"created\":true",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains("call_1_0"), "{shown}");
    let lines = place
        .bonded(&["show", "run", "--turn", "2", "--json"])
        .stdout;
    assert!(lines.lines().all(|line| parse(line)["turn"] == 2) && !lines.is_empty());
    let missing = place.bonded(&["show", "run", "--turn", "9"]);
    missing.fails_with(4, "no-such-turn");
    assert_eq!(missing.stdout, "");
}

#[test]
fn an_entry_carries_goal_turn_kind_and_the_chain() {
    let place = Place::new();
    place
        .play(&[call("list", json!({})), done("forty-two")])
        .succeeds();
    let entries = place.entries("run");
    let mut prev = Value::from("0".repeat(64));
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(entry["seq"], index + 1);
        assert_eq!((&entry["runId"], &entry["prev"]), (&json!("run"), &prev));
        assert_eq!(entry["goalId"], entries[0]["goalId"]);
        assert!(
            entry["at"].is_u64() && entry["turn"].is_u64() && entry["data"].is_object(),
            "{entry}"
        );
        prev = entry["hash"].clone();
    }
    let kinds: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "attempt_started",
            "decision_made",
            "tool_invoked",
            "tool_finished",
            "attempt_started",
            "decision_made",
            "tool_invoked",
            "tool_finished",
            "run_ended",
        ]
    );
}

#[test]
fn follow_shows_the_entries_of_a_run_that_another_process_drives() {
    let place = Place::new();
    let go = place.work().join("go");
    let wait = "until [ -e go ]; do sleep 0.02; done";
    let lines = [call("run", json!({ "command": wait })), done("forty-two")];
    let driver = place.start_until(&lines, 1, "tool_invoked");
    let follower = start(&mut place.command(&["show", "run", "--follow", "--json"]));
    write(&go, "");
    let followed = finish(follower);
    finish(driver).succeeds();
    followed.succeeds();
    assert_eq!(
        followed.stdout.lines().collect::<Vec<_>>(),
        place.log("run")
    );
}

#[test]
fn a_prefix_names_a_run_while_it_is_unique() {
    let place = Place::new();
    for id in ["alpha-1", "alpha-2", "beta"] {
        let script = place.script(&[done(id)]);
        place
            .bonded(&["run", "--id", id, "--model", &script, "the goal"])
            .succeeds();
    }
    assert_eq!(place.bonded(&["resume", "b"]).stdout, "beta\n");
    let ambiguous = place.bonded(&["show", "alph"]);
    ambiguous.fails_with(4, "ambiguous-run");
    for id in ["alpha-1", "alpha-2"] {
        assert!(ambiguous.stderr.contains(id), "{}", ambiguous.stderr);
    }
    assert!(!ambiguous.stderr.contains("beta"));
}

#[test]
fn a_whole_id_wins_over_the_prefix_of_another() {
    let place = Place::new();
    for id in ["job", "job-2"] {
        let script = place.script(&[done(id)]);
        place
            .bonded(&["run", "--id", id, "--model", &script, "the goal"])
            .succeeds();
    }
    assert_eq!(place.bonded(&["resume", "job"]).stdout, "job\n");
}

#[test]
fn an_unknown_run_is_answered_with_near_ones_by_every_command_that_takes_a_run() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    for id in ["nightly-1", "other"] {
        place
            .bonded(&["run", "--id", id, "--model", &script, "the goal"])
            .succeeds();
    }
    for command in ["show", "resume", "cancel", "replay", "verify"] {
        let unknown = place.bonded(&[command, "nightly-7"]);
        unknown.fails_with(4, "unknown-run");
        assert!(
            unknown.stderr.contains("near ones:\n    nightly-1"),
            "{}",
            unknown.stderr
        );
    }
    place
        .bonded(&["fork", "nightly-7", "--turn", "1"])
        .fails_with(4, "unknown-run");
    let foreign = place.bonded(&["show", "zzzz"]);
    foreign.fails_with(4, "unknown-run");
    assert!(
        foreign
            .stderr
            .contains("latest runs:\n    other\n    nightly-1"),
        "{}",
        foreign.stderr
    );
}

#[test]
fn a_command_that_only_looks_makes_no_store() {
    let place = Place::new();
    let commands: [&[&str]; 7] = [
        &["runs"],
        &["show", "x"],
        &["resume", "x"],
        &["cancel", "x"],
        &["replay", "x"],
        &["verify", "x"],
        &["fork", "x", "--turn", "1"],
    ];
    for command in commands {
        place.bonded(command).fails_with(4, "store-missing");
        assert!(!place.path("store.db").exists(), "{command:?}");
    }
}
