//! Thoughts of models: given back where the provider signed them, dropped where it did not.

use serde_json::{Value, json};

use crate::reply::{Reply, raw, reasoning, refusal, report, report_tag};
use crate::world::{Outcome, World};

/// An answer in the format of Anthropic.
fn answer(content: &Value, stop: &str) -> Reply {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "answered",
        "content": content, "stop_reason": stop,
        "usage": { "input_tokens": 120, "output_tokens": 40 },
    });
    raw(200, "application/json", body.to_string())
}

/// A thought, and a call of the echoing tool after it.
fn thinks(signature: Option<&str>) -> Reply {
    let mut thought = json!({ "type": "thinking", "thinking": "I should listen." });
    if let Some(signature) = signature {
        thought["signature"] = json!(signature);
    }
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "test__test", "input": { "text": "a" } });
    answer(&json!([thought, call]), "tool_use")
}

fn reports() -> Reply {
    answer(
        &json!([{ "type": "text", "text": report_tag("pipe", "done") }]),
        "end_turn",
    )
}

fn run(models: &str, replies: impl IntoIterator<Item = Reply>) -> Outcome {
    let world = World::with_tools()
        .front(models)
        .config(&json!({ "providers": { "first": { "type": "anthropic" }, "second": { "type": "anthropic" } } }))
        .says(replies);
    world.run(&["--reasoning", "high"], "think").good()
}

/// The blocks of the message that the model is shown as its own.
fn own_blocks(outcome: &Outcome, request: usize) -> Vec<Value> {
    let messages = outcome.requests[request]["messages"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let own = messages
        .into_iter()
        .find(|message| message["role"] == "assistant");
    own.and_then(|message| message["content"].as_array().cloned())
        .unwrap_or_default()
}

#[test]
fn a_signed_thought_comes_back_before_its_call() {
    let outcome = run("models: first/a", [thinks(Some("sig")), reports()]);
    assert_eq!(outcome.requests[0].path, "/v1/messages");
    assert!(
        outcome.requests[0]["thinking"].is_object(),
        "{:?}",
        outcome.requests[0].body
    );
    let blocks = own_blocks(&outcome, 1);
    assert_eq!(blocks[0]["type"], "thinking");
    assert_eq!(blocks[0]["signature"], "sig");
    assert_eq!(blocks[1]["type"], "tool_use");
}

#[test]
fn a_signed_thought_goes_to_the_next_target_of_the_same_kind_too() {
    let replies = || [thinks(Some("sig")), refusal(500, "no"), reports()];
    let outcome = run("models: first/a, second/a", replies());
    assert_eq!(
        outcome.account_fields("llm", "provider"),
        ["first", "first", "second"]
    );
    assert_eq!(own_blocks(&outcome, 2)[0]["signature"], "sig");
    // Another model cannot read it.
    let outcome = run("models: first/a, second/b", replies());
    assert_eq!(own_blocks(&outcome, 2)[0]["type"], "tool_use");
}

#[test]
fn an_unsigned_thought_is_kept_in_the_conversation_and_not_sent_back() {
    let outcome = run("models: first/a", [thinks(None), reports()]);
    assert!(
        !own_blocks(&outcome, 1)
            .iter()
            .any(|block| block["type"] == "thinking")
    );
    assert_eq!(
        outcome.messages("assistant")[0]["reasoning"],
        "I should listen."
    );
}

#[test]
fn reasoning_alone_comes_back_to_its_provider_and_no_message_is_empty() {
    let world = World::new().says([reasoning("I should look.", ""), report("done")]);
    let outcome = world.run(&["--max-retries", "1"], "think").good();
    assert_eq!(outcome.result["turns"], 2);
    assert_eq!(outcome.account_fields("llm", "status"), ["ok", "ok"]);
    let kept = outcome.messages("assistant");
    assert_eq!(kept[0]["reasoning"], "I should look.");
    let sent = outcome.requests[1]["messages"].as_array().cloned();
    let sent = sent.unwrap_or_default();
    let own = sent.iter().find(|it| it["role"] == "assistant");
    assert_eq!(own.map(|it| &it["content"]), Some(&json!("I should look.")));
    assert!(sent.iter().all(|it| it["content"] != ""), "{sent:?}");
}

#[test]
fn a_streamed_thought_is_reasoning_and_no_part_of_the_report() {
    let piece = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let events = [
        piece(json!({ "reasoning_content": "hm, " })),
        piece(json!({ "reasoning_content": "yes" })),
        piece(json!({ "content": report_tag("pipe", "done") })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
    ];
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let world = World::new().says([raw(200, "text/event-stream", body + "data: [DONE]\n\n")]);
    let outcome = world.run(&["--stream"], "think").good();
    assert_eq!(outcome.requests[0]["stream"], true);
    assert_eq!(outcome.report()["content"], "done");
    assert_eq!(outcome.messages("assistant")[0]["reasoning"], "hm, yes");
}
