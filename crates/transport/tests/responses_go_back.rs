//! A reply of the responses goes back as it came: the same items in the same order.

mod common;

use bonded_kernel::{Dialect, Message, Reply};
use common::{Conversation, encoded, user};
use proptest::prelude::*;
use serde_json::{Value, json};

fn decoded(output: &[Value]) -> Reply {
    let whole = json!({"status": "completed", "output": output});
    common::decoded(Dialect::Responses, &whole)
}

/// The items that stand for a message in the next request.
fn sent(message: Message) -> Vec<Value> {
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.target.dialect = Dialect::Responses;
    it.messages = vec![user("first"), message];
    encoded(&it)["input"].as_array().expect("items")[1..].to_vec()
}

fn thought(n: usize) -> Value {
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": summary, "encrypted_content": "gA="})
}

fn said(n: usize, text: &str, phase: Option<&str>) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let mut item = json!({"type": "message", "id": format!("msg_{n}"), "role": "assistant",
        "status": "completed", "content": content});
    if let Some(phase) = phase {
        item["phase"] = phase.into();
    }
    item
}

fn called(n: usize) -> Value {
    json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
        "name": "read", "arguments": "{}", "status": "completed"})
}

/// An item as it is wanted back where nothing is stored.
fn wanted(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("message") => {
            let text = &item["content"][0]["text"];
            match item.get("phase") {
                Some(phase) => json!({"role": "assistant", "content": text, "phase": phase}),
                None => json!({"role": "assistant", "content": text}),
            }
        }
        Some("function_call") => json!({"type": "function_call", "call_id": item["call_id"],
            "name": item["name"], "arguments": item["arguments"]}),
        _ => item.clone(),
    }
}

#[test]
fn reasoning_that_cannot_be_found_again_or_that_nothing_follows_stays_away() {
    let stored = json!({"type": "reasoning", "id": "rs_9", "summary": []});
    let output = [stored, said(1, "a", None), thought(2)];
    assert_eq!(sent(common::said(decoded(&output))), [wanted(&output[1])]);
    assert_eq!(sent(common::said(decoded(&[thought(1)]))), [] as [Value; 0]);
}

#[test]
fn a_call_that_is_not_shown_any_more_leaves_the_rest_in_its_order() {
    let output = [
        thought(1),
        called(1),
        said(2, "b", Some("commentary")),
        thought(3),
        called(3),
    ];
    let mut message = common::said(decoded(&output));
    if let Message::Assistant { calls, .. } = &mut message {
        calls.remove(0);
    }
    let expected = [&output[0], &output[2], &output[3], &output[4]].map(wanted);
    assert_eq!(sent(message), expected);
}

fn any_item() -> impl Strategy<Value = fn(usize) -> Value> {
    prop_oneof![
        Just(thought as fn(usize) -> Value),
        Just(called as fn(usize) -> Value),
        Just((|n| said(n, "é one", None)) as fn(usize) -> Value),
        Just((|n| said(n, "two", Some("commentary"))) as fn(usize) -> Value),
        Just((|n| said(n, "three", Some("final_answer"))) as fn(usize) -> Value),
    ]
}

proptest! {
    #[test]
    fn whatever_the_order_of_the_items_it_stays(items in prop::collection::vec(any_item(), 1..9)) {
        let output: Vec<Value> = items.iter().enumerate().map(|(n, item)| item(n)).collect();
        let spoken = output.iter().rposition(|item| item["type"] != "reasoning");
        let expected: Vec<Value> = output[..spoken.map_or(0, |at| at + 1)].iter().map(wanted).collect();
        prop_assert_eq!(sent(common::said(decoded(&output))), expected);
    }
}
