//! When the messages dialect lets a model think: never so that the provider would refuse the request.

mod common;

use bonded_kernel::{Dialect, Message, Reasoning};
use common::{Conversation, assistant, encoded, signed, tool, user};
use serde_json::Value;

const SIGNED: &str =
    r#"{"dialect":"messages","items":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}"#;
const FOREIGN: &str = r#"{"dialect":"responses","items":[{"type":"reasoning"}]}"#;
const CALL: [(&str, &str, &str); 1] = [("c1", "read", "{}")];

/// An assistant's message with calls that no thought precedes.
fn silent_call() -> Message {
    match assistant("", &CALL) {
        Message::Assistant {
            text,
            signed,
            calls,
            ..
        } => Message::Assistant {
            text,
            reasoning: "".into(),
            signed,
            calls,
        },
        other => other,
    }
}

fn body(messages: Vec<Message>) -> Value {
    let mut conversation = Conversation::with("anthropic", "http://localhost/v1");
    conversation.target.dialect = Dialect::Messages;
    conversation.target.sampling.reasoning = Some(Reasoning::High);
    conversation.output_tokens_max = 32_768;
    conversation.messages = messages;
    encoded(&conversation)
}

#[test]
fn thinking_is_off_only_while_calls_without_a_signed_thought_are_answered() {
    let first = || signed("", SIGNED, &CALL);
    let cases: [(&str, Vec<Message>, bool); 9] = [
        ("nothing called", vec![user("a")], true),
        ("signed", vec![user("a"), first(), tool("c1", "1")], true),
        (
            "unsigned",
            vec![user("a"), assistant("", &CALL), tool("c1", "1")],
            false,
        ),
        (
            "foreign",
            vec![user("a"), signed("", FOREIGN, &CALL), tool("c1", "1")],
            false,
        ),
        (
            "without a thought",
            vec![user("a"), silent_call(), tool("c1", "1")],
            false,
        ),
        (
            "signed, then without a thought",
            vec![
                user("a"),
                first(),
                tool("c1", "1"),
                silent_call(),
                tool("c1", "2"),
            ],
            true,
        ),
        (
            "signed, then unsigned",
            vec![
                user("a"),
                first(),
                tool("c1", "1"),
                assistant("", &CALL),
                tool("c1", "2"),
            ],
            false,
        ),
        (
            "unsigned, and the user speaks at once",
            vec![user("a"), assistant("", &CALL), tool("c1", "1"), user("b")],
            false,
        ),
        (
            "unsigned long ago",
            vec![
                user("a"),
                assistant("", &CALL),
                tool("c1", "1"),
                assistant("ok", &[]),
                user("b"),
                first(),
                tool("c1", "2"),
            ],
            true,
        ),
    ];
    for (name, messages, thinks) in cases {
        let count = messages.len();
        let body = body(messages);
        let kind = if thinks { "enabled" } else { "disabled" };
        assert_eq!(body["thinking"]["type"], kind, "{name}");
        assert_eq!(body.get("temperature"), None, "{name}");
        let kept = body["messages"].as_array().map_or(0, Vec::len);
        assert!(kept + 1 >= count, "{name}: the transcript is kept: {body}");
        let replays = body.to_string().contains("\"signature\"");
        assert!(
            thinks || !replays,
            "{name}: thoughts come back only while thinking is on"
        );
    }
}
