//! Replies on their way back: what a provider said comes back to it as it said it, and to another one as it can take it.

mod common;

use bonded_kernel::{Accepts, Dialect, Effort, Message, Reasoning, Reply, ThinkingForm};
use bonded_transport::{Credentials, Cut, Providers, Transport, dialect};
use bytes::Bytes;
use common::{Conversation, DIALECTS, answer, decoded, encoded, said, serve_once, tool, user};
use futures_util::stream;
use proptest::prelude::*;
use serde_json::{Value, json};

const TOOL: &str = "read";

fn conversation(dialect: Dialect, replies: &[Message]) -> Conversation {
    let mut conversation = Conversation::with("local", "http://localhost/v1");
    conversation.target.dialect = dialect;
    conversation.messages = vec![user("Go.")];
    for reply in replies {
        conversation.messages.push(reply.clone());
        if let Message::Assistant { calls, .. } = reply {
            let answers = calls.iter().map(|call| tool(&call.id, "done"));
            conversation.messages.extend(answers);
        }
    }
    conversation.messages.push(user("Go on."));
    conversation
}

fn streamed(dialect: Dialect, events: &[Value]) -> Reply {
    let text: String = events.iter().map(|it| format!("data: {it}\n\n")).collect();
    let pieces = stream::iter([Ok::<_, Cut>(Bytes::from(text))]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let reply = runtime.block_on(dialect::read_events(dialect, pieces));
    reply.expect("a reply")
}

mod messages {
    use super::*;

    pub(super) fn whole(blocks: &[Value]) -> Value {
        json!({"id": "msg", "model": "m", "content": blocks, "stop_reason": "tool_use"})
    }

    fn events(blocks: &[Value]) -> Vec<Value> {
        let mut events = vec![json!({"type": "message_start", "message": {"id": "msg"}})];
        for (index, block) in blocks.iter().enumerate() {
            let (begun, deltas) = pieces(block);
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": begun}),
            );
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    /// How a block begins and grows.
    fn pieces(block: &Value) -> (Value, Vec<Value>) {
        match block["type"].as_str() {
            Some("text") => (
                json!({"type": "text", "text": ""}),
                vec![json!({"type": "text_delta", "text": block["text"]})],
            ),
            Some("thinking") => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![
                    json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                    json!({"type": "signature_delta", "signature": block["signature"]}),
                ],
            ),
            Some("tool_use") => (
                json!({"type": "tool_use", "id": block["id"], "name": TOOL, "input": {}}),
                vec![json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"})],
            ),
            _ => (block.clone(), vec![]),
        }
    }

    fn block() -> impl Strategy<Value = Value> {
        prop_oneof![
            "[a-zé🦀]{1,6}".prop_map(|text| json!({"type": "text", "text": text})),
            ("[a-z]{0,6}", "[A-Za-z0-9+/]{1,8}").prop_map(|(text, signature)| json!(
                {"type": "thinking", "thinking": text, "signature": signature})),
            "[A-Za-z0-9]{1,8}".prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
            Just(json!({"type": "tool_use", "name": TOOL, "input": {"path": "a"}})),
        ]
    }

    /// Blocks whose calls have ids, and at whose end no thought stands: that one could not go back.
    fn blocks() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec(block(), 1..9).prop_map(|mut blocks| {
            for (nth, block) in blocks.iter_mut().enumerate() {
                if block["type"] == "tool_use" {
                    block["id"] = json!(format!("toolu_{nth}"));
                }
            }
            blocks.push(json!({"type": "text", "text": "end"}));
            blocks
        })
    }

    proptest! {
        #[test]
        fn blocks_come_back_as_they_came(blocks in blocks()) {
            for reply in [
                decoded(Dialect::Messages, &whole(&blocks)),
                streamed(Dialect::Messages, &events(&blocks)),
            ] {
                let body = encoded(&conversation(Dialect::Messages, &[said(reply)]));
                prop_assert_eq!(&body["messages"][1]["content"], &json!(blocks));
            }
        }
    }
}

mod gemini {
    use super::*;

    pub(super) fn whole(parts: &[Value]) -> Value {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})
    }

    fn part() -> impl Strategy<Value = Value> {
        // The service gives bytes, which JSON has in base64.
        let signature = || prop::option::of("([A-Za-z0-9+/]{4}){1,2}");
        let signed = |mut part: Value, signature: Option<String>| {
            if let Some(signature) = signature {
                part["thoughtSignature"] = json!(signature);
            }
            part
        };
        prop_oneof![
            ("[a-zé🦀]{0,6}", signature())
                .prop_map(move |(text, it)| signed(json!({"text": text}), it)),
            ("[a-z]{1,6}", signature())
                .prop_map(move |(text, it)| signed(json!({"text": text, "thought": true}), it)),
            (any::<bool>(), signature()).prop_map(move |(has_id, it)| {
                let mut call = json!({"name": TOOL, "args": {"path": "a"}});
                if has_id {
                    call["id"] = json!("");
                }
                signed(json!({"functionCall": call}), it)
            }),
        ]
    }

    fn parts() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec(part(), 1..9).prop_map(|mut parts| {
            for (nth, part) in parts.iter_mut().enumerate() {
                if let Some(id) = part.pointer_mut("/functionCall/id") {
                    *id = json!(format!("fc-{nth}"));
                }
            }
            parts
        })
    }

    /// What must come back: a thought only if it is signed, and a text that came in pieces as one.
    fn returned(parts: &[Value]) -> Vec<Value> {
        let mut returned: Vec<Value> = vec![];
        for part in parts {
            let is_signed = part.get("thoughtSignature").is_some();
            let is_plain = part.get("text").is_some() && !is_signed;
            if is_plain && (part["thought"] == true || part["text"] == "") {
                continue;
            }
            match returned.last_mut() {
                Some(last)
                    if is_plain
                        && last.get("text").is_some()
                        && last.get("thoughtSignature").is_none() =>
                {
                    let both = [last["text"].as_str(), part["text"].as_str()];
                    let both: String = both.into_iter().flatten().collect();
                    last["text"] = json!(both);
                }
                _ => returned.push(part.clone()),
            }
        }
        returned
    }

    proptest! {
        #[test]
        fn parts_come_back_as_they_came(parts in parts()) {
            let events: Vec<Value> = parts.iter().map(|part| whole(std::slice::from_ref(part))).collect();
            for reply in [
                decoded(Dialect::Gemini, &whole(&parts)),
                streamed(Dialect::Gemini, &events),
            ] {
                let body = encoded(&conversation(Dialect::Gemini, &[said(reply)]));
                let returned = returned(&parts);
                let model = &body["contents"][1];
                if returned.is_empty() {
                    prop_assert_eq!(&model["role"], &json!(null), "{}", body);
                } else {
                    prop_assert_eq!(&model["parts"], &json!(returned));
                }
            }
        }
    }
}

#[test]
fn a_text_that_was_masked_stands_whole_where_the_first_one_stood() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "Eq"});
    let blocks = [
        thought.clone(),
        json!({"type": "text", "text": "the key is sk-1"}),
        thought.clone(),
        json!({"type": "text", "text": "so"}),
        json!({"type": "tool_use", "id": "c1", "name": TOOL, "input": {}}),
    ];
    let mut reply = decoded(Dialect::Messages, &messages::whole(&blocks));
    reply.text = reply.text.replace("sk-1", "***masked***");
    let body = encoded(&conversation(Dialect::Messages, &[said(reply)]));
    let expected = json!([
        thought,
        {"type": "text", "text": "the key is ***masked***so"},
        thought,
        blocks[4],
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
}

/// A reply with thoughts between its words and two calls, of which `secret` marks what only this provider can read.
fn thoughtful(dialect: Dialect, secret: &str) -> Reply {
    let whole = match dialect {
        Dialect::Chat => json!({"choices": [{"finish_reason": "tool_calls", "message": {
        "content": "I look.",
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": secret}],
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": TOOL, "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {"name": TOOL, "arguments": "{}"}},
        ]}}]}),
        Dialect::Responses => json!({"status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": secret},
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": TOOL, "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": TOOL, "arguments": "{}"}]}),
        Dialect::Messages => messages::whole(&[
            json!({"type": "thinking", "thinking": "hm", "signature": secret}),
            json!({"type": "text", "text": "I look."}),
            json!({"type": "redacted_thinking", "data": secret}),
            json!({"type": "tool_use", "id": "c1", "name": TOOL, "input": {}}),
            json!({"type": "tool_use", "id": "c2", "name": TOOL, "input": {}}),
        ]),
        Dialect::Gemini => gemini::whole(&[
            json!({"text": "hm", "thought": true}),
            json!({"text": "I look.", "thoughtSignature": secret}),
            json!({"functionCall": {"id": "c1", "name": TOOL, "args": {}}, "thoughtSignature": secret}),
            json!({"functionCall": {"id": "c2", "name": TOOL, "args": {}}}),
        ]),
    };
    decoded(dialect, &whole)
}

/// What a body says of the model's turn, in short: `t` a text, `c` a call, `r` an answer, `k` what was kept.
fn told(dialect: Dialect, body: &Value) -> String {
    let list = |value: &Value, at: &str| value[at].as_array().cloned().unwrap_or_default();
    let mut told = String::new();
    match dialect {
        Dialect::Chat => {
            for message in list(body, "messages") {
                match message["role"].as_str() {
                    Some("assistant") => {
                        told.push('t');
                        told.extend(list(&message, "tool_calls").iter().map(|_| 'c'));
                    }
                    Some("tool") => told.push('r'),
                    _ => {}
                }
            }
        }
        Dialect::Responses => {
            let items = list(body, "input");
            told.extend(items.iter().filter_map(|it| match it["type"].as_str() {
                Some("function_call") => Some('c'),
                Some("function_call_output") => Some('r'),
                Some("reasoning") => Some('k'),
                _ => (it["role"] == "assistant").then_some('t'),
            }));
        }
        Dialect::Messages => {
            for turn in list(body, "messages") {
                let blocks = list(&turn, "content");
                told.extend(blocks.iter().filter_map(|it| match it["type"].as_str() {
                    Some("tool_use") => Some('c'),
                    Some("tool_result") => Some('r'),
                    Some("text") => (turn["role"] == "assistant").then_some('t'),
                    _ => Some('k'),
                }));
            }
        }
        Dialect::Gemini => {
            for content in list(body, "contents") {
                let parts = list(&content, "parts");
                told.extend(parts.iter().filter_map(|it| {
                    let is = |key: &str| it.get(key).is_some();
                    match (is("functionCall"), is("functionResponse")) {
                        (true, _) => Some('c'),
                        (_, true) => Some('r'),
                        _ => (content["role"] == "model").then_some('t'),
                    }
                }));
            }
        }
    }
    told
}

#[test]
fn what_another_provider_said_goes_on_without_what_only_that_one_can_read() {
    const SECRET: &str = "only-for-me";
    for (origin, from) in DIALECTS {
        for (dialect, to) in DIALECTS {
            for form in [ThinkingForm::Budget, ThinkingForm::Adaptive] {
                let mut reply = thoughtful(origin, SECRET);
                // Another provider and model may speak the same dialect.
                let rest = reply.signed.as_deref().and_then(|it| it.strip_prefix('{'));
                reply.signed =
                    rest.map(|rest| format!("{{\"provider\":\"other\",\"model\":\"other\",{rest}"));
                assert!(reply.signed.is_some(), "{from} keeps something");
                let mut conversation = conversation(dialect, &[said(reply)]);
                conversation.target.model = "gemini-3-pro".into();
                conversation.target.sampling.reasoning = Some(Reasoning::High);
                conversation.output_tokens_max = 32_768;
                conversation.target.accepts = Some(Box::new(Accepts {
                    thinking: form,
                    efforts: vec![Effort::Low, Effort::High],
                    ..Accepts::default()
                }));
                let body = encoded(&conversation);
                let what = format!("{from} to {to}: {body}");
                assert!(!body.to_string().contains(SECRET), "{what}");
                assert_eq!(told(dialect, &body), "tccrr", "{what}");
                if dialect == Dialect::Gemini {
                    let parts = &body["contents"][1]["parts"];
                    let foreign = json!("skip_thought_signature_validator");
                    assert_eq!(parts[1]["thoughtSignature"], foreign, "{what}");
                    assert_eq!(parts[2].get("thoughtSignature"), None, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_call_that_was_dropped_takes_its_mark_with_it() {
    let reply = thoughtful(Dialect::Gemini, "s1g");
    let Message::Assistant {
        text,
        reasoning,
        signed,
        calls,
    } = said(reply)
    else {
        unreachable!("the model said it")
    };
    let kept = Message::Assistant {
        text,
        reasoning,
        signed,
        calls: calls[1..].to_vec(),
    };
    let body = encoded(&conversation(Dialect::Gemini, &[kept]));
    let expected = json!([
        {"text": "I look.", "thoughtSignature": "s1g"},
        {"functionCall": {"id": "c2", "name": TOOL, "args": {}}},
    ]);
    assert_eq!(body["contents"][1]["parts"], expected);
}

#[tokio::test]
async fn what_is_kept_names_the_provider_and_the_model_that_want_it_back() {
    let whole = messages::whole(&[
        json!({"type": "thinking", "thinking": "hm", "signature": "Eq"}),
        json!({"type": "text", "text": "ok"}),
    ]);
    let kind = "content-type: application/json\r\n";
    let (endpoint, _server) = serve_once(answer("200 OK", kind, &whole.to_string())).await;
    let providers = Providers::new(|_| Credentials::default());
    let mut conversation = Conversation::with("local", &endpoint);
    conversation.target.dialect = Dialect::Messages;
    let reply = providers.send(&conversation.request()).await;
    let expected = r#"{"provider":"local","model":"m-1","dialect":"messages","items":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}"#;
    let signed = reply.map(|reply| reply.signed);
    assert_eq!(signed, Ok(Some(expected.into())));
}

/// What a model only thought is not lost: it goes back as its provider takes it, and nothing goes back that it refuses.
#[test]
fn a_reply_of_reasoning_alone_goes_back_as_its_provider_takes_it() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let reply = decoded(
        Dialect::Messages,
        &messages::whole(std::slice::from_ref(&thinking)),
    );
    let body = encoded(&conversation(Dialect::Messages, &[said(reply)]));
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0], thinking, "{body}");
    assert_eq!(
        content[1]["type"], "text",
        "a turn does not end with a thought"
    );
    assert!(
        content[1]["text"]
            .as_str()
            .is_some_and(|text| !text.trim().is_empty())
    );

    let thought = |reasoning: &str| {
        said(Reply {
            reasoning: reasoning.into(),
            ..Reply::default()
        })
    };
    let chat = |reasoning: &str, model: &str| {
        let mut conversation = conversation(Dialect::Chat, &[thought(reasoning)]);
        conversation.target.model = model.into();
        encoded(&conversation)["messages"].clone()
    };
    let own = |messages: &Value| -> Vec<Value> {
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages
            .into_iter()
            .filter(|it| it["role"] == "assistant")
            .collect()
    };
    let said = own(&chat("I should look.", "gpt-4o"));
    assert_eq!(said[0]["content"], "I should look.");
    let said = own(&chat("I should look.", "deepseek-reasoner"));
    assert_eq!(said[0]["reasoning_content"], "I should look.");
    assert_eq!(
        own(&chat("", "gpt-4o")),
        [] as [Value; 0],
        "no empty message"
    );
}
