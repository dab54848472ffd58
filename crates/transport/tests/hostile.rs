//! Whatever a server sends, reading it ends in a reply or a failure.

mod common;

use bonded_kernel::Dialect;
use bonded_transport::dialect::{self, accumulator};
use bonded_transport::{Cut, Script};
use bytes::Bytes;
use common::DIALECTS;
use futures_util::stream;
use proptest::prelude::*;
use tokio::runtime::Builder;

fn read_stream(dialect: Dialect, pieces: &[Vec<u8>]) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let pieces: Vec<Result<Bytes, Cut>> = pieces
        .iter()
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    // Either outcome will do; a panic would not.
    let _ = runtime.block_on(dialect::read_events(dialect, stream::iter(pieces)));
}

/// Words that choose what the rest of an event is read as.
const KINDS: [&str; 11] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "tool_use",
    "response.completed",
    "response.output_item.done",
    "function_call",
    "reasoning",
    "error",
];

/// Something like the values that a reply holds, in places where they do not belong.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("1e400".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just(r#""\ud83d""#.to_owned()),
        Just(r#""stop""#.to_owned()),
        prop::sample::select(KINDS.to_vec()).prop_map(|kind| format!("{kind:?}")),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        "[a-z{}\"\\\\]{0,8}".prop_map(|text| format!("{text:?}")),
    ];
    let keys = [
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "usage",
        "prompt_tokens",
        "error",
        "finish_reason",
        "code",
        "text",
        "type",
        "content_block",
        "thinking",
        "signature",
        "input",
        "partial_json",
        "response",
        "item",
        "output",
        "summary",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "usageMetadata",
        "details",
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let pair = (prop::sample::select(keys.to_vec()), inner.clone());
        let pair = pair.prop_map(|(key, value)| format!("{key:?}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|list| format!("[{}]", list.join(","))),
            prop::collection::vec(pair, 0..6).prop_map(|list| format!("{{{}}}", list.join(","))),
        ]
    })
}

/// A value by itself, and inside what each dialect puts around such values.
fn frames(value: &str) -> Vec<String> {
    let kinds = KINDS.iter().map(|kind| {
        format!(r#"{{"type":"{kind}","index":0,"message":{value},"content_block":{value},"delta":{value},"response":{value},"item":{value}}}"#)
    });
    let own = [
        value.to_owned(),
        format!(r#"{{"choices":[{{"delta":{value}}}]}}"#),
        format!(r#"{{"choices":[{{"message":{value}}}]}}"#),
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{value}]}}}}]}}"#),
        format!(r#"{{"content":[{value}],"output":[{value}]}}"#),
        format!(r#"{{"candidates":[{{"content":{{"parts":[{value}]}}}}]}}"#),
    ];
    own.into_iter().chain(kinds).collect()
}

fn push_all(dialect: Dialect, values: &[String]) {
    let mut reply = accumulator(dialect);
    for body in values.iter().flat_map(|value| frames(value)) {
        let _ = reply.push(&body);
    }
    let _ = reply.finish();
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        body in prop::collection::vec(any::<u8>(), 0..400),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        for (dialect, _) in DIALECTS {
            let _ = dialect::decode(dialect, &body);
            read_stream(dialect, &[body.clone(), rest.clone()]);
        }
    }

    #[test]
    fn replies_with_everything_in_the_wrong_place_never_panic(values in prop::collection::vec(value(), 1..6)) {
        for (dialect, _) in DIALECTS {
            for value in &values {
                for body in frames(value) {
                    let _ = dialect::decode(dialect, body.as_bytes());
                }
            }
        }
        for (dialect, _) in DIALECTS {
            push_all(dialect, &values);
        }
    }

    #[test]
    fn random_scripts_never_panic(text in any::<String>(), values in prop::collection::vec(value(), 0..4)) {
        for text in [text, values.join("\n")] {
            if let Ok(script) = Script::parse("random", &text) {
                script.play(0, "");
            }
        }
    }
}

#[test]
fn deep_nesting_is_malformed_and_does_not_end_the_process() {
    for opening in [
        "[",
        "{\"choices\":",
        "{\"usage\":{\"a\":",
        "{\"content\":[",
        "{\"output\":[{\"arguments\":",
        "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"args\":",
        "{\"choices\":[{\"delta\":{\"content\":[",
    ] {
        let body = opening.repeat(200_000);
        for (dialect, _) in DIALECTS {
            assert!(dialect::decode(dialect, body.as_bytes()).is_err());
        }
    }
}

/// Pushes events until one is refused; gives what was said then.
fn pushed_until_refused(dialect: Dialect, event: impl Fn(u32) -> String) -> Option<String> {
    let mut reply = accumulator(dialect);
    let refused = (0..100_000).find_map(|index| reply.push(&event(index)).err());
    refused.map(|failure| failure.message)
}

#[test]
fn a_stream_of_countless_calls_is_given_up() {
    let refusals = [
        pushed_until_refused(Dialect::Chat, |index| {
            let call =
                format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"read"}}}}"#);
            format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)
        }),
        pushed_until_refused(Dialect::Messages, |index| {
            format!(
                r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use"}}}}"#
            )
        }),
        pushed_until_refused(Dialect::Responses, |_| {
            r#"{"type":"response.output_item.done","item":{"type":"function_call"}}"#.into()
        }),
        pushed_until_refused(Dialect::Gemini, |_| {
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read"}}]}}]}"#.into()
        }),
    ];
    for refusal in refusals {
        assert!(refusal.is_some_and(|said| said.contains("more than 1024")));
    }
}

#[test]
fn a_failure_quotes_little_of_a_huge_reply() {
    let huge = "x ".repeat(1_000_000);
    let bodies = [
        format!(r#"{{"choices":"{huge}"}}"#),
        format!(r#"{{"error":"{huge}"}}"#),
        format!(r#"{{"error":["{huge}"]}}"#),
        huge,
    ];
    for body in bodies {
        for (dialect, _) in DIALECTS {
            let failure = dialect::decode(dialect, body.as_bytes()).expect_err("no reply");
            let bytes = failure.message.len();
            assert!(bytes < 1000, "{bytes} bytes");
        }
    }
}
