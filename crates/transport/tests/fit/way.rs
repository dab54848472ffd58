//! Names and keys on their way to a service and back.

use std::sync::Arc;

use bonded_kernel::{
    Catalog, Dialect, FoundTools, Message, MessageCall, Offer, Reply, ReplyCall, Request, Target,
};
use bonded_transport::dialect::{self, Tools, unfit};
use serde_json::{Value, json};

use crate::common::sdk;
use crate::spec;

fn catalog() -> Catalog {
    let odd = json!({ "type": "object", "properties": { "a b": {}, "c": {} } });
    let plain = json!({ "type": "object", "properties": { "a": {} } });
    let taken = spec("_1st", &plain);
    Catalog::new([spec("1st", &odd), taken, spec("plain", &plain)]).expect("a catalogue")
}

fn call(tool: &str, arguments: &str) -> MessageCall {
    MessageCall {
        id: "c1".into(),
        tool: tool.into(),
        arguments: arguments.into(),
    }
}

/// The calls of a conversation as they are sent: names, and arguments.
fn sent(catalog: &Catalog, dialect: Dialect, calls: Vec<MessageCall>) -> (Value, Tools) {
    let messages = [Message::Assistant {
        text: "".into(),
        reasoning: "".into(),
        signed: None,
        calls,
    }];
    let mut target = Target::new("p", "http://localhost/v1", "m");
    target.dialect = dialect;
    let request = Request {
        target: &target,
        system: "",
        messages: &messages,
        notices: vec![Arc::from("Go on.")],
        catalog,
        offer: Offer::All,
        found: FoundTools::NONE,
        output_tokens_max: 100,
        temperature: None,
        turn: 1,
        attempt: 1,
        ordinal: 0,
    };
    let tools = Tools::of(&request);
    let body = dialect::encode_with_tools(&request, &tools);
    let body = serde_json::from_slice(&body).expect("JSON");
    sdk::hold(&target, &body);
    (body, tools)
}

fn taken_back(tools: &Tools, tool: &str, arguments: &str) -> (String, String) {
    let mut reply = Reply {
        calls: vec![ReplyCall {
            id: "c1".into(),
            tool: tool.into(),
            arguments: arguments.into(),
        }],
        ..Reply::default()
    };
    tools.take_back(&mut reply);
    let call = reply.calls.remove(0);
    (call.tool, call.arguments)
}

#[test]
fn a_changed_name_is_another_than_all_others_and_leads_back() {
    let catalog = catalog();
    let (body, tools) = sent(&catalog, Dialect::Gemini, vec![call("1st", r#"{"a b":1}"#)]);
    let declared = &body["tools"][0]["functionDeclarations"];
    let names: Vec<&str> = declared
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    let made = names[0];
    assert!(made.starts_with("_1st_") && made.len() == 13, "{names:?}");
    assert_eq!(names[1..], ["_1st", "done", "plain"]);
    assert_eq!(
        body["contents"][0]["parts"][0]["functionCall"]["name"],
        made
    );
    assert_eq!(taken_back(&tools, made, "{}").0, "1st");
    assert_eq!(taken_back(&tools, "_1st", "{}").0, "_1st");
    assert_eq!(taken_back(&tools, "other", "{}").0, "other");
    let (_, again) = sent(&catalog, Dialect::Gemini, vec![]);
    assert_eq!(taken_back(&again, made, "{}").0, "1st");
}

#[test]
fn changed_keys_lead_there_and_back_and_all_else_stays_as_written() {
    let catalog = catalog();
    let own = r#"{"c": 1.0,"a b":{"a b":[1,  2]}}"#;
    let (body, tools) = sent(&catalog, Dialect::Messages, vec![call("1st", own)]);
    let declared = body["tools"].as_array().expect("a list");
    assert_eq!(
        declared[0]["input_schema"]["properties"],
        json!({ "a_b": {}, "c": {} })
    );
    assert_eq!(
        body["messages"][0]["content"][0]["input"],
        json!({ "c": 1.0, "a_b": { "a b": [1, 2] } })
    );
    let back = taken_back(&tools, "1st", r#"{"a_b": {"a_b":[1,  2]}, "c":1.0}"#);
    assert_eq!(back.1, r#"{"a b":{"a_b":[1,  2]},"c":1.0}"#);
    for unread in [
        "",
        "[\"a_b\"]",
        "null",
        "{\"c\": 2}",
        "a_b",
        "{",
        "{\"c\": \"{a_b: 1",
    ] {
        assert_eq!(taken_back(&tools, "1st", unread).1, unread);
    }
    assert_eq!(
        taken_back(&tools, "plain", r#"{"a_b": 1}"#).1,
        r#"{"a_b": 1}"#
    );
}

#[test]
fn keys_of_arguments_that_the_kernel_mends_lead_back_as_well() {
    let catalog = catalog();
    let (_, tools) = sent(&catalog, Dialect::Messages, vec![]);
    let cases = [
        (r#"{"a_b": 1"#, json!({ "a b": 1 })),
        (
            r#"{"c": {"a_b": [1, "}"]}, "a_b": "x, y",}"#,
            json!({ "c": { "a_b": [1, "}"] }, "a b": "x, y" }),
        ),
        (r#"{'a_b': 1}"#, json!({ "a b": 1 })),
        (r#"{a_b: 1, c: 2}"#, json!({ "a b": 1, "c": 2 })),
        ("```json\n{\"a_b\": 1}\n```", json!({ "a b": 1 })),
        (r#""{\"a_b\": 1}""#, json!({ "a b": 1 })),
    ];
    for (written, expected) in cases {
        let back = taken_back(&tools, "1st", written).1;
        let read = bonded_kernel::parse_arguments(&back);
        let read = read.unwrap_or_else(|error| panic!("{written}: {back}: {error:?}"));
        assert_eq!(read.value, expected, "{written}: {back}");
    }
}

#[test]
fn the_members_of_a_batch_are_calls_too() {
    let catalog = catalog();
    for (dialect, name, key) in [
        (Dialect::Messages, "1st", "a_b"),
        (Dialect::Gemini, "", "a b"),
    ] {
        let own = r#"{"calls":[{"id":1,"tool":"1st","parameters":{"a b":1}},{"name":"1st","arguments":"{\"a b\":2}"},{"tool":"plain"}]}"#;
        let (body, tools) = sent(&catalog, dialect, vec![call("agent__batch", own)]);
        let input = match dialect {
            Dialect::Messages => &body["messages"][0]["content"][0]["input"],
            _ => &body["contents"][0]["parts"][0]["functionCall"]["args"],
        };
        let calls = &input["calls"];
        let made = calls[0]["tool"].as_str().expect("a name").to_owned();
        assert!(made == name || made.starts_with("_1st_"), "{made}");
        assert_eq!(calls[1]["name"], made);
        assert_eq!(calls[0]["parameters"], json!({ key: 1 }));
        assert_eq!(calls[1]["arguments"], json!(json!({ key: 2 }).to_string()));
        assert_eq!(calls[2], json!({ "tool": "plain" }));
        let back = taken_back(&tools, "agent__batch", &input.to_string()).1;
        let own: Value = serde_json::from_str(own).expect("JSON");
        assert_eq!(serde_json::from_str::<Value>(&back).expect("JSON"), own);
        for unread in ["{\"calls\":", "{\"calls\":3}", "{\"calls\":[3]}", "{}"] {
            assert_eq!(taken_back(&tools, "agent__batch", unread).1, unread);
        }
    }
}

#[test]
fn a_call_of_what_is_no_tool_is_sent_with_a_name_that_is_taken() {
    for (dialect, pointer) in [
        (Dialect::Chat, "/messages/0/tool_calls/0/function/name"),
        (Dialect::Responses, "/input/0/name"),
        (Dialect::Messages, "/messages/0/content/0/name"),
        (Dialect::Gemini, "/contents/0/parts/0/functionCall/name"),
    ] {
        for (called, expected) in [
            ("multi_tool_use.parallel", "multi_tool_use_parallel"),
            ("", "_"),
            ("ok", "ok"),
        ] {
            let (body, _) = sent(&catalog(), dialect, vec![call(called, "{}")]);
            assert_eq!(
                body.pointer(pointer),
                Some(&json!(expected)),
                "{dialect:?}: {body}"
            );
        }
    }
}

#[test]
fn a_tool_that_does_not_fit_is_left_out_and_named() {
    let text = json!([
        { "name": "bad", "description": "", "schema": { "type": "array" }, "effect": "read" },
        { "name": "good", "description": "", "schema": { "type": "object", "properties": {} }, "effect": "read" },
    ]);
    let catalog = Catalog::from_recorded(text.to_string().into()).expect("readable");
    for dialect in crate::dialects() {
        let (body, _) = sent(&catalog, dialect, vec![]);
        let tools = body["tools"].to_string();
        assert!(tools.contains("good") && !tools.contains("bad"), "{tools}");
        let left_out = unfit(&catalog, dialect);
        assert_eq!(left_out.len(), 1);
        assert_eq!(
            left_out[0].to_string(),
            "the tool \"bad\" is left out: its arguments are not an object"
        );
    }
}
