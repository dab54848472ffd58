//! Turns, calls and attempts: how many there are at most, and what the model is told of it.

use serde_json::{Value, json};

use crate::reply::{call, calls, echo, refusal, report, report_call, text};
use crate::world::World;

const NATIVE: [&str; 2] = ["--tooling-transport", "native"];

#[test]
fn no_run_has_more_turns_than_its_limit() {
    for turns in ["1", "2", "4"] {
        let world = World::with_tools().then_always(echo("again"));
        let outcome = world
            .run(&["--max-turns", turns], "go on for ever")
            .failed();
        let count: usize = turns.parse().expect("a number");
        // In the last turn the call is refused, and the attempts of that turn are used.
        let turns_made = outcome.messages("assistant").len();
        assert!(turns_made <= count, "{turns}: {turns_made}");
        assert_eq!(outcome.result["turns"], count);
    }
}

#[test]
fn turns_that_run_out_give_a_synthetic_failure_that_says_so() {
    let world = World::with_tools().then_always(echo("again"));
    let outcome = world.run(&["--max-turns", "2"], "go on for ever").failed();
    let report = outcome.report();
    assert_eq!(report["status"], "failure");
    assert_eq!(report["metadata"]["reason"], "max_turns_exhausted");
    assert_eq!(report["metadata"]["turns_completed"], 2);
    let content = report["content"].as_str().unwrap_or_default();
    assert!(content.contains("without a final report"), "{content}");
    assert_eq!(outcome.result["error"], report["content"]);
}

#[test]
fn the_last_turn_offers_the_report_alone_and_says_it_once() {
    let world = World::with_tools().says([echo("one"), report_call("two")]);
    let flags = [&NATIVE[..], &["--max-turns", "2"]].concat();
    let outcome = world.run(&flags, "two turns").good();
    let [first, last] = &outcome.requests[..] else {
        panic!("{:?}", outcome.requests);
    };
    assert!(first.tools().contains(&"test__test"), "{:?}", first.tools());
    assert_eq!(last.tools(), ["agent__final_report"]);
    assert!(!first.said().contains("this is the last turn"));
    assert_eq!(last.said().matches("this is the last turn").count(), 1);
    assert!(
        !outcome.result["conversation"]
            .to_string()
            .contains("last turn")
    );
}

#[test]
fn attempts_within_a_turn_are_no_turns() {
    let replies = [text("no call"), echo("a"), text("no call"), report("done")];
    let world = World::with_tools().says(replies);
    let outcome = world.run(&["--max-turns", "2"], "two turns").good();
    assert_eq!(outcome.requests.len(), 4);
    assert_eq!(outcome.result["turns"], 2);
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
fn the_limit_of_calls_may_stand_in_the_configuration() {
    let say = |said: &str| ("test__test", json!({ "text": said }));
    let world = World::with_tools()
        .config(&json!({ "defaults": { "maxToolCallsPerTurn": 2 } }))
        .says([calls(&[say("a"), say("b"), say("c")]), report("done")]);
    let outcome = world.run(&[], "three").good();
    let texts = outcome.tool_texts();
    assert_eq!(texts[..2], ["a", "b"]);
    assert!(texts[2].contains("only 2 calls"), "{texts:?}");
}

#[test]
fn a_report_is_accepted_beyond_the_limit_of_calls() {
    let say = |said: &str| ("test__test", json!({ "text": said }));
    let report = json!({ "report_format": "pipe", "report_content": "done" });
    let world = World::with_tools().says([calls(&[
        say("a"),
        say("b"),
        ("agent__final_report", report),
    ])]);
    let flags = [&NATIVE[..], &["--max-tool-calls-per-turn", "1"]].concat();
    let outcome = world.run(&flags, "report").good();
    assert_eq!(outcome.report()["content"], "done");
}

#[test]
fn the_attempts_of_a_turn_are_limited_and_one_means_no_retry() {
    for attempts in [1, 2, 3] {
        let world = World::new().then_always(refusal(500, "out of order"));
        let outcome = world
            .run(&["--max-retries", &attempts.to_string()], "try")
            .failed();
        assert_eq!(outcome.requests.len(), attempts);
        assert_eq!(outcome.accounts("llm").len(), attempts);
        let error = outcome.result["error"].as_str().unwrap_or_default();
        assert!(error.contains("out of order"), "{error}");
    }
}

#[test]
fn attempts_that_are_used_up_by_replies_lead_to_the_next_turn() {
    let world = World::new().says([text("a"), text("b"), report("done")]);
    let outcome = world
        .run(&["--max-retries", "2", "--max-turns", "3"], "try")
        .good();
    assert_eq!(outcome.result["turns"], 2);
    assert_eq!(outcome.requests.len(), 3);
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

#[test]
fn a_target_that_writes_only_text_in_the_last_turn_is_followed_by_the_next() {
    let world = World::new()
        .front("models: first/a, second/b")
        .says([text("only text"), report("done")]);
    let outcome = world.run(&["--max-turns", "1"], "report").good();
    assert_eq!(
        outcome.account_fields("llm", "provider"),
        ["first", "second"]
    );
}

#[test]
fn a_tool_that_does_not_exist_is_not_executed_and_the_run_goes_on() {
    let world = World::with_tools().says([call("nothing__here", json!({})), report("done")]);
    let outcome = world.run(&[], "try").good();
    let told = outcome.tool_texts()[0];
    assert!(told.starts_with("(tool failed: there is no tool"), "{told}");
    assert_eq!(outcome.accounts("tool")[0]["status"], "failed");
}

#[test]
fn a_tool_name_of_ten_thousand_characters_is_refused_in_few_words() {
    let name = "x".repeat(10_000);
    let world = World::with_tools().says([call(&name, json!({})), report("done")]);
    let outcome = world.run(&[], "try").good();
    let told = outcome.tool_texts()[0];
    assert!(told.starts_with("(tool failed: "), "{told}");
    assert!(told.len() < 1000, "{} bytes", told.len());
}

#[test]
fn no_call_runs_in_the_last_turn_but_the_report() {
    let world = World::with_tools().then_always(echo("too late"));
    let outcome = world.run(&["--max-turns", "1"], "report").failed();
    let log = world.log(outcome.run_id());
    assert!(
        !log.iter().any(|entry| entry["kind"] == "tool_invoked"),
        "{log:#?}"
    );
    assert!(
        outcome.tool_texts()[0].contains("report now"),
        "{outcome:?}"
    );
    assert_eq!(
        outcome.report()["metadata"]["reason"],
        "max_turns_exhausted"
    );
}
