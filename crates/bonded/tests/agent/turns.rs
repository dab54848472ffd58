//! Turns, calls and attempts: how many there are at most, and what the model is told of it.

use serde_json::{Value, json};

use crate::reply::{calls, echo, refusal, report, report_call, text};
use crate::world::World;

const NATIVE: [&str; 2] = ["--tooling-transport", "native"];

#[test]
fn turns_that_run_out_give_a_synthetic_failure_that_says_so() {
    let world = World::with_tools().then_always(echo("again"));
    let flags = [&NATIVE[..], &["--max-turns", "2", "--max-retries", "1"]].concat();
    let outcome = world.run(&flags, "go on for ever").failed();
    let [first, last] = &outcome.requests[..] else {
        panic!("{:?}", outcome.requests);
    };
    assert!(first.tools().contains(&"test__test"), "{:?}", first.tools());
    assert_eq!(last.tools(), ["agent__final_report"]);
    assert_eq!(last.said().matches("this is the last turn").count(), 1);
    let report = outcome.report();
    assert_eq!(report["status"], "failure");
    assert_eq!(report["source"], "synthetic");
    assert_eq!(report["metadata"]["reason"], "max_turns_exhausted");
    assert_eq!(report["metadata"]["turns_completed"], 2);
    assert_eq!(outcome.result["turns"], 2);
    let content = report["content"].as_str().unwrap_or_default();
    assert!(content.contains("without a final report"), "{content}");
    assert_eq!(outcome.result["error"], report["content"]);
}

#[test]
fn a_withdrawn_tool_is_answered_and_the_model_reports_in_its_next_attempt() {
    let world = World::with_tools().says([echo("a"), report_call("done")]);
    let flags = [&NATIVE[..], &["--max-turns", "1"]].concat();
    let outcome = world.run(&flags, "say").good();
    assert_eq!(outcome.requests.len(), 2);
    let shown = outcome.requests[1]["messages"].to_string();
    assert!(shown.contains("no tool may be used any more"), "{shown}");
    assert!(shown.contains("\"tool_call_id\""), "{shown}");
    assert_eq!(outcome.report()["content"], "done");
    assert_eq!(outcome.messages("assistant").len(), 1);
}

#[test]
fn a_call_before_the_report_of_its_reply_is_passed_over_and_booked_so() {
    let reported = json!({ "report_format": "pipe", "report_content": "done" });
    let world = World::with_tools().says([calls(&[
        ("test__test", json!({ "text": "a" })),
        ("agent__final_report", reported),
    ])]);
    let outcome = world.run(&NATIVE, "say").good();
    assert_eq!(outcome.report()["content"], "done");
    assert_eq!(outcome.requests.len(), 1);
    let errors = outcome.account_fields("tool", "error");
    assert!(errors.contains(&"beside_the_report"), "{errors:?}");
    let stderr = &outcome.stderr;
    assert!(stderr.contains("skipped test__test"), "{stderr}");
}

#[test]
fn calls_beyond_the_limit_of_a_turn_are_refused_and_the_model_is_told() {
    let say = |said: &str| ("test__test", json!({ "text": said }));
    let world = World::with_tools().says([calls(&[say("a"), say("b"), say("c")]), report("done")]);
    let outcome = world
        .run(&["--max-tool-calls-per-turn", "1"], "three")
        .good();
    let texts = outcome.tool_texts();
    assert_eq!(texts[0], "a");
    for refused in &texts[1..3] {
        assert!(
            refused.starts_with("(tool failed: only 1 call"),
            "{refused}"
        );
    }
    let of_tool = |account: &&&Value| account["command"] == "test__test";
    let tools = outcome.accounts("tool");
    let tools: Vec<_> = tools.iter().filter(of_tool).collect();
    assert_eq!(tools.len(), 3);
    assert_eq!(
        tools
            .iter()
            .filter(|account| account["status"] == "failed")
            .count(),
        2
    );
    let log = world.log(outcome.run_id());
    let executed = log
        .iter()
        .filter(|entry| entry["kind"] == "tool_invoked" && entry["data"]["tool"] == "test__test");
    assert_eq!(executed.count(), 1);
}

#[test]
fn a_run_that_failed_can_be_tried_again() {
    let world = World::new().says([refusal(500, "out of order"), report("done")]);
    let first = world.run(&["--max-retries", "1"], "try").failed();
    let second = world.run(&["--max-retries", "1"], "try").good();
    assert_ne!(first.run_id(), second.run_id());
    assert_eq!(second.report()["content"], "done");
}

#[test]
fn targets_are_asked_in_their_order_and_each_turn_begins_with_the_first() {
    let world = World::with_tools()
        .front("models: first/a, second/b, third/c")
        .says([
            refusal(500, "no"),
            text("no call"),
            refusal(500, "no"),
            refusal(500, "no"),
            echo("heard"),
            report("done"),
        ]);
    let outcome = world.run(&["--max-retries", "5"], "cycle").good();
    let models: Vec<_> = outcome
        .requests
        .iter()
        .map(|it| it["model"].clone())
        .collect();
    // One that failed is left alone for a moment, so that the next is asked.
    assert_eq!(models, ["a", "b", "c", "b", "c", "a"]);
    let providers = outcome.account_fields("llm", "provider");
    assert_eq!(
        providers,
        ["first", "second", "third", "second", "third", "first"]
    );
    let keys: Vec<_> = outcome
        .requests
        .iter()
        .map(|it| &it.headers["authorization"])
        .collect();
    assert_eq!(keys[..3], ["Bearer key-1", "Bearer key-2", "Bearer key-3"]);
}
