//! Replies that no decent model would give: bounded memory, a clear outcome, and the run goes on.

use serde_json::{Value, json};

use crate::done::text;
use crate::place::{Place, done, with};
use crate::tools::within_memory;
use crate::watch::{of_kind, saying};

#[test]
fn arguments_nested_ten_thousand_deep_are_refused_and_the_run_goes_on() {
    let place = Place::new();
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let unclosed = "{\"a\":".repeat(10_000);
    let call = |arguments: &str| json!({ "calls": [{ "tool": "read", "arguments": arguments }] });
    let told = with(done("ok"), "expect", json!(["not a JSON object"]));
    place.play(&[call(&deep), call(&unclosed), told]).succeeds();
    let entries = place.entries("run");
    for decision in &of_kind(&entries, "decision_made")[..2] {
        assert_eq!(
            decision["calls"][0]["refused"]["code"],
            "malformed_arguments"
        );
    }
    place.passes_the_audit("run");
}

#[test]
fn strange_calls_are_refused_with_a_reason_and_leave_no_invocation() {
    let place = Place::new();
    let call = |tool: &str, arguments: Value| json!({ "calls": [{ "tool": tool, "arguments": arguments }] });
    let table = [
        (call("", json!({})), "unknown_tool"),
        (call("rm -rf /", json!({})), "unknown_tool"),
        (call("read", json!("[]")), "malformed_arguments"),
        (
            call("read", json!("{\"path\" and nothing more")),
            "malformed_arguments",
        ),
        (call("read", json!({})), "invalid_arguments"),
        (call("read", json!({ "path": 7 })), "invalid_arguments"),
        (
            call("read", json!({ "path": "a", "more": 1 })),
            "invalid_arguments",
        ),
        (
            with(call("read", json!("{\"path\": \"a")), "finish", "length"),
            "cut_off",
        ),
    ];
    let mut lines: Vec<Value> = table.iter().map(|(line, _)| line.clone()).collect();
    lines.push(done("ok"));
    let result = place.result(&["--no-progress", "0"], &lines);
    assert_eq!(result["success"], true, "{result}");
    let entries = place.entries("run");
    for (decision, (line, code)) in of_kind(&entries, "decision_made").iter().zip(&table) {
        let refused = &decision["calls"][0]["refused"];
        assert_eq!(refused["code"], *code, "{line}");
        assert!(!text(&refused["message"]).is_empty(), "{line}");
    }
    assert_eq!(
        of_kind(&entries, "tool_invoked").len(),
        1,
        "only done was invoked"
    );
    place.passes_the_audit("run");
}

/// The arguments of a run whose model is behind this URL.
fn run_at(url: &str) -> [&str; 8] {
    [
        "run",
        "--id",
        "run",
        "--base-url",
        url,
        "--model",
        "m",
        "the goal",
    ]
}

#[test]
fn a_reply_of_a_hundred_megabytes_is_given_up_in_bounded_memory() {
    let place = Place::new();
    let mut body = b"{\"choices\":[{\"message\":{\"content\":\"".to_vec();
    body.resize(100_000_000, b'x');
    let end =
        json!({ "id": "c", "function": { "name": "done", "arguments": "{\"reason\":\"ok\"}" } });
    let good = json!({ "choices": [{ "message": { "tool_calls": [end] }, "finish_reason": "tool_calls" }] });
    let server = saying([body, good.to_string().into_bytes()]);
    let run = within_memory(&place, &run_at(&server.base_url()));
    run.succeeds();
    let entries = place.entries("run");
    let failed = of_kind(&entries, "attempt_failed");
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["class"], "malformed");
    assert!(text(&failed[0]["message"]).contains("16"), "{}", failed[0]);
    assert_eq!(server.asked_count(), 2);
}

#[test]
fn bodies_that_are_no_reply_use_up_the_attempts_and_end_the_run_with_a_reason() {
    let bodies: [&[u8]; 7] = [
        b"",
        b"null",
        b"<html>",
        b"{}",
        b"{\"choices\":[]}",
        b"\xff\xfe",
        b"[[[[[[[[",
    ];
    let place = Place::new();
    let server = saying(bodies.map(<[u8]>::to_vec));
    let limits = ["--max-attempts", "7", "--max-turns", "1", "--json"];
    let run = place.bonded(&[&run_at(&server.base_url())[..], &limits].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.json()["termination"]["kind"], "turns_exhausted");
    let entries = place.entries("run");
    let failed = of_kind(&entries, "attempt_failed");
    assert_eq!(failed.len(), 7);
    assert!(
        failed.iter().all(|failed| failed["class"] == "malformed"),
        "{failed:?}"
    );
    place.passes_the_audit("run");
}

#[test]
fn a_server_that_is_not_there_ends_the_run_with_a_reason() {
    let place = Place::new();
    // A port that was just free: nothing listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener
        .local_addr()
        .expect("a bound listener has an address");
    drop(listener);
    let url = format!("http://{address}/v1");
    let limits = ["--max-attempts", "2", "--max-turns", "1", "--json"];
    let run = place.bonded(&[&run_at(&url)[..], &limits].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let entries = place.entries("run");
    for failed in of_kind(&entries, "attempt_failed") {
        assert_eq!(failed["class"], "network", "{failed}");
    }
}
