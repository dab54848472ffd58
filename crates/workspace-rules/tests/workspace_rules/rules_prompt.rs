//! The prompt file: what is wrong with one stops the start, with a code and a place.

use bonded_kernel::{Mode, TAGS};
use bonded_workspace_rules::{AgentPrompt, PromptFault};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules_common::with;

fn prompt() -> Value {
    json!({
        "agent_name": "kjxlkj-agent",
        "version": "2026-02-15",
        "default_mode": "yolo",
        "protocol": "xml_attrless",
        "allowed_tags": TAGS,
        "segments": [
            { "condition": "default", "prompt": "Output XML instructions only." },
            { "condition": "planning", "prompt": "Break large tasks into steps." },
            { "condition": "default", "prompt": "Keep a think_log." },
            { "condition": "executing", "prompt": "Execute the step." },
            { "condition": "paging", "prompt": "Shrink the memory." },
        ],
    })
}

fn read(value: &Value) -> Result<AgentPrompt, PromptFault> {
    AgentPrompt::read(value.to_string().as_bytes()).map(|read| read.prompt)
}

#[test]
fn segments_are_given_by_state_in_the_order_of_the_file() {
    let prompt = read(&prompt()).expect("it is well");
    assert_eq!(prompt.default_mode, Some(Mode::Yolo));
    let rows = [
        (vec!["planning"], vec![0, 1, 2]),
        (vec!["executing"], vec![0, 2, 3]),
        (vec!["paging", "executing"], vec![0, 2, 3, 4]),
        (vec!["idle"], vec![0, 2]),
    ];
    for (states, expected) in rows {
        let given: Vec<_> = prompt.segments_for(&states).collect();
        let expected: Vec<_> = expected.iter().map(|at| &prompt.segments[*at]).collect();
        assert_eq!(given, expected, "{states:?}");
    }
}

#[test]
fn only_name_version_and_segments_must_be_there() {
    let least = json!({
        "agent_name": "kjxlkj-agent", "version": "1.0.0",
        "segments": [{ "condition": "default", "prompt": "Go." }],
    });
    let prompt = read(&least).expect("it is well");
    assert_eq!(prompt.default_mode, None);
    assert_eq!(prompt.protocol, "xml_attrless");
    assert_eq!(prompt.allowed_tags, TAGS);
}

#[test]
fn keys_that_nobody_knows_are_left_aside_with_a_warning() {
    let written = with(
        prompt(),
        &[("/segmets", json!(1)), ("/segments/1/note", json!("x"))],
    );
    let read = AgentPrompt::read(written.to_string().as_bytes()).expect("it is well");
    let warnings: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "/segmets: there is no field \"segmets\"; did you mean segments?",
            "/segments/1/note: there is no field \"note\"",
        ]
    );
}

#[test]
fn what_is_no_json_is_told_with_its_line() {
    let rows: [(&[u8], &str); 4] = [
        (b"", "line 1"),
        (b"{\n  \"agent_name\": \"kjxlkj-agent\",\n}", "line 3"),
        (b"\xff\xfe", "line 1"),
        (b"not json", "line 1"),
    ];
    for (bytes, place) in rows {
        let fault = AgentPrompt::read(bytes).expect_err("it is no JSON");
        assert_eq!(fault.code().as_str(), "PROMPT_JSON_INVALID");
        assert!(fault.to_string().starts_with(place), "{fault}");
    }
}

#[test]
fn each_fault_has_its_code_and_its_place() {
    let schema = "PROMPT_SCHEMA_INVALID";
    let empty = "PROMPT_SEGMENT_EMPTY";
    let rows = [
        (json!([]), schema, "at the top: must be an object"),
        (
            with(prompt(), &[("/agent_name", json!(null))]),
            schema,
            "at the top: agent_name is missing",
        ),
        (
            with(prompt(), &[("/agent_name", json!("other"))]),
            schema,
            "/agent_name: must be \"kjxlkj-agent\", not \"other\"",
        ),
        (
            with(prompt(), &[("/version", json!("new"))]),
            schema,
            "/version: must be a date",
        ),
        (
            with(prompt(), &[("/default_mode", json!("auto"))]),
            schema,
            "/default_mode: must be one of yolo, reviewed",
        ),
        (
            with(prompt(), &[("/protocol", json!("json"))]),
            schema,
            "/protocol: must be \"xml_attrless\"",
        ),
        (
            with(prompt(), &[("/allowed_tags/0", json!("state_ad"))]),
            schema,
            "/allowed_tags/0: must be one of state_add,",
        ),
        (
            with(prompt(), &[("/segments", json!(null))]),
            schema,
            "at the top: segments is missing",
        ),
        (
            with(prompt(), &[("/segments", json!([]))]),
            schema,
            "/segments: must not be empty",
        ),
        (
            with(prompt(), &[("/segments", json!("x"))]),
            schema,
            "/segments: must be a list of segments",
        ),
        (
            with(prompt(), &[("/segments/1", json!("x"))]),
            schema,
            "/segments/1: must be an object",
        ),
        (
            with(prompt(), &[("/segments/1/condition", json!("plannin"))]),
            schema,
            "/segments/1/condition: must be one of default, planning,",
        ),
        (
            with(prompt(), &[("/segments/1/prompt", json!(1))]),
            schema,
            "/segments/1/prompt: must be a text",
        ),
        (
            with(prompt(), &[("/segments/1/prompt", json!(null))]),
            schema,
            "/segments/1: prompt is missing",
        ),
        (
            with(prompt(), &[("/segments/3/prompt", json!(" \n"))]),
            empty,
            "/segments/3/prompt: segment 3 has no text",
        ),
        (
            with(prompt(), &[("/segments/0/prompt", json!(""))]),
            empty,
            "/segments/0/prompt: segment 0 has no text",
        ),
    ];
    for (written, code, message) in rows {
        let fault = read(&written).expect_err("something is wrong with it");
        assert_eq!(fault.code().as_str(), code, "{fault}");
        assert!(
            fault.to_string().starts_with(message),
            "{fault} is not {message:?}"
        );
    }
}

proptest! {
    #[test]
    fn whatever_the_bytes_are_they_are_a_prompt_or_a_fault(bytes in any::<Vec<u8>>()) {
        let _ = AgentPrompt::read(&bytes);
    }
}
