//! The conversation of a result: its order, its links, and what is never part of it.

use serde_json::{Value, json};

use crate::reply::{calls, echo, message, report, report_call, text};
use crate::world::{Outcome, World};

/// The ids of the calls of each assistant message, and those that the tool messages after it answer.
fn links(outcome: &Outcome) -> Vec<(Vec<Value>, Vec<Value>)> {
    let mut links: Vec<(Vec<Value>, Vec<Value>)> = vec![];
    let messages = outcome.result["conversation"].as_array();
    for message in messages.into_iter().flatten() {
        match message["role"].as_str() {
            Some("assistant") => {
                let calls = message["toolCalls"].as_array().into_iter().flatten();
                links.push((calls.map(|call| call["id"].clone()).collect(), vec![]));
            }
            Some("tool") => {
                let last = links.last_mut().expect("a tool answers an assistant");
                last.1.push(message["toolCallId"].clone());
            }
            _ => {}
        }
    }
    links
}

#[test]
fn the_conversation_is_system_user_then_assistant_and_tool_in_turn_up_to_the_report() {
    let world = World::with_tools().prompt("You are exact.").says([
        echo("one"),
        echo("two"),
        report_call("done"),
    ]);
    let outcome = world
        .run(&["--tooling-transport", "native"], "do it")
        .good();
    let expected = [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ];
    assert_eq!(outcome.roles(), expected);
    let conversation = &outcome.result["conversation"];
    assert_eq!(conversation[0]["content"], "You are exact.\n");
    assert_eq!(conversation[1]["content"], "do it");
    assert_eq!(
        conversation[6]["toolCalls"][0]["name"],
        "agent__final_report"
    );
    for (called, answered) in links(&outcome) {
        assert_eq!(called, answered, "{conversation:#}");
    }
    let sent = &outcome.requests[2]["messages"];
    for (at, role) in expected[..6].iter().enumerate() {
        assert_eq!(sent[at]["role"], *role, "{sent:#}");
    }
    assert_eq!(
        (&sent[3]["content"], &sent[5]["content"]),
        (&json!("one"), &json!("two"))
    );
}

#[test]
fn in_xml_final_the_conversation_ends_with_the_text_that_holds_the_report() {
    let world = World::with_tools().says([echo("one"), report("it is done")]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(
        outcome.roles(),
        ["system", "user", "assistant", "tool", "assistant"]
    );
    let last = outcome.messages("assistant")[1]["content"].as_str();
    assert!(
        last.is_some_and(|text| text.contains("it is done")),
        "{last:?}"
    );
}

#[test]
fn every_call_is_answered_by_its_id_and_a_failure_reads_tool_failed() {
    let asked = [
        ("test__test", json!({ "text": "trigger-mcp-failure" })),
        ("test__test", json!({ "text": "fine" })),
        ("test__nothing", json!({})),
    ];
    let world = World::with_tools().says([calls(&asked), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let (called, answered) = links(&outcome).swap_remove(0);
    assert_eq!(called, ["call_1", "call_2", "call_3"]);
    let mut in_order = answered;
    in_order.sort_by_key(ToString::to_string);
    assert_eq!(in_order, called);
    for message in outcome.messages("tool") {
        let content = message["content"].as_str().unwrap_or_default();
        let failed = content.starts_with("(tool failed: ") && content.ends_with(')');
        assert_eq!(failed, message["toolCallId"] != "call_2", "{message:#}");
    }
    let told = outcome.requests[1].said();
    assert!(told.contains("the failure that was asked for"), "{told}");
}

#[test]
fn an_empty_reply_is_not_kept_and_told_of_once() {
    let null = message(&json!({ "role": "assistant", "content": null }), "stop");
    for reply in [text(""), null] {
        let world = World::new().says([reply.clone(), report("done")]);
        let outcome = world.run(&[], "say").good();
        let told = outcome.requests[1].said();
        assert_eq!(told.matches("System notice").count(), 1, "{reply:?}");
        assert_eq!(outcome.roles(), ["system", "user", "assistant"]);
        let stored = outcome.result["conversation"].to_string();
        assert!(!stored.contains("System notice"), "{reply:?}: {stored}");
    }
}

#[test]
fn a_retry_notice_is_in_one_request_and_never_in_the_conversation() {
    let world = World::with_tools().says([text("Let me think."), echo("hello"), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let notice = "plain text responses without tool calls are ignored";
    let noticed: Vec<bool> = outcome
        .requests
        .iter()
        .map(|request| request.said().contains(notice))
        .collect();
    assert_eq!(noticed, [false, true, false]);
    let stored = outcome.result["conversation"].to_string();
    assert!(!stored.contains("System notice"), "{stored}");
    assert!(!stored.contains("Let me think."), "{stored}");
    assert_eq!(
        outcome.roles(),
        ["system", "user", "assistant", "tool", "assistant"]
    );
}
