//! Final reports: where they come from, what is in them, and in which format.

use serde_json::{Value, json};

use crate::reply::{call, echo, report, report_call, report_tag, text, written_calls};
use crate::world::World;

const NATIVE: [&str; 2] = ["--tooling-transport", "native"];

#[test]
fn a_report_has_status_format_time_and_content_whichever_way_it_came() {
    let as_text = json!({ "report_format": "pipe", "report_content": "done" }).to_string();
    for (transport, reply, source) in [
        ("native", report_call("done"), "tool-call"),
        ("xml-final", report("done"), "xml"),
        ("native", text(&as_text), "text-fallback"),
    ] {
        let world = World::new()
            .front("maxTurns: 1\nmaxRetries: 1")
            .says([reply]);
        let outcome = world
            .run(&["--tooling-transport", transport], "do it")
            .good();
        let report = outcome.report();
        assert_eq!(report["status"], "success", "{source}: {report:#}");
        assert_eq!(report["source"], source, "{report:#}");
        assert_eq!(report["format"], "pipe");
        assert_eq!(report["content"], "done");
        assert!(report["ts"].is_u64(), "{report:#}");
        assert!(outcome.result["error"].is_null());
    }
}

#[test]
fn a_run_without_a_report_of_the_model_gets_a_synthetic_one_that_is_a_failure() {
    let world = World::new()
        .front("maxTurns: 2\nmaxRetries: 1")
        .then_always(text(""));
    let outcome = world.run(&[], "do it").failed();
    let report = outcome.report();
    assert_eq!(report["status"], "failure");
    assert_eq!(report["source"], "synthetic");
    assert_eq!(report["format"], "pipe");
    assert_eq!(report["metadata"]["reason"], "max_turns_exhausted");
    assert_eq!(report["metadata"]["turns_completed"], 2);
    assert_eq!(outcome.result["error"], report["content"]);
}

/// Each format with a payload, and the field of the report that holds it.
fn formats() -> Vec<(&'static str, String, &'static str, Value)> {
    let blocks =
        json!([{ "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": "hi" } }] }]);
    let raw = "  <b>&amp;</b> {\"a\": 1} \\n  ";
    let mut formats: Vec<_> = ["markdown", "markdown+mermaid", "tty", "pipe", "sub-agent"]
        .into_iter()
        .map(|format| (format, raw.to_owned(), "content", json!(raw)))
        .collect();
    let object = json!({ "status": "failure", "format": "mine", "tool": "mine", "ts": 1 });
    formats.push(("json", object.to_string(), "content_json", object));
    formats.push(("slack-block-kit", blocks.to_string(), "messages", blocks));
    formats
}

#[test]
fn the_payload_of_a_tag_is_the_content_of_its_format_and_nothing_around_it_gets_in() {
    for (format, payload, field, expected) in formats() {
        let world = World::new().says([text(&report_tag(format, &payload))]);
        let outcome = world.run(&["--format", format], "do it").good();
        let report = outcome.report();
        assert_eq!(report["format"], format, "{report:#}");
        assert_eq!(report["status"], "success", "{report:#}");
        assert_eq!(report[field], expected, "{report:#}");
        assert_eq!(outcome.requests.len(), 1, "{format}");
    }
}

#[test]
fn another_format_than_the_expected_one_is_put_right_with_a_warning() {
    let native = json!({ "report_format": "json", "report_content": "done" });
    for (flags, reply) in [
        (&NATIVE[..], call("agent__final_report", native)),
        (&[][..], text(&report_tag("slack-block-kit", "done"))),
        (&[][..], text(&report_tag("no-such-format", "done"))),
    ] {
        let world = World::new().says([reply]);
        let outcome = world.run(flags, "do it").good();
        assert_eq!(outcome.report()["format"], "pipe");
        assert_eq!(outcome.report()["content"], "done");
        assert_eq!(outcome.requests.len(), 1);
        let log = world.log(outcome.run_id());
        let finished = log.iter().find(|entry| entry["kind"] == "tool_finished");
        let output = finished.map(|entry| entry["data"]["output"].to_string());
        assert!(
            output
                .as_ref()
                .is_some_and(|it| it.contains("warnings") && it.contains("pipe")),
            "{output:?}"
        );
    }
}

#[test]
fn the_model_has_no_say_in_the_status() {
    let arguments =
        json!({ "report_format": "pipe", "report_content": "it failed", "status": "failure" });
    let world = World::new().says([call("agent__final_report", arguments)]);
    let outcome = world.run(&NATIVE, "do it").good();
    assert_eq!(outcome.report()["status"], "success");
    let attributes = "tool=\"agent__final_report\" format=\"pipe\" status=\"failure\"";
    let world = World::new().says([text(&crate::reply::tag("FINAL", attributes, "it failed"))]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.report()["status"], "success");
}

fn with_schema() -> World {
    World::new().front(
        "output:\n  format: json\n  schema:\n    type: object\n    required: [sum]\n    properties:\n      sum: {type: integer}\n      data: {type: object}",
    )
}

#[test]
fn a_json_report_is_checked_and_the_model_is_told_what_is_wrong() {
    for (bad, why) in [
        ("not json at all", "JSON"),
        (r#"{"sum": "three"}"#, "sum"),
        ("{}", "sum"),
    ] {
        let world = with_schema().says([
            text(&report_tag("json", bad)),
            text(&report_tag("json", r#"{"sum": 3}"#)),
        ]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.report()["content_json"], json!({ "sum": 3 }));
        let told = outcome.requests[1].said();
        assert!(
            told.contains("(tool failed: ") && told.contains(why),
            "{bad}: {told}"
        );
        assert_eq!(outcome.account_fields("tool", "status"), ["failed", "ok"]);
    }
}

#[test]
fn a_text_where_the_schema_wants_an_object_is_parsed() {
    let nested = json!({ "sum": 3, "data": "{\"a\": [1]}" });
    let world = with_schema().says([text(&report_tag("json", &nested.to_string()))]);
    let outcome = world.run(&[], "do it").good();
    let expected = json!({ "sum": 3, "data": { "a": [1] } });
    assert_eq!(outcome.report()["content_json"], expected);
}

#[test]
fn slack_wants_messages_of_blocks_and_odd_shapes_are_put_into_theirs() {
    let section = json!({ "type": "section", "text": { "type": "mrkdwn", "text": "hi" } });
    let expected = json!([{ "blocks": [section] }]);
    for payload in [
        expected.clone(),
        json!({ "messages": expected }),
        json!({ "blocks": [section] }),
        json!([section]),
    ] {
        let world = World::new().says([text(&report_tag("slack-block-kit", &payload.to_string()))]);
        let outcome = world.run(&["--format", "slack-block-kit"], "do it").good();
        assert_eq!(outcome.report()["messages"], expected, "{payload}");
        let metadata = &outcome.report()["metadata"];
        assert_eq!(metadata["slack"]["messages"], expected, "{payload}");
    }
    let world = World::new().says([
        text(&report_tag("slack-block-kit", "[]")),
        text(&report_tag("slack-block-kit", &expected.to_string())),
    ]);
    let outcome = world.run(&["--format", "slack-block-kit"], "do it").good();
    assert_eq!(outcome.requests.len(), 2);
}

#[test]
fn a_json_report_in_the_text_of_the_last_turn_is_the_last_resort() {
    let said = json!({ "report_format": "json", "content_json": { "sum": 3 } }).to_string();
    let world = World::new()
        .front("maxTurns: 1\nmaxRetries: 1")
        .says([text(&said)]);
    let flags = ["--tooling-transport", "native", "--format", "json"];
    let outcome = world.run(&flags, "do it").good();
    assert_eq!(outcome.report()["source"], "text-fallback");
    assert_eq!(outcome.report()["content_json"], json!({ "sum": 3 }));
    assert_eq!(outcome.report()["content"], r#"{"sum":3}"#);
}

#[test]
fn a_report_in_an_earlier_text_waits_for_a_better_one() {
    let early = json!({ "report_format": "pipe", "report_content": "early" }).to_string();
    let world = World::new()
        .front("maxTurns: 5")
        .says([text(&early), report_call("late")]);
    let outcome = world.run(&NATIVE, "do it").good();
    assert_eq!(outcome.report()["content"], "late");
    assert_eq!(outcome.report()["source"], "tool-call");
}

#[test]
fn text_that_is_no_report_is_not_taken_for_one_before_the_last_turn() {
    let rows = [
        ("All done!", 2),
        (r#"{"answer": 42}"#, 2),
        (r#"{"format": "pipe"}"#, 1),
    ];
    for (said, turns) in rows {
        let world = World::new()
            .front(&format!("maxTurns: {turns}\nmaxRetries: 1"))
            .says([text(said), text("")]);
        let outcome = world.run(&NATIVE, "do it").failed();
        assert_eq!(outcome.report()["source"], "synthetic", "{said}");
    }
}

#[test]
fn a_report_call_that_cannot_be_read_is_followed_by_one_more_turn() {
    let world = World::with_tools()
        .front("maxTurns: 9\nmaxRetries: 1")
        .says([
            written_calls(&[("agent__final_report", "just a string")]),
            echo("still working"),
            echo("never asked"),
        ]);
    let outcome = world.run(&NATIVE, "do it").failed();
    assert_eq!(outcome.requests.len(), 2, "{outcome:#?}");
    assert_eq!(outcome.requests[1].tools(), ["agent__final_report"]);
}

#[test]
fn metadata_of_the_model_stands_beside_the_report() {
    let arguments = json!({ "report_format": "pipe", "report_content": "done", "metadata": { "mood": "good" } });
    let world = World::new().says([call("agent__final_report", arguments)]);
    let outcome = world.run(&NATIVE, "do it").good();
    assert_eq!(outcome.report()["metadata"], json!({ "mood": "good" }));
}
