//! The format of an answer: the caller's where the agent leaves it open.

use serde_json::{Value, json};

use crate::place::{Place, call};
use crate::served::{Served, question_with, report};

fn json_report(value: &Value) -> Value {
    let arguments = json!({ "report_format": "json", "content_json": value });
    call("agent__final_report", arguments)
}

fn json_schema(schema: &Value) -> Value {
    json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } })
}

#[test]
fn a_caller_may_ask_for_json_by_its_schema_and_gets_what_fits_it() {
    let lines = [
        json_report(&json!({ "age": "old" })),
        json_report(&json!({ "age": 7 })),
    ];
    let served = Served::start(&[("agent", lines.to_vec())], &[]);
    let schema = json!({ "type": "object", "properties": { "age": { "type": "integer" } } });
    let asked = question_with("agent", "response_format", json_schema(&schema));
    let answer = served.chat(&asked).json();
    assert_eq!(
        answer["choices"][0]["message"]["content"], "{\"age\":7}",
        "{answer}"
    );

    let asked = json!({
        "model": "agent", "input": "why?",
        "text": { "format": { "type": "json_schema", "name": "x", "schema": schema } },
    });
    let answer = served.post("/v1/responses", &asked).json();
    assert_eq!(
        answer["output"][0]["content"][0]["text"], "{\"age\":7}",
        "{answer}"
    );

    let broken = json_schema(&json!({ "type": "nonsense" }));
    let reply = served.chat(&question_with("agent", "response_format", broken));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_schema"));
}

#[test]
fn an_agent_whose_output_is_fixed_refuses_another_format_and_takes_its_own() {
    let place = Place::new();
    let schema = "output: { format: json, schema: { type: object, required: [age] } }";
    place.agent("strict", &[json_report(&json!({ "age": 7 }))], schema);
    place.agent("prose", &[report("Old.")], "output: { format: markdown }");
    let served = Served::start_in(place, &["strict", "prose"], &[]);
    let own = json!({ "type": "object", "required": ["age"] });
    let other = json!({ "type": "object", "required": ["size"] });
    let object = json!({ "type": "json_object" });
    let rows = [
        ("strict", object.clone(), 200),
        ("strict", json_schema(&own), 200),
        ("strict", json_schema(&other), 400),
        ("strict", json!({ "type": "text" }), 200),
        ("prose", object, 400),
        ("prose", json!({ "type": "text" }), 200),
    ];
    for (model, format, status) in rows {
        let reply = served.chat(&question_with(model, "response_format", format.clone()));
        assert_eq!(reply.status, status, "{model} {format}: {reply:?}");
        if status == 400 {
            assert_eq!(reply.code(), "format_is_fixed");
        }
    }
}

#[test]
fn an_agent_that_takes_json_is_given_json_alone() {
    let place = Place::new();
    let input = "input: { format: json, schema: { type: object, required: [age] } }";
    place.agent("strict", &[report("Old.")], input);
    let served = Served::start_in(place, &["strict"], &[]);
    let user = |text: &str| json!({ "role": "user", "content": text });
    let rows = [
        (json!([user("{\"age\": 7}")]), 200, ""),
        (json!([user("{}")]), 400, "bad_input"),
        (json!([user("seven")]), 400, "bad_input"),
        (
            json!([user("hi"), user("{\"age\": 7}")]),
            400,
            "json_input_wanted",
        ),
    ];
    for (messages, status, code) in rows {
        let reply = served.chat(&json!({ "model": "strict", "messages": messages }));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{reply:?}"
        );
    }
}
