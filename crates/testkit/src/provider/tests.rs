//! The provider, asked by the client that stands beside it.

use std::thread;

use serde_json::{Value, json};

use super::*;
use crate::http;

fn ask(provider: &Provider, body: &Value) -> std::io::Result<http::Reply> {
    let line = "POST /v1/chat/completions";
    http::ask(&provider.address(), line, "", Some(body))
}

fn status(provider: &Provider) -> u16 {
    ask(provider, &json!({})).expect("it answers").status
}

#[test]
fn what_was_put_in_comes_in_its_order_and_a_script_that_is_too_short_is_noticed() {
    let provider = Provider::start();
    provider.say([raw(201, "text/plain", ""), raw(202, "text/plain", "")]);
    let statuses = [(); 3].map(|()| status(&provider));
    assert_eq!(statuses, [201, 202, 401]);
    provider.then_always(refusal(503, "busy"));
    assert_eq!([(); 2].map(|()| status(&provider)), [503, 503]);
}

#[test]
fn a_look_at_the_models_is_neither_asked_nor_answered_nor_part_of_the_script() {
    let provider = Provider::start();
    provider.say([text("hello")]);
    let look = || http::ask(&provider.address(), "GET /v1/models", "", None).expect("it answers");
    assert_eq!(look().status, 404);
    provider.list(&json!({ "data": [] }));
    assert_eq!(look().json(), json!({ "data": [] }));
    assert_eq!(provider.looks(), ["/v1/models"; 2]);
    assert_eq!(
        (provider.asked_count(), provider.shared.lock().answered),
        (0, 0)
    );
    let said = ask(&provider, &json!({ "n": 1 }))
        .expect("it answers")
        .json();
    assert_eq!(said["choices"][0]["message"]["content"], "hello");
    assert_eq!(provider.asked()[0]["n"], 1);
    provider.wait_until_answered(1);
    let billed = Billed {
        input: 120,
        output: 40,
    };
    assert_eq!(provider.billed(), [billed]);
}

#[test]
fn what_is_held_is_heard_and_answered_when_it_is_released() {
    let provider = Provider::start().held();
    provider.say([raw(201, "text/plain", ""), raw(202, "text/plain", "")]);
    thread::scope(|scope| {
        let asking = scope.spawn(|| status(&provider));
        provider.wait_for(1);
        assert_eq!(provider.shared.lock().answered, 0);
        provider.release(2);
        assert_eq!(asking.join().expect("it only asks"), 201);
    });
    assert_eq!(status(&provider), 202);
}

#[test]
fn an_answer_that_is_cut_or_never_comes_is_none() {
    let provider = Provider::start();
    provider.say([text("hello").cut(), closes()]);
    for _ in 0..2 {
        assert!(ask(&provider, &json!({})).is_err());
    }
    assert_eq!(provider.billed(), []);
}

#[test]
fn an_answer_has_the_nonce_and_the_form_that_were_asked_for() {
    let provider = Provider::answering(|asked| {
        said_to(asked, &json!({ "role": "assistant", "content": "<NONCE>" }))
    });
    let body = json!({ "stream": true, "text": "an ai-agent-0123abcd-FINAL tag" });
    let events = ask(&provider, &body).expect("it answers").events();
    assert_eq!(events[0]["choices"][0]["delta"]["content"], "<0123abcd>");
}

#[test]
fn a_connection_that_is_kept_has_many_answers_and_any_line_may_have_its_own() {
    let provider = Provider::start().keeping_connections();
    provider.always("PUT /here", refusal(409, "taken"));
    provider.then_always(raw(200, "text/plain", "ok"));
    let address = provider.address();
    let mut stream = http::connect(&address);
    for (line, status) in [("POST /a", 200), ("PUT /here", 409), ("POST /b", 200)] {
        http::write(&mut stream, &http::head(&address, line, ""), b"{}");
        let reply = http::receive_one(&mut stream).expect("it answers");
        assert_eq!(reply.status, status, "{line}");
    }
    assert_eq!(provider.asked_at("PUT /here").len(), 1);
}
