//! Tags in a reply: which of them count, and what becomes of a report that is not closed.

use serde_json::{Value, json};

use crate::reply::{Reply, call, echo_tag, raw, report, report_tag, tag, text};
use crate::world::World;

const XML: [&str; 2] = ["--tooling-transport", "xml"];

/// A final report whose closing tag is missing.
fn unclosed(format: &str, payload: &str) -> Reply {
    text(&format!(
        "<ai-agent-NONCE-FINAL tool=\"agent__final_report\" format=\"{format}\">{payload}"
    ))
}

#[test]
fn an_unclosed_report_is_taken_if_the_model_stopped_by_itself() {
    for reason in ["stop", "end_turn", "end", "eos"] {
        let world = World::new().says([unclosed("pipe", "all is well").finish(reason)]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.report()["content"], "all is well", "{reason}");
        assert_eq!(outcome.requests.len(), 1, "{reason}");
        let warned = outcome.stderr.contains("warning");
        assert!(!warned, "{reason}: {}", outcome.stderr);
    }
}

#[test]
fn an_unclosed_json_report_is_taken_if_the_model_stopped_by_itself() {
    let world = World::new().says([unclosed("json", r#"{"sum": 3}"#)]);
    let outcome = world.run(&["--format", "json"], "do it").good();
    assert_eq!(outcome.report()["content_json"], json!({ "sum": 3 }));
    assert_eq!(outcome.requests.len(), 1);
}

#[test]
fn an_unclosed_report_that_was_cut_is_asked_for_again() {
    for reason in ["length", "max_tokens"] {
        let world = World::new().says([unclosed("pipe", "all is").finish(reason), report("short")]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.report()["content"], "short", "{reason}");
        assert_eq!(outcome.requests.len(), 2, "{reason}");
        let told = outcome.requests[1].said();
        assert!(told.contains("was cut by the output limit"), "{told}");
    }
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
fn any_other_call_needs_its_closing_tag() {
    let open = "<ai-agent-NONCE-0001 tool=\"test__test\">{\"text\":\"hello\"}";
    let world = World::with_tools().says([text(open), report("done")]);
    let outcome = world.run(&XML, "do it").good();
    let commands = outcome.account_fields("tool", "command");
    assert_eq!(commands, ["agent__final_report_xml"]);
    assert_eq!(outcome.account_fields("llm", "status"), ["failed", "ok"]);
}

#[test]
fn tags_that_do_not_count_are_ignored_and_cost_no_attempt() {
    let wrong_nonce =
        "<ai-agent-00000000-0001 tool=\"test__test\">{\"text\":\"x\"}</ai-agent-00000000-0001>";
    let good = echo_tag("0001", "good");
    for ignored in [
        wrong_nonce.to_owned(),
        echo_tag("0009", "not offered"),
        echo_tag("0001", "good") + &echo_tag("0001", "twice"),
        tag("0002", "tool=\"test__test\"", "  "),
        tag("0002", "", r#"{"text":"no tool"}"#),
        tag("FINAL", "tool=\"test__test\"", r#"{"text":"not its tool"}"#),
    ] {
        let said = format!("{good}{ignored}");
        let world = World::with_tools()
            .front("maxToolCallsPerTurn: 2\nmaxRetries: 1")
            .says([text(&said), report("done")]);
        let outcome = world.run(&XML, "do it").good();
        let commands = outcome.account_fields("tool", "command");
        assert_eq!(
            commands,
            ["test__test", "agent__final_report_xml"],
            "{ignored}"
        );
        assert_eq!(
            outcome.account_fields("llm", "status"),
            ["ok", "ok"],
            "{ignored}"
        );
    }
}

#[test]
fn a_report_under_a_wrong_nonce_is_no_report_and_the_right_one_is() {
    let wrong =
        "<ai-agent-00000000-FINAL tool=\"agent__final_report\">no</ai-agent-00000000-FINAL>";
    let world = World::new().says([text(wrong), report("yes")]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.report()["content"], "yes");
    assert_eq!(outcome.requests.len(), 2);
}

#[test]
fn a_slot_that_was_used_in_an_earlier_turn_is_used() {
    let again = echo_tag("0001", "again") + &echo_tag("0003", "new");
    let world = World::with_tools().front("maxToolCallsPerTurn: 2").says([
        text(&echo_tag("0001", "first")),
        text(&again),
        report("done"),
    ]);
    let outcome = world.run(&XML, "do it").good();
    let told = outcome.requests[2].said();
    assert!(told.contains("<response>\nnew\n"), "{told}");
    assert!(!told.contains("<response>\nagain\n"), "{told}");
}

#[test]
fn the_last_valid_report_of_a_reply_wins() {
    let said = [
        report_tag("pipe", "a first thought"),
        report_tag("pipe", "the better one"),
        tag("FINAL", "tool=\"agent__final_report\" format=\"pipe\"", " "),
    ]
    .concat();
    let world = World::new().says([text(&said)]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.report()["content"], "the better one");
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

#[test]
fn calls_that_are_no_tags_have_no_source() {
    let world = World::with_tools().says([crate::reply::echo("hello"), report("done")]);
    let outcome = world.run(&[], "do it").good();
    assert!(outcome.accounts("tool")[0]["source"].is_null());
    assert_eq!(outcome.accounts("tool")[1]["source"], "xml");
}

#[test]
fn the_name_of_a_tag_is_no_tool() {
    let wrong = call("ai-agent-NONCE-FINAL", json!({ "report_content": "done" }));
    let world = World::with_tools().says([wrong, report("done")]);
    let outcome = world.run(&[], "do it").good();
    let told = outcome.tool_texts()[0];
    assert!(told.starts_with("(tool failed: there is no tool"), "{told}");
    assert_eq!(outcome.requests.len(), 2);
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
fn a_streamed_report_is_gathered_from_its_opening_to_its_closing_tag() {
    let said = format!("I begin. {} That was it.", report_tag("pipe", "only\nthis"));
    for transport in ["xml-final", "xml"] {
        let world = World::new().says([streamed(&said)]);
        let flags = ["--stream", "--tooling-transport", transport];
        let outcome = world.run(&flags, "do it").good();
        assert_eq!(outcome.requests[0]["stream"], true);
        assert_eq!(outcome.report()["content"], "only\nthis");
    }
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
