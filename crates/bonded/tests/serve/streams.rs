//! Answers that come piece by piece.

use serde_json::{Value, json};

use crate::place::{Place, call};
use crate::served::{Served, question, question_with, report};

fn served() -> Served {
    let mut musing = call("nothing", json!({}));
    musing["text"] = "my secret thoughts".into();
    Served::start(&[("a", vec![musing, report("Because.")])], &[])
}

fn deltas<'e>(events: &'e [Value], field: &str) -> Vec<&'e str> {
    let texts = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"][field].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn a_streamed_chat_has_a_beginning_the_report_an_end_and_nothing_else() {
    let reply = served().chat(&question_with("a", "stream", true));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert!(reply.body.ends_with("data: [DONE]\n\n"), "{reply:?}");
    assert!(!reply.body.contains("secret"), "{reply:?}");
    let events = reply.events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(deltas(&events, "content"), ["Because."]);
    assert_eq!(deltas(&events, "reasoning_content"), [""; 0]);
    assert_eq!(
        events.last().expect("there is an end")["choices"][0]["finish_reason"],
        "stop"
    );
    assert!(events.iter().all(|event| event.get("usage").is_none()));
    let run = reply.header("x-bonded-run").expect("the run is named");
    assert!(
        events
            .iter()
            .all(|event| event["id"] == format!("chatcmpl-{run}"))
    );
}

#[test]
fn a_streamed_chat_tells_usage_and_progress_only_where_they_are_asked_for() {
    let mut asked = question("a");
    asked["stream"] = true.into();
    asked["stream_options"] = json!({ "include_usage": true, "include_progress": true });
    let reply = served().chat(&asked);
    assert!(!reply.body.contains("secret"), "{reply:?}");
    let events = reply.events();
    let progress = deltas(&events, "reasoning_content");
    assert_eq!(
        progress,
        ["turn 1\n", "turn 2\n", "turn 2: agent__final_report\n"]
    );
    let (last, before) = events.split_last().expect("there are events");
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["total_tokens"].as_u64() > Some(0), "{last}");
    assert!(before.iter().all(|event| event["usage"].is_null()));
}

#[test]
fn a_streamed_response_has_the_events_that_clients_wait_for_in_their_order() {
    let asked = json!({ "model": "a", "input": "why?", "stream": true });
    let reply = served().post("/v1/responses", &asked);
    assert!(!reply.body.contains("secret"), "{reply:?}");
    let events = reply.events();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    for (number, kind) in kinds.iter().enumerate() {
        assert_eq!(events[number]["sequence_number"], number);
        assert!(
            reply.body.contains(&format!("event: {kind}\ndata: ")),
            "{kind}"
        );
    }
    assert_eq!(
        events[8]["response"]["output"][0]["content"][0]["text"],
        "Because."
    );
}

#[test]
fn a_stream_whose_run_fails_ends_with_the_error() {
    let lines = vec![json!({ "fail": "auth", "message": "bad key" })];
    let served = Served::start(&[("a", lines)], &[]);
    let reply = served.chat(&question_with("a", "stream", true));
    let events = reply.events();
    let last = events.last().expect("there are events");
    assert_eq!(last["error"]["code"], "provider_auth", "{last}");
    assert!(!reply.body.contains("[DONE]"), "{reply:?}");

    let asked = json!({ "model": "a", "input": "why?", "stream": true });
    let events = served.post("/v1/responses", &asked).events();
    let last = events.last().expect("there are events");
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["error"]["code"], "provider_auth", "{last}");
}

#[test]
fn a_stream_that_has_nothing_to_tell_is_kept_alive() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 10_500.into();
    let served = Served::start(&[("a", vec![slow])], &[]);
    let reply = served.chat(&question_with("a", "stream", true));
    assert_eq!(
        reply.body.matches(": the run continues\n\n").count(),
        1,
        "{reply:?}"
    );
    assert_eq!(deltas(&reply.events(), "content"), ["Because."]);
}

#[test]
fn a_client_that_wants_progress_is_told_what_the_agent_says_of_its_own() {
    let place = Place::new();
    let telling = call(
        "agent__progress_report",
        json!({ "progress": "reading the mail" }),
    );
    place.agent("a", &[telling, report("Because.")], "tools: read");
    let served = Served::start_in(place, &["a"], &[]);
    let mut asked = question("a");
    asked["stream"] = true.into();
    asked["stream_options"] = json!({ "include_progress": true });
    let reply = served.chat(&asked);
    let events = reply.events();
    let told = deltas(&events, "reasoning_content");
    assert!(told.contains(&"turn 1: reading the mail\n"), "{told:?}");
}
