//! Scripts: what they may say, how they are played, and what they say of themselves when they are wrong.

mod common;

use bonded_kernel::{Failure, FailureClass, Finish, Reply, ReplyCall, Usage};
use bonded_transport::{Providers, Script, ScriptError, Transport};
use common::{Conversation, assistant, tool, user};

fn script(text: &str) -> Script {
    Script::parse("a.jsonl", text).expect("a good script")
}

fn played(text: &str, ordinal: u32) -> Result<Reply, Failure> {
    script(text).play(ordinal, "").outcome
}

#[test]
fn a_reply_line_says_everything_that_a_model_can_say() {
    let line = r#"{"text":"t","reasoning":"r","calls":[{"tool":"read","arguments":{"b":1, "a":2}},
        {"tool":"read","arguments":"{broken","id":"mine"},{"tool":"done"}],
        "usage":{"input":10,"output":2,"cached":5},"finish":"length"}"#
        .replace('\n', " ");
    let call = |id: &str, tool: &str, arguments: &str| ReplyCall {
        id: id.into(),
        tool: tool.into(),
        arguments: arguments.into(),
    };
    let expected = Reply {
        text: "t".into(),
        reasoning: "r".into(),
        calls: vec![
            call("call_0_0", "read", r#"{"b":1, "a":2}"#),
            call("mine", "read", "{broken"),
            call("call_0_2", "done", "{}"),
        ],
        usage: Some(Usage {
            input: 10,
            output: 2,
            cached: 5,
            ..Usage::default()
        }),
        finish: Finish::Length,
        ..Reply::default()
    };
    assert_eq!(played(&line, 0), Ok(expected));
}

#[test]
fn the_finish_follows_from_the_calls_unless_it_is_said() {
    let cases = [
        ("{}", Finish::Stop),
        (r#"{"calls":[{"tool":"read"}]}"#, Finish::ToolCalls),
        (r#"{"finish":"content_filter"}"#, Finish::ContentFilter),
    ];
    for (line, finish) in cases {
        assert_eq!(
            played(line, 0).map(|reply| reply.finish),
            Ok(finish),
            "{line}"
        );
    }
}

#[test]
fn every_class_of_failure_can_be_played() {
    let cases = [
        ("auth", FailureClass::Auth, false),
        ("quota", FailureClass::Quota, false),
        ("rate_limit", FailureClass::RateLimit, false),
        ("network", FailureClass::Network, false),
        ("timeout", FailureClass::Timeout, true),
        ("model", FailureClass::Model, false),
        ("malformed", FailureClass::Malformed, true),
        ("overflow", FailureClass::Overflow, false),
    ];
    for (name, class, billable) in cases {
        let line = format!(r#"{{"fail":"{name}","message":"m","status":418,"retry_after_ms":9}}"#);
        let failure = played(&line, 0).expect_err("a failure");
        assert_eq!(
            (failure.class, failure.billable),
            (class, billable),
            "{name}"
        );
        assert_eq!(failure.message, "m");
        assert_eq!(
            (failure.status, failure.retry_after_ms),
            (Some(418), Some(9))
        );
    }
}

#[test]
fn each_request_gets_its_own_line_and_repeated_lines_count_as_often_as_they_say() {
    let text = "# a comment\n{\"text\":\"a\"}\n\n  {\"text\":\"b\",\"repeat\":2}\n{\"text\":\"c\",\"delay_ms\":5}\n";
    let script = script(text);
    assert_eq!(script.replies(), 4);
    let texts: Vec<_> = (0..4)
        .map(|ordinal| script.play(ordinal, "").outcome.map(|reply| reply.text))
        .collect();
    assert_eq!(texts, ["a", "b", "b", "c"].map(|text| Ok(text.to_owned())));
    assert_eq!(script.play(3, "").delay_ms, 5);
}

#[test]
fn a_request_beyond_the_last_line_ends_the_run_and_says_why() {
    let failure = played("{}\n{}", 2).expect_err("nothing left");
    assert_eq!(failure.class, FailureClass::Quota);
    assert_eq!(
        failure.message,
        "script a.jsonl has 2 replies; request 3 has none"
    );
}

#[test]
fn an_expectation_that_is_not_met_ends_the_run_and_names_what_was_expected() {
    let script = script(r#"{"text":"ok","expect":["one","two"]}"#);
    assert!(script.expects(0));
    assert!(script.play(0, "two and one").outcome.is_ok());
    let failure = script.play(0, "only one").outcome.expect_err("not met");
    assert_eq!(failure.class, FailureClass::Quota);
    assert!(failure.message.contains("\"two\""), "{}", failure.message);
}

#[test]
fn a_bad_script_is_refused_with_its_file_and_line() {
    let cases = [
        (
            "{}\n\n{\"txet\":\"a\"}",
            "a.jsonl, line 3: unknown field `txet`",
        ),
        ("{\"text\":1}", "line 1: invalid type"),
        ("# only\nnot json", "line 2: expected"),
        (
            "{\"fail\":\"bad_luck\"}",
            "line 1: unknown variant `bad_luck`",
        ),
        (
            "{\"fail\":\"interrupted\"}",
            "line 1: a provider cannot fail as interrupted",
        ),
        (
            "{\"fail\":\"model\",\"text\":\"a\"}",
            "line 1: unknown field `text`",
        ),
        ("{\"repeat\":0}", "line 1: repeat must be at least 1"),
        (
            "{\"calls\":[{\"arguments\":{}}]}",
            "line 1: missing field `tool`",
        ),
        ("# nothing\n", "a.jsonl has no lines"),
    ];
    for (text, expected) in cases {
        let error = Script::parse("a.jsonl", text).expect_err("a bad script");
        let error = error.to_string();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    }
    let missing = Script::load("/nowhere/a.jsonl");
    assert!(matches!(missing, Err(ScriptError::Unreadable { .. })));
}

fn play_file(text: &str) -> (tempfile::TempDir, Conversation) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("play.jsonl");
    std::fs::write(&path, text).expect("a file");
    let endpoint = path.to_str().expect("a readable path");
    (dir, Conversation::with("script", endpoint))
}

#[tokio::test]
async fn the_provider_named_script_plays_the_file_at_its_endpoint() {
    let lines = r#"{"text":"first","expect":["Look at"]}
        {"text":"12345678","expect":["content of a","hurry"]}"#;
    let (_dir, mut conversation) = play_file(lines);
    let providers = Providers::from_variables(|_| None);
    let first = providers
        .send(&conversation.request())
        .await
        .expect("a reply");
    assert_eq!(first.text, "first");

    conversation.ordinal = 1;
    conversation.messages = vec![
        user("Look at a"),
        assistant("Look at it.", &[("c", "read", "{}")]),
        tool("c", "content of a"),
    ];
    conversation.notices = vec!["hurry".into()];
    let second = providers
        .send(&conversation.request())
        .await
        .expect("a reply");
    let usage = second.usage.expect("estimated");
    assert_eq!(usage.output, 2, "four bytes a token");
    assert!(
        usage.input > 20,
        "system, tools and messages are counted: {}",
        usage.input
    );

    conversation.ordinal = 0;
    let failure = providers.send(&conversation.request()).await;
    let failure =
        failure.expect_err("what the model saw before is not the end of the conversation");
    assert!(failure.message.contains("Look at"));
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_kept_and_one_beyond_the_timeout_is_a_timeout() {
    let (_dir, mut conversation) = play_file(r#"{"text":"late","delay_ms":3000}"#);
    let providers = Providers::from_variables(|_| None);
    let begun = tokio::time::Instant::now();
    let reply = providers
        .send(&conversation.request())
        .await
        .expect("a reply");
    assert_eq!(
        (begun.elapsed().as_millis(), reply.latency_ms),
        (3000, 3000)
    );

    conversation.target.timeout_ms = 500;
    let failure = providers
        .send(&conversation.request())
        .await
        .expect_err("late");
    assert_eq!(
        (failure.class, failure.latency_ms),
        (FailureClass::Timeout, 500)
    );
    assert!(failure.billable);
}

#[tokio::test]
async fn an_unusable_script_ends_the_run_at_once_with_the_reason() {
    let (_dir, conversation) = play_file("{}\noops");
    let providers = Providers::from_variables(|_| None);
    let failure = providers
        .send(&conversation.request())
        .await
        .expect_err("unusable");
    assert_eq!(failure.class, FailureClass::Quota);
    assert!(failure.message.contains("line 2"), "{}", failure.message);

    let missing = Conversation::with("script", "/nowhere/play.jsonl");
    let failure = providers
        .send(&missing.request())
        .await
        .expect_err("missing");
    assert_eq!(failure.class, FailureClass::Quota);
    assert!(
        failure.message.contains("No such file"),
        "{}",
        failure.message
    );
}

#[test]
fn a_line_carries_what_providers_say_beside_the_reply() {
    let text = r#"
{"text": "a", "signed": {"dialect":"messages","items":[1]}, "stop_reason": "end_turn", "cost": 0.25, "provider": "Groq", "usage": {"input": 9, "output": 1, "cached": 2, "written": 3}}
{"text": "b", "signed": "as it is"}
"#;
    let script = Script::parse("extras", text).expect("a script");
    let reply = script.play(0, "").outcome.expect("a reply");
    assert_eq!(
        reply.signed.as_deref(),
        Some(r#"{"dialect":"messages","items":[1]}"#)
    );
    assert_eq!(reply.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(reply.cost, "0.25".parse().ok());
    assert_eq!(reply.provider.as_deref(), Some("Groq"));
    let usage = Usage {
        input: 9,
        output: 1,
        cached: 2,
        written: 3,
    };
    assert_eq!(reply.usage, Some(usage));
    let reply = script.play(1, "").outcome.expect("a reply");
    assert_eq!(reply.signed.as_deref(), Some("as it is"));
    assert_eq!(
        (reply.cost, reply.provider, reply.stop_reason),
        (None, None, None)
    );

    let refused = Script::parse("costly", r#"{"text": "a", "cost": -1}"#);
    assert!(refused.is_err_and(|error| error.to_string().contains("line 1: cost is an amount")));
}
