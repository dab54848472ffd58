//! How calls are written: what each transport offers and shows, and calls and reports that are tags.

use serde_json::{Value, json};

use crate::provider::Asked;
use crate::reply::{Reply, echo_tag, raw, report, report_call, report_tag, text};
use crate::world::World;

const XML: [&str; 2] = ["--tooling-transport", "xml"];

/// Whether the last message of a request shows this slot.
fn shows(request: &Asked, slot: &str) -> bool {
    let nonce = request.nonce().unwrap_or_default();
    let said = request.last();
    said.contains(&format!("<ai-agent-{nonce}-{slot}")) || said.contains(&format!(" {slot}"))
}

#[test]
fn each_transport_offers_its_tools_and_only_native_may_require_one() {
    let native = &["--tooling-transport", "native"][..];
    let none: &[&str] = &[];
    let rows = [
        (
            native,
            json!("required"),
            (true, true),
            [false, false],
            report_call("done"),
        ),
        // Where nobody says otherwise, the report is a tag and nothing else is.
        (
            none,
            json!("auto"),
            (true, false),
            [true, false],
            report("done"),
        ),
        (
            &XML[..],
            json!(null),
            (false, false),
            [true, true],
            report("done"),
        ),
    ];
    for (flags, choice, (tools, reports), slots, reply) in rows {
        let world = World::with_tools()
            .config(&json!({ "providers": { "first": { "toolChoice": "required" } } }))
            .says([reply]);
        let outcome = world.run(flags, "do it").good();
        let request = &outcome.requests[0];
        assert_eq!(request["tool_choice"], choice, "{flags:?}");
        let offers = |name| request.tools().contains(&name);
        assert_eq!(offers("test__test"), tools, "{flags:?}");
        assert_eq!(offers("agent__final_report"), reports, "{flags:?}");
        let shown = ["FINAL", "0001"].map(|slot| shows(request, slot));
        assert_eq!(shown, slots, "{flags:?}");
        let described = request.last().contains(r#""required":["text"]"#);
        assert_eq!(described, flags == XML, "{}", request.last());
    }
}

#[test]
fn a_run_has_one_nonce_of_its_own() {
    let nonce_of = || {
        let world = World::with_tools().says([text(&echo_tag("0001", "hello")), report("done")]);
        let outcome = world.run(&XML, "do it").good();
        let [first, last] = &outcome.requests[..] else {
            panic!("two requests were expected: {outcome:#?}");
        };
        assert!(last.last().contains("Turn 2 of 10."), "{}", last.last());
        assert_eq!(first.nonce(), last.nonce());
        first.nonce().expect("a request with tags has a nonce")
    };
    assert_ne!(nonce_of(), nonce_of());
}

/// A final report whose closing tag is missing.
fn unclosed(format: &str, payload: &str) -> Reply {
    text(&format!(
        "<ai-agent-NONCE-FINAL tool=\"agent__final_report\" format=\"{format}\">{payload}"
    ))
}

#[test]
fn an_unclosed_report_is_taken_with_a_warning_if_nobody_knows_why_the_model_stopped() {
    for reason in [json!("galaxy"), Value::Null] {
        let reply = unclosed("pipe", "all is well").changed("/choices/0/finish_reason", reason);
        let world = World::new().says([reply]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.report()["content"], "all is well");
        let warned = outcome
            .stderr
            .contains("warning: the report was not closed");
        assert!(warned, "{}", outcome.stderr);
    }
    let world = World::new().says([unclosed("pipe", "all is well")]);
    let outcome = world.run(&[], "do it").good();
    assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
}

#[test]
fn calls_by_tag_run_under_the_same_limits_and_accounts_as_any_other() {
    let said = echo_tag("0001", "long-output") + &echo_tag("0002", "trigger-timeout");
    let world = World::with_tools()
        .front("toolResponseMaxBytes: 64\ntoolTimeout: 200")
        .says([text(&said), report("done")]);
    let outcome = world.run(&XML, "do it").good();
    let told = outcome.requests[1].said();
    let cut = "[TRUNCATED] Original size 3200 bytes; truncated to 64 bytes.";
    assert!(told.contains(cut), "{told}");
    assert!(told.contains("(tool failed: timeout)"), "{told}");
    for account in outcome.accounts("tool") {
        assert_eq!(account["source"], "xml", "{account:#}");
    }
    assert_eq!(
        outcome.account_fields("tool", "status"),
        ["ok", "failed", "ok"]
    );
    let expected = ["test__test", "test__test", "agent__final_report_xml"];
    assert_eq!(outcome.account_fields("tool", "command"), expected);
    assert_eq!(
        outcome.account_fields("tool", "mcpServer")[..2],
        ["test", "test"]
    );
}

/// A reply that comes in pieces of a few letters, cut through every tag. Only the nonce stays whole, as it is
/// put in afterwards.
fn streamed(said: &str) -> Reply {
    let letters: Vec<char> = said.replace("NONCE", "\u{1}").chars().collect();
    let pieces = letters
        .chunks(3)
        .map(|piece| piece.iter().collect::<String>().replace('\u{1}', "NONCE"));
    let event = |delta: Value, finish: Value| {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        let chunk = json!({ "id": "c", "model": "answered", "choices": choice });
        format!("data: {chunk}\n\n")
    };
    let mut body: String = pieces
        .map(|piece| event(json!({ "content": piece }), Value::Null))
        .collect();
    body.push_str(&event(json!({}), json!("stop")));
    body.push_str("data: [DONE]\n\n");
    raw(200, "text/event-stream", body)
}

#[test]
fn stdout_is_the_report_alone_whether_it_was_streamed_or_not() {
    let said = format!("I begin. {} That was it.", report_tag("pipe", "only this"));
    for (flag, reply) in [("--stream", streamed(&said)), ("--no-stream", text(&said))] {
        let world = World::new().says([report("the agent's file is written now"), reply]);
        world.run(&[], "do it").good();
        let outcome = world.bonded(&["run", "--agent", "agent.ai", flag, "do it"]);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        assert_eq!(outcome.stdout, "only this\n");
    }
}
