//! Questions that are answered.

use bonded_kernel::Image;
use serde_json::{Value, json};

use crate::place::{Place, call};
use crate::served::{Served, question, report};

/// One pixel, as tools that draw write it.
const PIXEL: &[u8] = include_bytes!("../../../../fuzz/seeds/image/pixel.png");

#[test]
fn the_server_is_healthy_and_its_models_are_the_agents_numbered_where_they_share_a_name() {
    let place = Place::new();
    place.agent("one", &[report("1")], "toolName: same");
    place.agent("two", &[report("2")], "toolName: same");
    place.agent("three", &[report("3")], "");
    let served = Served::start_in(place, &["one", "two", "three"], &[]);
    assert_eq!(served.get("/health").json(), json!({ "status": "ok" }));

    let models = served.get("/v1/models").json();
    let ids: Vec<&str> = models["data"]
        .as_array()
        .expect("the models are a list")
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(ids, ["same", "same-2", "three"]);
    assert_eq!(served.get("/v1/models/same-2").json()["object"], "model");
    let answer = served.chat(&question("same-2")).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "2");
}

#[test]
fn a_chat_is_answered_with_the_report_what_it_used_and_the_run_that_made_it() {
    let mut musing = call("nothing", json!({}));
    musing["text"] = "my secret thoughts".into();
    musing["usage"] = json!({ "input": 5, "output": 2 });
    let served = Served::start(&[("a", vec![musing, report("Because.")])], &[]);
    let reply = served.chat(&question("a"));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(!reply.body.contains("secret"), "{reply:?}");

    let answer = reply.json();
    let run = reply.header("x-bonded-run").expect("the run is named");
    assert_eq!(answer["id"], format!("chatcmpl-{run}"));
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "a");
    assert_eq!(answer["choices"][0]["message"]["content"], "Because.");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    let usage = &answer["usage"];
    let counts = ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| &usage[name]);
    assert_eq!(counts, [16, 9, 25]);

    assert_eq!(served.place.statuses(), ["succeeded"]);
    let log = served.place.log(run).join("\n");
    assert!(log.contains("Because."), "{log}");
}

#[test]
fn a_response_is_answered_with_the_report_as_its_output() {
    let served = Served::start(&[("a", vec![report("Because.")])], &[]);
    let asked = json!({ "model": "a", "instructions": "be brief", "input": "why?" });
    let reply = served.post("/v1/responses", &asked);
    let answer = reply.json();
    let run = reply.header("x-bonded-run").expect("the run is named");
    assert_eq!(answer["id"], format!("resp_{run}"));
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["output"][0]["content"][0]["text"], "Because.");
    assert_eq!(answer["usage"]["total_tokens"], 18);
}

#[test]
fn the_agent_is_given_the_talk_the_question_and_the_context_in_this_order() {
    let wanted = "What was said before:\n\n[user]\nhi\n\n[assistant]\nhello\n\n\
                  What is asked now:\n\nwhy?\nnow?\n\nContext from the caller:\n\nbe brief";
    let mut line = report("Because.");
    line["expect"] = json!([wanted]);
    let served = Served::start(&[("a", vec![line])], &[]);
    let talk = json!([
        { "role": "developer", "content": "be brief" },
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "hello" },
        { "role": "user", "content": [
            { "type": "text", "text": "why?" }, { "type": "text", "text": "now?" },
        ] },
    ]);
    let reply = served.chat(&json!({ "model": "a", "messages": talk, "temperature": 0.3 }));
    assert_eq!(reply.status, 200, "{reply:?}");

    let items = talk
        .as_array()
        .expect("a list")
        .iter()
        .cloned()
        .map(as_item);
    let asked = json!({ "model": "a", "input": items.collect::<Vec<Value>>() });
    let reply = served.post("/v1/responses", &asked);
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// A message of a chat as an item of a response.
fn as_item(mut message: Value) -> Value {
    message["type"] = "message".into();
    if let Some(parts) = message["content"].as_array_mut() {
        parts
            .iter_mut()
            .for_each(|part| part["type"] = "input_text".into());
    }
    message
}

#[test]
fn an_image_of_a_client_goes_with_the_goal_of_its_run_whichever_interface_it_uses() {
    let pixel = Image::read(PIXEL).expect("a pixel");
    let lines = vec![report("A pixel."); 2];
    let served = Served::start(&[("a", lines)], &[]);
    let chat = json!({ "model": "a", "messages": [{ "role": "user", "content": [
        { "type": "text", "text": "what is this?" },
        { "type": "image_url", "image_url": { "url": pixel.data_url(), "detail": "low" } },
    ] }] });
    let response = json!({ "model": "a", "input": [{ "role": "user", "content": [
        { "type": "input_text", "text": "what is this?" },
        { "type": "input_image", "image_url": pixel.data_url(), "detail": "auto" },
    ] }] });
    for (path, body) in [("/v1/chat/completions", chat), ("/v1/responses", response)] {
        let reply = served.post(path, &body);
        assert_eq!(reply.status, 200, "{reply:?}");
        let run = reply.header("x-bonded-run").expect("the run is named");
        let entries = served.place.entries(run);
        let started = &entries[0]["data"];
        assert_eq!(
            started["goal"],
            "what is this?\n[image 1: image/png, 1x1, 69 bytes]"
        );
        let hash = pixel.blob().hash.to_string();
        let expected =
            json!([{ "blob": hash, "bytes": 69, "type": "image/png", "width": 1, "height": 1 }]);
        assert_eq!(started["images"], expected, "{path}");
    }
}
