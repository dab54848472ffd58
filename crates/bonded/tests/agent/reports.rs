//! Final reports: where they come from, what is in them, and in which format.

use serde_json::{Value, json};

use crate::reply::{call, report, report_call, report_tag, text};
use crate::world::World;

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
fn a_json_report_is_checked_and_the_model_is_told_what_is_wrong() {
    let schema = "output:\n  format: json\n  schema:\n    type: object\n    required: [sum]\n    properties:\n      sum: {type: integer}";
    let world = World::new().front(schema).says([
        text(&report_tag("json", r#"{"sum": "three"}"#)),
        text(&report_tag("json", r#"{"sum": 3}"#)),
    ]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.report()["content_json"], json!({ "sum": 3 }));
    let told = outcome.requests[1].said();
    assert!(
        told.contains("(tool failed: ") && told.contains("sum"),
        "{told}"
    );
    assert_eq!(outcome.account_fields("tool", "status"), ["failed", "ok"]);
}

#[test]
fn the_payload_of_a_bad_report_is_kept_whole() {
    let long = "y".repeat(5000);
    let bad = json!({ "report_format": "pipe", "encoding": "rot13", "report_content": long });
    let world = World::new().says([call("agent__final_report", bad), report_call("good")]);
    let outcome = world
        .run(&["--tooling-transport", "native"], "do it")
        .good();
    let log = world.log(outcome.run_id());
    assert!(log.iter().any(|entry| entry.to_string().contains(&long)));
}
