//! Replies that say nothing: not kept, told once, counted; and reasoning, which is something.

use serde_json::json;

use crate::reply::{message, reasoning, report, text};
use crate::world::World;

const NOTICE: &str = "System notice: plain text responses without tool calls are ignored. Use final_report to provide your answer.";

#[test]
fn an_empty_reply_is_not_kept_and_told_of_once() {
    let null = message(&json!({ "role": "assistant", "content": null }), "stop");
    for reply in [text(""), text(" \n\t "), null] {
        let world = World::new().says([reply.clone(), report("done")]);
        let outcome = world.run(&[], "say").good();
        assert_eq!(outcome.requests.len(), 2);
        assert_eq!(
            outcome.requests[1].said().matches(NOTICE).count(),
            1,
            "{reply:?}"
        );
        assert_eq!(
            outcome.roles(),
            ["system", "user", "assistant"],
            "{reply:?}"
        );
        assert!(
            !outcome.result["conversation"]
                .to_string()
                .contains("System notice")
        );
    }
}

#[test]
fn text_without_a_call_is_told_of_once_and_not_kept() {
    let world = World::new().says([text("just talk"), report("done")]);
    let outcome = world.run(&[], "say").good();
    assert_eq!(outcome.requests[1].said().matches(NOTICE).count(), 1);
    assert!(
        !outcome.result["conversation"]
            .to_string()
            .contains("System notice")
    );
}

#[test]
fn the_notice_of_one_attempt_is_gone_after_the_next() {
    let world = World::with_tools().says([text(""), crate::reply::echo("a"), report("done")]);
    let outcome = world.run(&[], "say").good();
    assert!(outcome.requests[1].said().contains(NOTICE));
    assert!(!outcome.requests[2].said().contains(NOTICE));
}

#[test]
fn empty_replies_use_the_attempts_of_every_turn_and_leave_no_message() {
    for silence in ["", "   \n  "] {
        let world = World::new().then_always(text(silence));
        let outcome = world
            .run(&["--max-turns", "4", "--max-retries", "2"], "say")
            .failed();
        assert_eq!(outcome.requests.len(), 8);
        assert_eq!(outcome.accounts("llm").len(), 8);
        assert_eq!(outcome.messages("assistant").len(), 0);
        assert_eq!(
            outcome.report()["metadata"]["reason"],
            "max_turns_exhausted"
        );
    }
}

#[test]
fn text_in_every_turn_is_a_report_in_the_last_alone_and_never_more_messages_than_turns() {
    let world = World::new().then_always(text("I think about it."));
    let outcome = world
        .run(&["--max-turns", "5", "--max-retries", "2"], "say")
        .good();
    assert_eq!(outcome.result["turns"], 5);
    assert_eq!(outcome.requests.len(), 10);
    assert_eq!(outcome.report()["source"], "text-fallback");
    assert!(outcome.messages("assistant").len() <= 5);
}

#[test]
fn reasoning_alone_is_a_turn_and_is_kept() {
    let world = World::new().says([reasoning("let me think", ""), report("done")]);
    let outcome = world.run(&["--max-retries", "1"], "think").good();
    assert_eq!(outcome.result["turns"], 2);
    assert_eq!(outcome.requests.len(), 2);
    assert!(!outcome.requests[1].said().contains(NOTICE));
    assert_eq!(
        outcome.messages("assistant")[0]["reasoning"],
        "let me think"
    );
    assert_eq!(outcome.account_fields("llm", "status"), ["ok", "ok"]);
}

#[test]
fn reasoning_in_every_turn_is_never_a_report() {
    let world = World::new().then_always(reasoning("still thinking", ""));
    let outcome = world.run(&["--max-turns", "3"], "think").failed();
    assert_eq!(outcome.result["turns"], 3);
    assert_eq!(outcome.report()["status"], "failure");
}

#[test]
fn a_reply_that_the_provider_withheld_is_tried_again() {
    let world = World::new().says([text("x").finish("content_filter"), report("done")]);
    let outcome = world.run(&[], "say").good();
    assert_eq!(outcome.requests.len(), 2);
    assert_eq!(outcome.roles(), ["system", "user", "assistant"]);
}
