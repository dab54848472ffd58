//! How runs end: always with a result, with the exit code of its kind, and on record.

use std::time::Duration;

use serde_json::json;

use crate::reply::{echo, refusal, report, report_tag, text};
use crate::world::{World, peak_kb, start};

#[test]
fn every_way_to_end_gives_a_result_and_its_exit_code() {
    let rows = [
        ("a report", report("done"), 0, true, Some("success")),
        ("a text", text("talk"), 0, true, Some("success")),
        ("no report", text(""), 1, false, Some("failure")),
        ("a refused key", refusal(401, "bad key"), 1, false, None),
        (
            "a broken provider",
            refusal(500, "out of order"),
            1,
            false,
            Some("failure"),
        ),
    ];
    for (case, reply, code, success, status) in rows {
        let world = World::new().then_always(reply);
        let outcome = world.run(&["--max-turns", "1", "--max-retries", "1"], "end");
        assert_eq!(outcome.code, Some(code), "{case}");
        assert_eq!(outcome.result["success"], success, "{case}");
        assert_eq!(outcome.report()["status"].as_str(), status, "{case}");
        assert_eq!(outcome.result.get("error").is_some(), !success, "{case}");
        let log = world.log(outcome.run_id());
        assert_eq!(
            log.last().map(|entry| &entry["kind"]),
            Some(&json!("run_ended")),
            "{case}"
        );
    }
}

#[test]
fn a_person_is_given_the_report_alone_on_stdout() {
    let pretty = "{\n  \"data\": 1\n}\n";
    let rows = [
        ("", report("just this"), 0, "just this\n", ""),
        (
            "output: { format: json }",
            text(&report_tag("json", "{\"data\":1}")),
            0,
            pretty,
            "",
        ),
        ("", refusal(401, "bad key"), 1, "", "bad key"),
        ("maxTurns: 1\nmaxRetries: 1", text("talk"), 0, "talk\n", ""),
        (
            "maxTurns: 1\nmaxRetries: 1",
            text(""),
            1,
            "",
            "without a final report",
        ),
    ];
    for (front, reply, code, stdout, stderr) in rows {
        let world = World::new().front(front).says([reply]);
        world.write();
        let outcome = world.bonded(&["run", "--agent", "agent.ai", "say"]);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, stdout);
        assert!(outcome.stderr.contains(stderr), "{}", outcome.stderr);
    }
}

#[test]
fn a_run_that_is_stopped_while_it_waits_says_canceled_and_keeps_its_log() {
    let world = World::new().says([refusal(429, "slow down").header("retry-after", "50")]);
    let child = start(&mut world.run_command(&["--id", "waits"], "wait"));
    while world.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(world.bonded(&["cancel", "waits"]).code, Some(0));
    let outcome = world.finish(child).failed();
    assert_eq!(outcome.result["error"], "canceled");
    assert_eq!(outcome.result.get("finalReport"), None);
    assert_eq!(
        world.log(outcome.run_id()).last().map(|it| &it["kind"]),
        Some(&json!("run_ended"))
    );
}

#[test]
fn a_run_that_was_killed_is_taken_up_again_and_repeats_no_turn() {
    let world = World::with_tools().says([
        echo("a"),
        echo("b"),
        text("late").delayed_ms(60_000),
        report("done"),
    ]);
    let mut child = start(&mut world.run_command(&["--id", "killed"], "go on"));
    while world.requests().len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    let outcome = world.bonded(&["resume", "killed", "--json"]).good();
    assert_eq!(outcome.tool_texts()[..2], ["a", "b"]);
    assert_eq!(outcome.report()["content"], "done");
    assert_eq!(outcome.requests.len(), 4);
}

/// A tenth of what a program takes that keeps every request.
const MEMORY_KB_MAX: u64 = 300_000;

#[test]
fn four_hundred_turns_take_little_memory_and_are_all_on_record() {
    let many = std::iter::repeat_n(echo("long-output"), 399);
    let world = World::with_tools().says(many.chain([report("done")]));
    let flags = [
        "--max-turns",
        "400",
        "--override",
        "contextWindow=100000000",
    ];
    let child = start(&mut world.run_command(&flags, "go on"));
    let peak_kb = peak_kb(&child);
    let outcome = world.finish(child).good();
    assert_eq!(outcome.result["turns"], 400);
    assert_eq!(world.bonded(&["verify", outcome.run_id()]).code, Some(7));
    let peak_kb = peak_kb.join().expect("looking does not panic");
    assert!((1..MEMORY_KB_MAX).contains(&peak_kb), "{peak_kb} kB");
}
