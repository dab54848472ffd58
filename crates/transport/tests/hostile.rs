//! Whatever a server sends, reading it ends in a reply or a failure.

use bonded_transport::dialect::chat::{self, Accumulator};
use bonded_transport::{Cut, Script};
use bytes::Bytes;
use futures_util::stream;
use proptest::prelude::*;
use tokio::runtime::Builder;

fn read_stream(pieces: &[Vec<u8>]) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let pieces: Vec<Result<Bytes, Cut>> = pieces
        .iter()
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    // Either outcome will do; a panic would not.
    let _ = runtime.block_on(chat::read_events(stream::iter(pieces)));
}

/// Something like the values that a reply holds, in places where they do not belong.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("1e400".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just(r#""\ud83d""#.to_owned()),
        Just(r#""stop""#.to_owned()),
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

proptest! {
    #[test]
    fn random_bytes_never_panic(
        body in prop::collection::vec(any::<u8>(), 0..400),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = chat::decode(&body);
        read_stream(&[body, rest]);
    }

    #[test]
    fn replies_with_everything_in_the_wrong_place_never_panic(values in prop::collection::vec(value(), 1..6)) {
        let mut reply = Accumulator::default();
        for value in &values {
            let choice = format!(r#"{{"choices":[{{"delta":{value}}}]}}"#);
            let call = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{value}]}}}}]}}"#);
            let _ = chat::decode(value.as_bytes());
            let _ = chat::decode(choice.replace("delta", "message").as_bytes());
            let _ = reply.push(value);
            let _ = reply.push(&choice);
            let _ = reply.push(&call);
        }
        let _ = reply.finish();
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
        "{\"choices\":[{\"delta\":{\"content\":[",
    ] {
        let body = opening.repeat(200_000);
        assert!(chat::decode(body.as_bytes()).is_err());
    }
}

#[test]
fn a_stream_of_countless_calls_is_given_up() {
    let mut reply = Accumulator::default();
    let mut outcome = Ok(());
    for index in 0..100_000 {
        let call = format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"read"}}}}"#);
        let data = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#);
        outcome = reply.push(&data);
        if outcome.is_err() {
            break;
        }
    }
    assert!(outcome.is_err_and(|failure| failure.message.contains("more than 1024 calls")));
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
        let failure = chat::decode(body.as_bytes()).expect_err("no reply");
        assert!(
            failure.message.len() < 1000,
            "{} bytes",
            failure.message.len()
        );
    }
}
