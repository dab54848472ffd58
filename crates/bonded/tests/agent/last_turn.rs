//! The last turn of an agent in the built program: its attempts, its texts, and what is sent again.

use serde_json::json;

use crate::reply::{calls, echo, reasoning, report, report_call, report_tag, text};
use crate::world::World;

const LAST: [&str; 2] = ["--max-turns", "1"];

#[test]
fn a_withdrawn_tool_is_answered_and_the_model_reports_in_its_next_attempt() {
    for transport in ["native", "xml-final"] {
        let reported = match transport {
            "native" => report_call("done"),
            _ => report("done"),
        };
        let world = World::with_tools().says([echo("a"), reported]);
        let flags = [&LAST[..], &["--tooling-transport", transport]].concat();
        let outcome = world.run(&flags, "say").good();
        assert_eq!(outcome.requests.len(), 2, "{transport}");
        let shown = outcome.requests[1]["messages"].to_string();
        assert!(shown.contains("no tool may be used any more"), "{shown}");
        assert!(shown.contains("\"tool_call_id\""), "{shown}");
        assert_eq!(outcome.report()["content"], "done");
        assert_eq!(outcome.messages("assistant").len(), 1);
    }
}

#[test]
fn prose_in_the_last_turn_is_delivered_as_text_fallback() {
    for (retries, requests) in [("1", 1), ("5", 2)] {
        let world = World::new().then_always(text("The answer is 42."));
        let flags = [&LAST[..], &["--max-retries", retries]].concat();
        let outcome = world.run(&flags, "say").good();
        assert_eq!(outcome.requests.len(), requests);
        let report = outcome.report();
        assert_eq!(report["source"], "text-fallback");
        assert_eq!(report["status"], "success");
        assert_eq!(report["content"], "The answer is 42.");
        assert_eq!(outcome.roles(), ["system", "user", "assistant"]);
    }
}

#[test]
fn no_two_requests_are_the_same_after_replies_of_no_use() {
    for reply in [
        text(""),
        text("hm").finish("content_filter"),
        reasoning("hm", ""),
    ] {
        let world = World::new().then_always(reply);
        let flags = [
            "--max-turns",
            "2",
            "--max-retries",
            "3",
            "--temperature",
            "0",
        ];
        let outcome = world.run(&flags, "say").failed();
        let mut bodies: Vec<String> = outcome
            .requests
            .iter()
            .map(|asked| asked["messages"].to_string())
            .collect();
        let count = bodies.len();
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len(), count, "{bodies:#?}");
    }
}

#[test]
fn reasoning_alone_comes_back_to_its_provider_and_no_message_is_empty() {
    let world = World::new().says([reasoning("I should look.", ""), report("done")]);
    let outcome = world.run(&[], "think").good();
    let messages = outcome.requests[1]["messages"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let own = messages.iter().find(|it| it["role"] == "assistant");
    assert_eq!(own.map(|it| &it["content"]), Some(&json!("I should look.")));
    assert!(
        messages.iter().all(|it| it["content"] != ""),
        "{messages:?}"
    );
}

#[test]
fn a_call_before_the_report_of_its_reply_is_passed_over_and_booked_so() {
    let world = World::with_tools().says([calls(&[
        ("test__test", json!({ "text": "a" })),
        (
            "agent__final_report",
            json!({ "report_format": "pipe", "report_content": "done" }),
        ),
    ])]);
    let flags = ["--tooling-transport", "native"];
    let outcome = world.run(&flags, "say").good();
    assert_eq!(outcome.report()["content"], "done");
    assert_eq!(outcome.requests.len(), 1);
    let errors = outcome.account_fields("tool", "error");
    assert!(errors.contains(&"beside_the_report"), "{errors:?}");
    assert!(
        outcome.stderr.contains("skipped test__test"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_slack_report_of_text_alone_is_accepted() {
    let tag = report_tag("slack-block-kit", "All *good*.");
    let world = World::new().says([text(&tag)]);
    let outcome = world.run(&["--format", "slack-block-kit"], "say").good();
    let blocks = &outcome.report()["messages"][0]["blocks"];
    assert_eq!(blocks[0]["text"]["text"], "All *good*.");
}
