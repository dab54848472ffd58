//! Requests as they go out.

mod common;

use bonded_transport::dialect::chat::{self, ToolsCache};
use common::{Conversation, assistant, tool, user};
use serde_json::{Value, json};

fn encoded(conversation: &Conversation) -> Value {
    serde_json::from_slice(&chat::encode(&conversation.request())).expect("JSON")
}

fn full_conversation() -> Conversation {
    let mut conversation = Conversation::with("lmstudio", "http://localhost:1234/v1");
    conversation.messages = vec![
        user("Read \"a\"\n\u{1}🦀"),
        assistant(
            "",
            &[
                ("c1", "read", r#"{"path":"a"}"#),
                ("c2", "read", r#"{"path": "é"}"#),
            ],
        ),
        tool("c1", "one"),
        tool("c2", "(tool failed: gone)"),
        assistant("Nothing more.", &[]),
        assistant("", &[]),
    ];
    conversation.notices = vec!["First notice.".into(), "Second notice.".into()];
    conversation
}

#[test]
fn a_conversation_is_written_in_order_with_notices_last() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read \"a\"\n\u{1}🦀"},
        {"role": "assistant", "content": null, "tool_calls": [call("c1", r#"{"path":"a"}"#), call("c2", r#"{"path": "é"}"#)]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "(tool failed: gone)"},
        {"role": "assistant", "content": "Nothing more."},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "First notice.\nSecond notice."},
    ]);
    assert_eq!(encoded(&full_conversation())["messages"], expected);
}

#[test]
fn the_settings_of_a_target_reach_the_wire() {
    let cases = [
        ("lmstudio", false, None, json!({"max_tokens": 256})),
        ("openai", false, None, json!({"max_completion_tokens": 256})),
        (
            "vllm",
            false,
            Some(0.5),
            json!({"max_tokens": 256, "temperature": 0.5}),
        ),
        ("vllm", false, Some(f64::NAN), json!({"max_tokens": 256})),
        (
            "openrouter",
            true,
            Some(0.0),
            json!({"max_tokens": 256, "temperature": 0.0, "stream": true, "stream_options": {"include_usage": true}}),
        ),
    ];
    for (provider, stream, temperature, expected) in cases {
        let mut conversation = Conversation::with(provider, "http://localhost/v1");
        conversation.target.stream = stream;
        conversation.temperature = temperature;
        let mut body = encoded(&conversation);
        let fields = body.as_object_mut().expect("an object");
        assert_eq!(fields.remove("model"), Some(json!("m-1")));
        fields.remove("messages");
        fields.remove("tools");
        assert_eq!(body, expected, "{provider}");
    }
}

#[test]
fn every_tool_of_the_catalogue_is_offered_with_its_schema() {
    let conversation = Conversation::with("vllm", "http://localhost/v1");
    let expected: Vec<Value> = conversation
        .catalog
        .specs()
        .map(|spec| {
            let function = json!({"name": spec.name, "description": spec.description, "parameters": spec.schema});
            json!({"type": "function", "function": function})
        })
        .collect();
    assert_eq!(expected.len(), 2, "read and done");
    assert_eq!(encoded(&conversation)["tools"], Value::Array(expected));
}

#[test]
fn cached_tools_give_the_same_bytes() {
    let cache = ToolsCache::default();
    let conversation = full_conversation();
    let request = conversation.request();
    for _ in 0..2 {
        let tools = cache.tools(request.catalog);
        assert_eq!(
            chat::encode_with_tools(&request, &tools),
            chat::encode(&request)
        );
    }
}
