//! The calls of an agent: read with patience, checked without any.

use bonded_kernel::{Encoding, Event, Finish, RefusalCode, RejectReason, Reply, TerminationKind};
use serde_json::json;

use crate::agent_common::{NONCE, REPORT, agent, markdown, stopped};
use crate::common::{World, call, look, push, reply, text};

/// The repairs that the log tells of: original, steps, result.
fn repairs(world: &World) -> Vec<(String, usize, String)> {
    let found = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::CallRepaired {
            original,
            steps,
            result,
            ..
        } => Some((original.to_string(), steps.len(), result.to_string())),
        _ => None,
    });
    found.collect()
}

#[test]
fn almost_json_is_mended_and_the_log_tells_how() {
    let rows = [
        r#"{'path': 'a'}"#,
        r#"{path: "a",}"#,
        r#"{"path": "a""#,
        "```json\n{\"path\": \"a\"}\n```",
        r#"Sure: {"path": "a"} there"#,
        r#""{\"path\": \"a\"}""#,
    ];
    for written in rows {
        let mut world = agent(Encoding::Native).begin();
        world.reply(reply([call("look", written)]));
        world.ok("a spade");
        assert_eq!(
            world.invoked(),
            [(0, "look".to_owned())],
            "{written}: {:?}",
            world.kinds()
        );
        let told = repairs(&world);
        assert_eq!(told.len(), 1, "{written}");
        let (original, steps, result) = &told[0];
        assert_eq!(
            (original.as_str(), result.as_str()),
            (written, r#"{"path":"a"}"#)
        );
        assert!(*steps > 0);
    }
}

#[test]
fn json_that_needs_no_repair_is_left_as_it_was_written() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([call("look", "{ \"path\" : \"a\" }")]));
    world.ok("a spade");
    assert!(repairs(&world).is_empty());
}

#[test]
fn one_unreadable_call_is_dropped_and_the_valid_one_beside_it_runs() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([call("look", "not-an-object"), push("a")]));
    world.ok("pushed");
    assert_eq!(world.invoked(), [(1, "push".to_owned())]);
    let results = world.results();
    assert!(
        results[0].1.starts_with("(tool failed: ") && results[0].1.contains("JSON"),
        "{results:?}"
    );
    let raw = world
        .entries
        .iter()
        .any(|entry| String::from_utf8_lossy(&entry.body).contains("not-an-object"));
    assert!(raw, "the log keeps the payload");
}

#[test]
fn when_no_call_can_be_read_nothing_is_executed_and_the_model_is_asked_again() {
    let mut world = agent(Encoding::Native).attempts(3).begin();
    world.reply(reply([call("look", "nope"), call("push", "[1]")]));
    assert!(world.is_asking() && world.run.turn() == 1);
    assert_eq!(world.roles(), ["user"]);
    let notices = world.notices_text();
    assert!(
        notices.contains("look") && notices.contains("push") && notices.contains("JSON"),
        "{notices}"
    );
    assert!(matches!(
        world
            .entries
            .iter()
            .find(|entry| entry.event.kind() == "reply_rejected")
            .map(|e| &e.event),
        Some(Event::ReplyRejected { reason: RejectReason::Malformed, calls, .. }) if calls.len() == 2
    ));
    world.reply(reply([look("a")]));
    world.ok("a spade");
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.count("attempt_started"), 3);
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn arguments_cut_by_the_output_limit_are_never_completed() {
    // The second lacks nothing but its brace, and would be mended had the model stopped by itself.
    for written in [r#"{"text": "half a sen"#, r#"{"text": "whole""#] {
        let mut world = agent(Encoding::Native).begin();
        let cut = stopped(Finish::Length, reply([look("a"), call("push", written)]));
        world.reply(cut);
        world.ok("a spade");
        assert_eq!(world.invoked(), [(0, "look".to_owned())], "{written}");
        assert!(world.results()[1].1.contains("cut by its output limit"));
    }
}

#[test]
fn a_name_that_plainly_means_a_tool_is_taken_for_it() {
    for name in [
        "look<|channel|>json",
        "functions.look",
        "default_api:look",
        "default_api.look",
    ] {
        let mut world = agent(Encoding::Native).begin();
        world.reply(reply([call(name, r#"{"path":"a"}"#)]));
        world.ok("a spade");
        assert_eq!(world.invoked(), [(0, "look".to_owned())], "{name}");
    }
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([call(
        "final_report",
        &json!({ "report_content": "tidy" }).to_string(),
    )]));
    assert_eq!(world.content(), "tidy");
}

#[test]
fn an_unknown_tool_is_not_executed_and_the_run_goes_on() {
    let long = "x".repeat(10_000);
    let of_a_tag = format!("ai-agent-{NONCE}-FINAL");
    for name in [
        "shell",
        "functions.shell",
        "functions.",
        "",
        &long[..300],
        &long,
        &of_a_tag,
        "a b/c",
    ] {
        let mut world = agent(Encoding::Native).begin();
        world.reply(reply([call(name, "{}")]));
        assert!(world.invoked().is_empty());
        let results = world.results();
        assert!(
            results[0].1.starts_with("(tool failed: there is no tool"),
            "{results:?}"
        );
        assert!(results[0].1.len() < 1_000, "{} bytes", results[0].1.len());
        assert!(world.is_asking());
    }
}

#[test]
fn arguments_that_break_the_schema_are_refused_with_the_place() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([call("look", r#"{"path": 5}"#), look("b")]));
    world.ok("a spade");
    let refused = world.entries.iter().find_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => decision.calls[0]
            .refused
            .as_ref()
            .map(|refusal| (refusal.code, refusal.message.to_string())),
        _ => None,
    });
    let (code, message) = refused.expect("the first call is refused");
    assert_eq!(code, RefusalCode::InvalidArguments);
    assert!(message.contains("/path"), "{message}");
    assert_eq!(world.invoked(), [(1, "look".to_owned())]);
}

#[test]
fn calls_leaked_into_text_are_never_executed() {
    let leaks = [
        r#"<tool_call>{"name":"push","arguments":{"text":"x"}}</tool_call>"#,
        r#"<tool_calls>[{"name":"push","parameters":{"text":"x"}}]</tool_calls>"#,
        r#"<function>{"function":"push","arguments":{"text":"x"}}</function>"#,
        r#"<TOOLS>{"tool":"push","arguments":{"text":"x"}}</TOOLS>"#,
    ];
    for leak in leaks {
        for encoding in crate::agent_common::ENCODINGS {
            let mut world = agent(encoding).begin();
            world.reply(text(leak));
            assert!(world.invoked().is_empty());
            assert_eq!(world.count("reply_rejected"), 1);
        }
    }
}

#[test]
fn a_reply_that_the_provider_withheld_is_discarded_with_all_that_it_held() {
    let withheld = stopped(
        Finish::ContentFilter,
        Reply {
            text: r#"{"report_format":"markdown","report_content":"withheld"}"#.into(),
            ..reply([push("a"), markdown("withheld")])
        },
    );
    let mut world = agent(Encoding::Native).turns(1).attempts(1).begin();
    world.reply(withheld);
    assert!(world.invoked().is_empty());
    assert_eq!(
        world.synthetic_reason(),
        "max_turns_exhausted",
        "nor is its text a report"
    );
}

#[test]
fn what_comes_after_an_accepted_report_is_skipped() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([markdown("tidy"), push("b")]));
    assert_eq!(world.invoked(), [(0, REPORT.to_owned())]);
    assert_eq!(world.count("call_skipped"), 1);
}
