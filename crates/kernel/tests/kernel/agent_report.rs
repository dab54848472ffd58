//! What an agent delivers, whichever way it comes.

use bonded_kernel::{
    Encoding, Failure, FailureClass, Input, Message, ReportFormat, ReportSource, ReportStatus,
    TerminationKind,
};
use serde_json::{Value, json};

use crate::agent_common::{
    ENCODINGS, NONCE, REPORT, agent, final_tag, markdown, report_call, report_in, tag, tool_tag,
};
use crate::common::{World, call, failure, look, reply, text};

fn metadata(world: &World) -> Value {
    world.report().metadata.unwrap_or_default()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "tidy": { "type": "boolean" }, "data": { "type": "object" } },
        "required": ["tidy"],
        "additionalProperties": false
    })
}

#[test]
fn a_native_report_ends_the_conversation_with_its_call_and_an_ok() {
    let mut world = agent(Encoding::Native).begin();
    world.turn(look("a"), "a spade");
    world.reply(reply([markdown("tidy")]));
    assert_eq!(
        world.roles(),
        ["user", "assistant", "tool", "assistant", "tool"]
    );
    let linked = world.run.messages().windows(2).all(|pair| match pair {
        [
            Message::Assistant { calls, .. },
            Message::Tool { call_id, .. },
        ] => calls[0].id == *call_id,
        _ => true,
    });
    assert!(linked, "an answer names its call");
    let results = world.results();
    assert_eq!(
        results.last().map(|(_, text)| text.as_str()),
        Some(r#"{"ok":true}"#)
    );
    assert!(world.is_reported_by(ReportSource::ToolCall));
}

#[test]
fn the_model_has_no_say_in_the_status() {
    let mut world = agent(Encoding::Native).begin();
    let said = json!({ "status": "failure", "report_format": "markdown", "report_content": "bad" });
    world.reply(reply([report_call(&said)]));
    assert!(world.is_reported_by(ReportSource::ToolCall));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    let mut world = agent(Encoding::XmlFinal).begin();
    world.reply(text(&tag("FINAL", r#"status="failure""#, "bad")));
    assert!(world.is_reported_by(ReportSource::Xml));
}

#[test]
fn base64_is_decoded() {
    let mut world = agent(Encoding::Native).begin();
    let said =
        json!({ "report_format": "markdown", "encoding": "base64", "report_content": "IyB0aWR5" });
    world.reply(reply([report_call(&said)]));
    assert_eq!(world.content(), "# tidy");
}

#[test]
fn another_format_than_the_expected_one_is_put_right() {
    let mut world = agent(Encoding::Native).begin();
    let said = json!({ "report_format": "json", "report_content": "tidy" });
    world.reply(reply([report_call(&said)]));
    assert_eq!(world.report().format, ReportFormat::Markdown);
    assert!(
        world.results()[0].1.contains("warnings"),
        "{:?}",
        world.results()
    );
    for format in ["json", "no-such-format"] {
        let mut world = agent(Encoding::XmlFinal).begin();
        let attributes = format!("format=\"{format}\"");
        world.reply(text(&tag("FINAL", &attributes, "tidy")));
        assert_eq!(world.report().format, ReportFormat::Markdown);
        assert!(world.is_reported_by(ReportSource::Xml));
    }
}

#[test]
fn a_json_report_is_held_against_its_schema_and_nested_text_is_parsed() {
    let mut world = agent(Encoding::Native)
        .reports(ReportFormat::Json, Some(schema()))
        .begin();
    let said =
        json!({ "report_format": "json", "content_json": { "tidy": true, "data": "{\"n\":1}" } });
    world.reply(reply([report_call(&said)]));
    let wanted = json!({ "tidy": true, "data": { "n": 1 } });
    assert_eq!(world.report().content_json, Some(wanted));
}

/// Reports that can be read and are not good enough.
fn wanting() -> [Value; 5] {
    [
        json!({ "report_format": "json" }),
        json!({ "report_format": "json", "content_json": "tidy" }),
        json!({ "report_format": "json", "content_json": { "tidy": "yes" } }),
        json!({ "report_format": "json", "content_json": { "tidy": true, "more": 1 } }),
        json!({ "report_format": "json", "encoding": "rot13", "content_json": "{}" }),
    ]
}

#[test]
fn a_report_found_wanting_is_answered_and_leaves_one_more_turn() {
    for wrong in wanting() {
        let setup = agent(Encoding::Native)
            .turns(9)
            .reports(ReportFormat::Json, Some(schema()));
        let mut world = setup.begin();
        world.reply(reply([report_call(&wrong)]));
        let results = world.results();
        assert!(
            results[0].1.starts_with("(tool failed: "),
            "{wrong}: {results:?}"
        );
        assert_eq!(world.offered_tools(), [REPORT], "turn 2 is the last");
        let payload = world
            .entries
            .iter()
            .any(|entry| String::from_utf8_lossy(&entry.body).contains("report_format"));
        assert!(payload, "the log keeps what was given");
        let good = json!({ "report_format": "json", "content_json": { "tidy": true } });
        world.reply(reply([report_call(&good)]));
        assert!(world.is_reported_by(ReportSource::ToolCall));
        assert_eq!(world.run.turn(), 2);
    }
}

#[test]
fn a_report_that_fails_in_the_last_turn_is_named_as_the_reason() {
    let mut world = agent(Encoding::Native).turns(1).attempts(1).begin();
    world.reply(reply([report_call(
        &json!({ "report_format": "markdown", "report_content": 5 }),
    )]));
    assert_eq!(world.synthetic_reason(), "final_report_tool_failed");
    assert_eq!(metadata(&world)["final_report_attempts"], json!(1));
    assert_eq!(metadata(&world)["turns_completed"], json!(1));
}

#[test]
fn a_report_that_cannot_be_read_collapses_the_turns_once() {
    let mut world = agent(Encoding::Native).turns(5).attempts(3).begin();
    for nth in 1..=3 {
        world.turn(look(&format!("{nth}")), "a spade");
    }
    world.reply(reply([call(REPORT, "just words")]));
    assert_eq!(world.run.turn(), 4, "a retry in the same turn");
    world.reply(reply([call(REPORT, "just words")]));
    world.reply(reply([call(REPORT, "just words")]));
    assert_eq!(world.run.turn(), 5);
    assert_eq!(world.offered_tools(), [REPORT]);
    world.reply(reply([markdown("tidy")]));
    assert!(world.is_reported_by(ReportSource::ToolCall));
}

#[test]
fn a_bad_report_before_the_last_turn_adds_no_turn_and_two_faults_shorten_the_run_once() {
    let wrong = || report_call(&json!({ "report_format": "markdown" }));
    let mut world = agent(Encoding::Native).turns(5).begin();
    for nth in 1..=3 {
        world.turn(look(&format!("{nth}")), "a spade");
    }
    world.reply(reply([wrong()]));
    world.reply(reply([markdown("tidy")]));
    assert_eq!((world.run.turn(), world.content()), (5, "tidy".into()));
    let mut world = agent(Encoding::Native).turns(9).begin();
    world.reply(reply([call("look", "no object"), wrong()]));
    assert_eq!(
        (world.run.turn(), world.offered_tools()),
        (2, vec![REPORT.to_owned()])
    );
    // What is wrong again in that turn ends the run with it.
    while world.ended().is_none() {
        world.reply(reply([wrong()]));
    }
    assert_eq!(world.run.turn(), 2);
    assert_eq!(world.synthetic_reason(), "final_report_tool_failed");
}

#[test]
fn reports_that_never_can_be_read_are_counted() {
    let mut world = agent(Encoding::Native).turns(2).attempts(2).begin();
    for _ in 0..4 {
        world.reply(reply([call(REPORT, "just words")]));
    }
    assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
    assert_eq!(metadata(&world)["final_report_attempts"], json!(4));
}

#[test]
fn a_report_in_the_text_is_the_last_resort() {
    let said = r#"{"report_format":"markdown","report_content":"tidy"}"#;
    let mut world = agent(Encoding::Native).turns(1).attempts(1).begin();
    world.reply(text(said));
    assert!(world.is_reported_by(ReportSource::Text));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.content(), "tidy");
    let mut world = agent(Encoding::Native).turns(5).begin();
    world.reply(text(said));
    assert_eq!(world.ended(), None, "there may be a better one");
    world.reply(reply([markdown("better")]));
    assert_eq!(world.content(), "better");
    let mut world = agent(Encoding::Native).turns(1).attempts(1).begin();
    world.reply(text("The shed is tidy, I report."));
    assert!(world.is_reported_by(ReportSource::Text));
}

#[test]
fn a_json_report_in_the_text_has_its_text_and_its_value() {
    let setup = agent(Encoding::Native)
        .turns(1)
        .attempts(1)
        .reports(ReportFormat::Json, Some(schema()));
    let mut world = setup.begin();
    world.reply(text(
        r#"{"report_format":"json","content_json":{"tidy":true}}"#,
    ));
    let report = world.report();
    assert_eq!(report.content_json, Some(json!({ "tidy": true })));
    assert_eq!(
        report.content.map(|it| it.to_string()),
        Some(r#"{"tidy":true}"#.into())
    );
}

#[test]
fn text_beside_a_broken_call_waits_for_the_better_report() {
    let mut world = agent(Encoding::Native).turns(5).begin();
    world.reply(bonded_kernel::Reply {
        text: r#"{"report_format":"markdown","report_content":"early"}"#.into(),
        ..reply([call(REPORT, "broken")])
    });
    assert_eq!(world.ended(), None);
    world.reply(reply([markdown("late")]));
    assert_eq!(world.content(), "late");
}

#[test]
fn slack_messages_are_put_into_the_one_shape() {
    let mut world = agent(Encoding::Native)
        .reports(ReportFormat::SlackBlockKit, None)
        .begin();
    let said = json!({ "report_format": "slack-block-kit", "messages": ["**done**", { "blocks": [{ "type": "divider" }] }] });
    world.reply(reply([report_call(&said)]));
    let messages = metadata(&world)["slack"]["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(2));
    assert_eq!(messages[0]["blocks"][0]["text"]["text"], json!("*done*"));
    assert_eq!(world.report().messages, Some(messages));
}

#[test]
fn what_wraps_a_report_never_becomes_part_of_it() {
    let opaque = json!({ "status": "failure", "format": "tty", "tool": "x" }).to_string();
    let mut world = agent(Encoding::XmlFinal)
        .reports(ReportFormat::SubAgent, None)
        .begin();
    world.reply(text(&final_tag(&opaque)));
    assert_eq!(world.content(), opaque, "what a sub-agent says is opaque");
    let setup = agent(Encoding::Xml).reports(ReportFormat::Json, Some(schema()));
    let mut world = setup.begin();
    world.reply(text(&final_tag(r#"{"tidy":false}"#)));
    assert_eq!(world.report().content_json, Some(json!({ "tidy": false })));
    let mut world = agent(Encoding::Xml).begin();
    let arguments = json!({ "report_format": "markdown", "report_content": "tidy" }).to_string();
    world.reply(text(&tool_tag(1, REPORT, &arguments)));
    assert_eq!(
        world.content(),
        "tidy",
        "a report in a numbered slot has arguments"
    );
}

#[test]
fn a_report_over_a_tag_has_no_answer_and_a_bad_one_has() {
    for encoding in [Encoding::XmlFinal, Encoding::Xml] {
        let mut world = agent(encoding).begin();
        world.reply(report_in(encoding, "tidy"));
        assert_eq!(world.roles(), ["user", "assistant"], "{encoding:?}");
        let setup = agent(encoding).reports(ReportFormat::Json, Some(schema()));
        let mut world = setup.begin();
        world.reply(text(&final_tag("no JSON at all")));
        let told = world.conversation();
        let (role, answer) = &told[2];
        assert_eq!(*role, "user");
        let named = format!("{NONCE}-FINAL ({REPORT})");
        assert!(
            answer.contains(&named) && answer.contains("status: failed"),
            "{answer}"
        );
        world.reply(text(&final_tag(r#"{"tidy":true}"#)));
        assert!(world.is_reported_by(ReportSource::Xml));
    }
}

#[test]
fn a_limit_that_ends_an_agent_leaves_a_failure_report() {
    let mut world = agent(Encoding::Native)
        .limit(|limits| limits.elapsed_ms_max = Some(10))
        .begin();
    world.after(20).reply(reply([look("a")]));
    assert_eq!(world.ended(), Some(TerminationKind::TimedOut));
    assert_eq!(world.synthetic_reason(), "limit_reached");
    let mut world = agent(Encoding::Native).begin();
    world.cancel("enough");
    assert_eq!(world.ended(), Some(TerminationKind::Cancelled));
    assert_eq!(world.run.report(), None);
}

#[test]
fn a_synthetic_report_has_the_format_that_was_asked_for() {
    for format in ReportFormat::ALL {
        let setup = agent(Encoding::Native)
            .turns(1)
            .attempts(1)
            .reports(format, None);
        let mut world = setup.begin();
        world.reply(text(""));
        let report = world.report();
        assert_eq!(
            (report.format, report.status),
            (format, ReportStatus::Failure)
        );
        assert!(
            world.content().contains("without a final report"),
            "{format}"
        );
    }
}

#[test]
fn a_long_report_is_delivered_whole_whichever_way_it_came() {
    for length in [512, 513, 100_000] {
        let content = "a spade and a rake ".repeat(length)[..length]
            .trim()
            .to_owned()
            + ".";
        for encoding in ENCODINGS {
            let mut world = agent(encoding).begin();
            world.reply(report_in(encoding, &content));
            assert_eq!(world.content(), content, "{encoding:?} {length}");
            let again = World::from_log(world.entries.clone());
            assert_eq!(again.content(), content, "{encoding:?} {length}");
        }
        let mut world = agent(Encoding::Native).turns(1).attempts(2).begin();
        world.reply(text(&content));
        world.reply(text(&content));
        assert_eq!(world.content(), content, "text {length}");
    }
}

#[test]
fn a_run_that_a_limit_ends_says_why_however_long_the_reason_is() {
    let mut world = agent(Encoding::Native)
        .limit(|limits| limits.elapsed_ms_max = Some(100_000))
        .begin();
    world.fail(Failure {
        message: "out of order ".repeat(100),
        ..failure(FailureClass::Network)
    });
    world.after(200_000).input(Input::DeadlineReached);
    assert_eq!(world.ended(), Some(TerminationKind::TimedOut));
    assert!(!world.content().is_empty(), "{:?}", world.report());
}
