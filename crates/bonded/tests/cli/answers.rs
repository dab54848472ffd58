//! `bonded run` and `bonded resume`: what is printed where, and what an id means.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::done::text;
use crate::place::{Place, call, done, finish, parse, start};
use crate::watch::{of_kind, with_stdin, write};

fn two_turns() -> [Value; 2] {
    [call("list", json!({})), done("forty-two")]
}

#[test]
fn the_answer_alone_goes_to_stdout_and_the_rest_to_stderr() {
    let place = Place::new();
    let run = place.play(&two_turns());
    run.succeeds();
    assert_eq!(run.stdout, "forty-two\n");
    for part in [
        "run run",
        " started: script/",
        " turn 1: answered in ",
        " turn 1: list .: 0 files, ",
        " run run done: 2 turns, ",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn quiet_leaves_stderr_empty() {
    let place = Place::new();
    let script = place.script(&two_turns());
    let run = place.bonded(&["run", "-q", "--model", &script, "the goal"]);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("forty-two\n", "")
    );
}

#[test]
fn a_run_without_success_prints_no_answer_and_says_why_on_stderr() {
    let place = Place::new();
    let run = place.play(&[done("blocked: no access")]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr.ends_with("run run: blocked: no access\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn json_is_one_object_with_the_documented_fields() {
    let fields: BTreeSet<&str> = [
        "runId",
        "goalId",
        "success",
        "status",
        "termination",
        "answer",
        "turns",
        "requests",
        "usage",
        "costUsd",
        "elapsedMs",
        "conversation",
        "accounting",
    ]
    .into();
    let place = Place::new();
    let priced = ["--price", "1,2"];
    let used = crate::place::with(
        done("forty-two"),
        "usage",
        json!({ "input": 1000, "output": 100 }),
    );
    let result = place.result(&priced, &[used]);
    let object = result.as_object().expect("the result is an object");
    assert_eq!(
        object.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        fields
    );
    assert_eq!(result["runId"], "run");
    assert_eq!(result["success"], true);
    assert_eq!(result["status"], "succeeded");
    assert_eq!(
        result["termination"],
        json!({ "kind": "done", "reason": "forty-two" })
    );
    assert_eq!(result["answer"], "forty-two");
    assert_eq!(
        (&result["turns"], &result["requests"]),
        (&json!(1), &json!(1))
    );
    let usage = json!({ "inputTokens": 1000, "outputTokens": 100, "cachedInputTokens": 0 });
    assert_eq!(result["usage"], usage);
    assert_eq!(result["costUsd"], json!(0.0012));
    assert!(result["elapsedMs"].is_u64(), "{result}");
}

/// What the model said before something ends its run.
const SO_FAR: &str = "So far: three of four tests pass.";

#[test]
fn whatever_ends_a_run_its_last_text_is_printed_and_told_to_be_no_answer() {
    let list = || call("list", json!({}));
    let said = || json!({ "text": SO_FAR });
    let fatal = json!({ "fail": "auth", "message": "the key is wrong" });
    let used = |line| crate::place::with(line, "usage", json!({ "input": 9_000, "output": 900 }));
    let rows: [(&str, &[&str], Vec<Value>); 4] = [
        (
            "stopped: turn limit. 2 turns were used",
            &["--max-turns", "2"],
            vec![said(), list()],
        ),
        (
            "stopped: no progress. ",
            &[],
            vec![said(), list(), list(), list(), list()],
        ),
        ("failed: ", &[], vec![said(), fatal]),
        (
            "stopped: budget. ",
            &["--max-tokens", "12000"],
            vec![used(said()), used(list())],
        ),
    ];
    for (kind, flags, lines) in rows {
        let place = Place::new();
        let script = place.script(&lines);
        let words = [
            &["run", "--id", "run", "--model", &script],
            flags,
            &["the goal"],
        ]
        .concat();
        let run = place.bonded(&words);
        assert_eq!(run.code, Some(1), "{kind}: {run:?}");
        assert_eq!(run.stdout, format!("{SO_FAR}\n"), "{kind}: {}", run.stderr);
        assert!(
            run.stderr.contains("not a final answer"),
            "{kind}: {}",
            run.stderr
        );
        let last = run.stderr.trim_end().lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("run run: {kind}")), "{last}");
        let again = place.bonded(&["resume", "run"]);
        assert_eq!((again.code, again.stdout), (Some(1), run.stdout), "{kind}");
    }
}

#[test]
fn a_cancelled_run_prints_what_was_said_so_far() {
    let place = Place::new();
    let script = place.script(&[json!({ "text": SO_FAR }), crate::watch::never()]);
    let child = start(&mut place.command(&["run", "--id", "run", "--model", &script, "the goal"]));
    place.wait_for_entry("run", 2, "attempt_started");
    place.bonded(&["cancel", "run"]).succeeds();
    let run = finish(child);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(1), "So far: three of four tests pass.\n")
    );
    assert!(run.stderr.contains("not a final answer"), "{}", run.stderr);
}

#[test]
fn words_before_a_call_do_not_take_the_place_of_a_text_unless_they_are_long() {
    let beside = |text: &str, path: &str| {
        let arguments = json!({ "path": path });
        crate::place::with(call("list", arguments), "text", text.to_owned())
    };
    let long = "x".repeat(200);
    for (later, wanted) in [("Let me look.", SO_FAR), (long.as_str(), long.as_str())] {
        let place = Place::new();
        let lines = [
            json!({ "text": SO_FAR }),
            beside(later, "."),
            beside("And here.", ".."),
        ];
        let result = place.result(&["--max-turns", "3"], &lines);
        assert_eq!(result["lastText"], wanted);
    }
}

#[test]
fn a_run_that_is_out_of_time_names_what_its_provider_failed_with() {
    let place = Place::new();
    let failure = json!({ "fail": "network", "message": "connection refused", "repeat": 20 });
    let script = place.script(&[failure]);
    let run = place.bonded(&[
        "run",
        "--id",
        "run",
        "--max-time",
        "2",
        "--model",
        &script,
        "the goal",
    ]);
    assert_eq!(run.code, Some(1));
    let last = run.stderr.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.contains("stopped: time limit of 2 s reached") && last.contains("connection refused"),
        "{}",
        run.stderr
    );
}

#[test]
fn json_of_a_failure_has_no_answer_but_the_last_words() {
    let place = Place::new();
    let words = json!({ "text": "I wonder." });
    let result = place.result(&["--max-turns", "1"], &[words]);
    assert_eq!(
        (&result["success"], &result["answer"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(result["lastText"], "I wonder.");
}

#[test]
fn stream_json_prints_the_log_line_by_line_and_ends_with_run_ended() {
    let place = Place::new();
    let script = place.script(&two_turns());
    let run = place.bonded(&[
        "run",
        "--id",
        "run",
        "--stream-json",
        "--model",
        &script,
        "the goal",
    ]);
    run.succeeds();
    let printed: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(printed, place.log("run"));
    let last = parse(printed.last().expect("a log has entries"));
    assert_eq!(last["kind"], "run_ended");
}

#[test]
fn a_goal_can_come_from_stdin_or_from_a_file() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let goal = "two\nlines, ünïcode\n";
    with_stdin(
        &place,
        &["run", "--id", "stdin", "--model", &script, "-"],
        goal.as_bytes(),
    )
    .succeeds();
    write(&place.work().join("goal.txt"), goal);
    place
        .bonded(&["run", "--id", "file", "--model", &script, "@goal.txt"])
        .succeeds();
    for run in ["stdin", "file"] {
        let entries = place.entries(run);
        assert_eq!(
            text(&of_kind(&entries, "run_started")[0]["goal"]),
            goal,
            "{run}"
        );
    }
}

/// A place with a run that has ended, and the run's log.
fn ended_run() -> (Place, Vec<String>) {
    let place = Place::new();
    place.play(&two_turns()).succeeds();
    let log = place.log("run");
    (place, log)
}

#[test]
fn an_id_whose_run_has_ended_gives_the_same_answer_and_adds_nothing_to_the_log() {
    let (place, log) = ended_run();
    let again = place.play(&[done("another answer")]);
    again.succeeds();
    assert_eq!(again.stdout, "forty-two\n");
    assert_eq!(place.log("run"), log);
}

#[test]
fn an_id_whose_run_was_interrupted_resumes_it() {
    let place = Place::new();
    place.interrupt_in(&two_turns(), 2);
    let run = place.play(&two_turns());
    run.succeeds();
    assert_eq!(run.stdout, "forty-two\n");
    let entries = place.entries("run");
    assert_eq!(of_kind(&entries, "run_resumed").len(), 1);
    assert_eq!(of_kind(&entries, "run_started").len(), 1);
    place.passes_the_audit("run");
}

#[test]
fn an_id_of_another_goal_is_refused() {
    let (place, log) = ended_run();
    let script = place.script(&two_turns());
    let other = place.bonded(&["run", "--id", "run", "--model", &script, "another goal"]);
    other.fails_with(4, "id-taken");
    assert_eq!(place.log("run"), log);
}

#[test]
fn an_id_that_cannot_name_a_run_is_refused() {
    let place = Place::new();
    let script = place.script(&two_turns());
    let long = "x".repeat(129);
    for id in ["", "../up", "-dash", "a b", "ünï", &long] {
        let flag = format!("--id={id}");
        let run = place.bonded(&["run", &flag, "--model", &script, "the goal"]);
        run.fails_with(4, "bad-run-id");
    }
}

#[test]
fn resuming_a_run_that_has_ended_prints_its_answer_and_adds_nothing() {
    let (place, log) = ended_run();
    let resumed = place.resume();
    resumed.succeeds();
    assert_eq!(resumed.stdout, "forty-two\n");
    assert_eq!(place.log("run"), log);
}

#[test]
fn resume_all_goes_on_with_every_interrupted_run_and_no_other() {
    let place = Place::new();
    let script = place.script(&[done("first")]);
    place
        .bonded(&["run", "--id", "ended", "--model", &script, "the goal"])
        .succeeds();
    for id in ["a", "b"] {
        let hanging = place.script(&[crate::watch::never(), done("x")]);
        let child =
            start(&mut place.command(&["run", "--id", id, "--model", &hanging, "the goal"]));
        place.wait_for_entry(id, 1, "attempt_started");
        crate::done::kill(child);
    }
    place.script(&[done("went on")]);
    let before = place.log("ended");
    let resumed = place.bonded(&["resume", "--all"]);
    resumed.succeeds();
    assert_eq!(resumed.stdout, "went on\nwent on\n");
    assert_eq!(place.log("ended"), before);
    let nothing_left = place.bonded(&["resume", "--all"]);
    assert_eq!(
        (nothing_left.code, nothing_left.stdout.as_str()),
        (Some(0), "")
    );
    assert!(nothing_left.stderr.contains("no run is interrupted"));
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    let place = Place::new();
    let script = place.script(&two_turns());
    let arguments = [
        "run",
        "--id",
        "run",
        "--stream-json",
        "--model",
        &script,
        "the goal",
    ];
    let mut child = start(&mut place.command(&arguments));
    drop(child.stdout.take());
    finish(child).succeeds();
    assert_eq!(of_kind(&place.entries("run"), "run_ended").len(), 1);
}
