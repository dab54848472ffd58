//! `bonded replay`, `bonded verify` and `bonded fork`.

use serde_json::{Value, json};

use crate::done::text;
use crate::place::{Place, call, done, with};
use crate::watch::{of_kind, read};

fn write_call(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

/// A run with everything in it that a replay has to compute again.
fn eventful() -> Vec<Value> {
    vec![
        json!({ "fail": "rate_limit", "retry_after_ms": 5 }),
        json!({ "fail": "network" }),
        json!({ "text": "" }),
        json!({ "text": "only words" }),
        json!({ "calls": [
            { "tool": "nothing", "arguments": {} },
            { "tool": "read", "arguments": "{\"path\": " },
            { "tool": "read", "arguments": { "path": "missing.txt" } },
            { "tool": "write", "arguments": { "path": "a.txt", "content": "x".repeat(5000) } },
        ] }),
        with(
            call("run", json!({ "command": "exit 3" })),
            "reasoning",
            "because",
        ),
        json!({ "calls": [
            { "tool": "done", "arguments": { "reason": "ok" } },
            { "tool": "write", "arguments": { "path": "never.txt", "content": "" } },
        ] }),
    ]
}

#[test]
fn a_replay_computes_every_step_again_and_finds_them_equal() {
    let place = Place::new();
    place.play(&eventful()).succeeds();
    let kinds: Vec<Value> = place
        .entries("run")
        .iter()
        .map(|entry| entry["kind"].clone())
        .collect();
    for kind in ["attempt_failed", "reply_rejected", "call_skipped"] {
        assert!(kinds.contains(&kind.into()), "{kind}: {kinds:?}");
    }
    // Offline and from the log alone: neither the script nor the directory is there any more.
    std::fs::remove_file(place.path("script.jsonl")).expect("the script is there");
    std::fs::remove_file(place.work().join("a.txt")).expect("the run has written it");
    let replayed = place.bonded(&["replay", "run", "--json"]).json();
    assert_eq!(
        (&replayed["equal"], &replayed["entries"]),
        (&json!(true), &json!(kinds.len()))
    );
    let said = place.bonded(&["replay", "run"]).stdout;
    assert!(said.contains("replay matches"), "{said}");
    assert!(
        !place.work().join("a.txt").exists(),
        "a replay executes nothing"
    );
}

#[test]
fn an_interrupted_and_resumed_run_replays_as_equal() {
    let place = Place::new();
    let lines = [
        write_call("a.txt", "1"),
        write_call("b.txt", "2"),
        done("ok"),
    ];
    place.interrupt_in(&lines, 2);
    place.passes_the_audit("run");
    place.resume().succeeds();
    place.passes_the_audit("run");
}

#[test]
fn verify_names_the_head_of_the_chain() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let entries = place.entries("run");
    let last = entries.last().expect("a log has entries");
    let looked = place.bonded(&["verify", "run", "--json"]);
    looked.fails_with(7, "not-compared");
    let verified = looked.json();
    assert_eq!(verified["outcome"], "not_compared");
    assert_eq!(verified["head"], last["hash"]);
    assert_eq!(verified["entries"], last["seq"]);
    let all = place.bonded(&["verify", "--all"]);
    all.fails_with(7, "not-compared");
    assert!(all.stdout.contains(text(&last["hash"])), "{}", all.stdout);
}

/// A place with a run of three turns.
fn three_turns() -> Place {
    let place = Place::new();
    let lines = [
        write_call("a.txt", "1"),
        write_call("b.txt", "2"),
        done("first"),
    ];
    place.play(&lines).succeeds();
    place
}

#[test]
fn a_fork_has_the_turns_before_and_goes_on_with_another_script() {
    let place = three_turns();
    let log = place.log("run");
    let other = place.path("other.jsonl");
    let lines = [
        json!({ "text": "not played" }),
        write_call("c.txt", "3"),
        done("second"),
    ];
    let text_of_lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    crate::watch::write(&other, text_of_lines);
    let other = format!("script:{}", other.display());
    let forked = place.bonded(&[
        "fork", "run", "--turn", "2", "--id", "branch", "--model", &other,
    ]);
    forked.succeeds();
    assert_eq!(forked.stdout, "branch\n");
    let listed = place.bonded(&["runs"]).stdout;
    assert!(listed.contains("fork of run: "), "{listed}");
    let resumed = place.bonded(&["resume", "branch"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "second\n"),
        "{resumed:?}"
    );
    assert_eq!(read(&place.work().join("c.txt")), "3");
    assert_eq!(place.log("run"), log, "the first run is as it was");
    let entries = place.entries("branch");
    let origin = &of_kind(&entries, "run_started")[0]["forked_from"];
    assert_eq!(
        (&origin["run"], &origin["turn"]),
        (&json!("run"), &json!(2))
    );
    let written: Vec<&Value> = of_kind(&entries, "decision_made");
    assert!(text(&written[0]["calls"][0]["arguments"]).contains("a.txt"));
    assert!(text(&written[1]["calls"][0]["arguments"]).contains("c.txt"));
    place.passes_the_audit("branch");
}

#[test]
fn a_fork_draws_an_id_and_can_change_the_limit_of_turns() {
    let place = three_turns();
    let forked = place.bonded(&["fork", "run", "--turn", "2", "--max-turns", "2"]);
    forked.succeeds();
    let id = forked.stdout.trim();
    let resumed = place.bonded(&["resume", id, "--json"]);
    assert_eq!(resumed.json()["termination"]["kind"], "turns_exhausted");
    assert_eq!(resumed.code, Some(1));
}

#[test]
fn a_fork_needs_a_turn_that_is_there_and_an_id_that_is_free() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    place
        .bonded(&["fork", "run", "--turn", "2"])
        .fails_with(4, "no-such-turn");
    place
        .bonded(&["fork", "run", "--turn", "1", "--id", "run"])
        .fails_with(4, "id-taken");
    assert_eq!(place.bonded(&["fork", "run", "--turn", "0"]).code, Some(4));
}
