//! A run that has ended is given another goal: from the directory or by its id, within limits, whole after a crash, and refused
//! in words.

use serde_json::{Value, json};

use crate::done::{kill, text};
use crate::place::{FOREVER_MS, Place, call, done, finish, parse, start, with};
use crate::watch::of_kind;

/// A run of one turn with a call, and then an answer; and what it answers when it is asked again.
fn replies() -> [Value; 4] {
    [
        call("list", json!({})),
        done("forty-two"),
        call("list", json!({})),
        done("forty-three"),
    ]
}

fn played() -> Place {
    let place = Place::new();
    place.play(&replies()).succeeds();
    place
}

#[test]
fn the_last_run_of_the_directory_is_continued_and_answers_alone_on_stdout() {
    let place = played();
    let again = place.bonded(&["run", "-c", "and one more?"]);
    again.succeeds();
    assert_eq!(again.stdout, "forty-three\n");
    assert!(
        again.stderr.contains(" run run done: 2 turns, "),
        "{}",
        again.stderr
    );
    assert!(
        again.stderr.contains("asked: and one more?"),
        "{}",
        again.stderr
    );
    let entries = place.entries("run");
    assert_eq!(of_kind(&entries, "run_ended").len(), 2);
    assert_eq!(of_kind(&entries, "goal_given")[0]["goal"], "and one more?");
    let last = of_kind(&entries, "run_ended")[1];
    assert_eq!(
        (&last["turns"], text(&last["termination"]["reason"])),
        (&json!(4), "forty-three")
    );
    assert_eq!(place.statuses(), ["succeeded"]);
    place.passes_the_audit("run");
}

#[test]
fn any_run_is_continued_by_the_beginning_of_its_id_and_from_anywhere() {
    let place = played();
    let script = place.script_named("other", &[done("not this")]);
    place
        .bonded(&["run", "--model", &script, "goal"])
        .succeeds();
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory can be made");
    let mut command = place.command(&["run", "--continue", "ru", "--json", "again"]);
    let result = finish(start(command.current_dir(&elsewhere))).json();
    assert_eq!(
        (&result["runId"], &result["answer"]),
        (&json!("run"), &json!("forty-three"))
    );
    assert_eq!((&result["goals"], &result["turns"]), (&json!(2), &json!(4)));
    let mut command = place.command(&["run", "-c", "here?"]);
    let none = finish(start(command.current_dir(&elsewhere)));
    none.fails_with(4, "unknown-run");
}

#[test]
fn every_entry_of_the_goal_and_no_other_is_streamed_as_json() {
    let place = played();
    let before = place.entries("run").len();
    let streamed = place.bonded(&["run", "-c", "--stream-json", "again"]);
    streamed.succeeds();
    let lines: Vec<Value> = streamed.stdout.lines().map(parse).collect();
    assert_eq!(lines[0]["kind"], "goal_given");
    assert_eq!(
        lines.last().map(|it| it["kind"].clone()),
        Some(json!("run_ended"))
    );
    assert_eq!(lines.len(), place.entries("run").len() - before);
}

#[test]
fn limits_hold_for_the_goal_and_what_was_typed_first_over_the_whole() {
    let place = Place::new();
    let endless: Vec<Value> = (0..20)
        .map(|nth| call("list", json!({ "path": format!("{nth}") })))
        .collect();
    let mut lines = vec![done("one")];
    lines.extend(endless);
    let script = place.script(&lines);
    let words = [
        "run",
        "--id",
        "run",
        "--max-turns",
        "3",
        "--no-progress",
        "0",
        "--model",
        &script,
        "goal",
    ];
    place.bonded(&words).succeeds();
    // Two of the three turns are left.
    let stopped = place.bonded(&["run", "-c", "go on"]);
    assert_eq!(stopped.code, Some(1));
    assert!(
        stopped.stderr.contains("stopped: turn limit. 3 turns"),
        "{}",
        stopped.stderr
    );
    // Who says so again gives as many more.
    let more = place.bonded(&["run", "-c", "--max-turns", "4", "go on"]);
    assert!(
        more.stderr.contains("stopped: turn limit. 4 turns"),
        "{}",
        more.stderr
    );
    let entries = place.entries("run");
    assert_eq!(
        of_kind(&entries, "run_ended")
            .last()
            .map(|it| it["turns"].clone()),
        Some(json!(7))
    );
    place.passes_the_audit("run");
}

#[test]
fn a_process_that_is_killed_in_a_later_goal_is_resumed_whole() {
    let place = played();
    let mut hanging = replies();
    hanging[3] = with(hanging[3].take(), "delay_ms", FOREVER_MS);
    place.script(&hanging);
    let child = start(&mut place.command(&["run", "-c", "and one more?"]));
    place.wait_for_entry("run", 4, "attempt_started");
    assert_eq!(place.statuses(), ["running"]);
    place
        .bonded(&["run", "-c", "meanwhile"])
        .fails_with(4, "cannot-continue");
    kill(child);
    assert_eq!(place.statuses(), ["interrupted"]);
    place
        .bonded(&["run", "-c", "again"])
        .fails_with(4, "cannot-continue");
    place.script(&replies());
    place.bonded(&["resume", "--all"]).succeeds();
    let entries = place.entries("run");
    assert_eq!(of_kind(&entries, "goal_given").len(), 1);
    assert_eq!(place.statuses(), ["succeeded"]);
    place.passes_the_audit("run");
}

#[test]
fn what_a_run_began_with_cannot_be_given_again() {
    let place = played();
    for (flags, part) in [
        (&["--temperature", "1"][..], "--temperature"),
        (&["--override", "maxTurns=3"], "--override"),
        (&["--ask", "edit"], "--ask"),
    ] {
        let words = [&["run", "-c"], flags, &["goal"]].concat();
        let refused = place.bonded(&words);
        refused.fails_with(4, "usage");
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    for flags in [["--id", "x"], ["--system", "f"], ["--agent", "f.ai"]] {
        let words = [&["run", "-c"][..], &flags[..], &["goal"]].concat();
        assert_eq!(place.bonded(&words).code, Some(4));
    }
    assert_eq!(of_kind(&place.entries("run"), "goal_given").len(), 0);
}

#[test]
fn a_goal_may_bring_another_model() {
    let place = played();
    let script = place.script_named(
        "other",
        &[done("unused"), done("unused"), done("from the other")],
    );
    let other = place.bonded(&["run", "-c", "--model", &script, "again"]);
    other.succeeds();
    let entries = place.entries("run");
    let given = of_kind(&entries, "goal_given");
    assert!(text(&given[0]["targets"][0]["endpoint"]).ends_with("other.jsonl"));
    place.passes_the_audit("run");
}

#[test]
fn a_run_that_takes_no_goal_says_why_and_what_to_do() {
    let place = Place::new();
    place
        .bonded(&["run", "-c", "nothing here"])
        .fails_with(4, "store-missing");
    let dir = place.work().join("sub");
    std::fs::create_dir(&dir).expect("a directory can be made");
    let script = place.script(&[done("one"), done("two")]);
    let words = [
        "run", "--id", "run", "-C", "sub", "--model", &script, "goal",
    ];
    place.bonded(&words).succeeds();
    place
        .bonded(&["run", "-c", "here"])
        .fails_with(4, "unknown-run");
    std::fs::remove_dir(&dir).expect("it can be removed");
    place
        .bonded(&["run", "--continue", "run", "again"])
        .fails_with(4, "workdir");
    assert_eq!(of_kind(&place.entries("run"), "goal_given").len(), 0);
    assert_eq!(place.statuses(), ["succeeded"]);
}

#[test]
fn a_sandbox_that_is_looser_than_the_configuration_says_by_now_is_said_again() {
    let place = Place::new();
    let script = place.script(&[done("one"), done("two"), done("three")]);
    let words = [
        "run",
        "--id",
        "run",
        "--sandbox",
        "full",
        "--model",
        &script,
        "goal",
    ];
    place.bonded(&words).succeeds();
    place.bonded(&["run", "-c", "more"]).succeeds();
    let config = json!({ "defaults": { "sandbox": "read-only" } });
    place.write(".ai-agent/ai-agent.json", config.to_string());
    place
        .bonded(&["run", "-c", "more"])
        .fails_with(4, "cannot-continue");
    place
        .bonded(&["run", "-c", "--sandbox", "full", "more"])
        .succeeds();
}
