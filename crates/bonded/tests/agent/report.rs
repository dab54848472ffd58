//! The final report as a call: what is accepted, what is mended, and what a bad one costs.

use serde_json::{Value, json};

use crate::reply::{Reply, call, echo, report_call, written_calls};
use crate::world::{Outcome, World};

const JSON_OUTPUT: &str = "output:\n  format: json\n  schema:\n    type: object\n    required: [data]\n    properties:\n      data: { type: object }";

fn native(world: &World, flags: &[&str]) -> Outcome {
    world.run(
        &[&["--tooling-transport", "native"], flags].concat(),
        "report",
    )
}

fn reports(arguments: Value) -> Reply {
    call("agent__final_report", arguments)
}

#[test]
fn a_report_in_base64_is_decoded() {
    let encoded =
        json!({ "report_format": "pipe", "encoding": "base64", "report_content": "aMOpbGxv" });
    let outcome = native(&World::new().says([reports(encoded)]), &[]).good();
    assert_eq!(outcome.report()["content"], "héllo");
}

#[test]
fn a_raw_report_is_left_as_it_is() {
    let raw = json!({ "report_format": "pipe", "encoding": "raw", "report_content": "aMOpbGxv" });
    let outcome = native(&World::new().says([reports(raw)]), &[]).good();
    assert_eq!(outcome.report()["content"], "aMOpbGxv");
}

#[test]
fn nested_json_that_was_written_as_text_is_read_where_the_schema_wants_it() {
    let nested = json!({ "report_format": "json", "content_json": { "data": "{\"a\": 1}" } });
    let world = World::new().front(JSON_OUTPUT).says([reports(nested)]);
    let outcome = native(&world, &[]).good();
    assert_eq!(
        outcome.report()["content_json"],
        json!({ "data": { "a": 1 } })
    );
    assert_eq!(outcome.report()["format"], "json");
}

#[test]
fn a_bad_report_is_answered_and_a_good_one_accepted_in_the_turn_after() {
    let rows = [
        json!({ "report_format": "pipe" }),
        json!({ "report_format": "pipe", "report_content": "" }),
        json!({ "report_format": "pipe", "report_content": ["wrong"] }),
        json!({ "report_format": "pipe", "encoding": "rot13", "report_content": "x" }),
        json!({ "report_format": "pipe", "encoding": "base64", "report_content": "%%" }),
    ];
    for bad in rows {
        let world = World::with_tools().says([reports(bad.clone()), report_call("good")]);
        let outcome = native(&world, &["--max-turns", "5"]).good();
        assert_eq!(outcome.report()["content"], "good", "{bad}");
        let told = outcome.tool_texts()[0];
        assert!(told.starts_with("(tool failed: "), "{bad}: {told}");
        assert_eq!(
            outcome.requests[1].tools(),
            ["agent__final_report"],
            "{bad}"
        );
        assert_eq!(outcome.accounts("tool")[0]["status"], "failed", "{bad}");
    }
}

#[test]
fn a_report_that_does_not_fit_the_schema_is_answered_with_the_place() {
    let wrong = json!({ "report_format": "json", "content_json": { "data": 7 } });
    let right = json!({ "report_format": "json", "content_json": { "data": {} } });
    let world = World::new()
        .front(JSON_OUTPUT)
        .says([reports(wrong), reports(right)]);
    let outcome = native(&world, &[]).good();
    let told = outcome.tool_texts()[0];
    assert!(
        told.contains("does not fit its schema") && told.contains("data"),
        "{told}"
    );
}

#[test]
fn a_bad_report_leaves_one_more_turn_and_no_more() {
    let bad = || reports(json!({ "report_format": "pipe" }));
    let world = World::with_tools().then_always(bad());
    let outcome = native(&world, &["--max-turns", "9", "--max-retries", "2"]).failed();
    assert_eq!(outcome.result["turns"], 2);
    let metadata = &outcome.report()["metadata"];
    assert_eq!(metadata["reason"], "final_report_tool_failed");
    assert!(
        metadata["final_report_attempts"]
            .as_u64()
            .is_some_and(|count| count >= 2)
    );
}

#[test]
fn a_bad_report_before_the_last_turn_adds_no_turn() {
    let bad = reports(json!({ "report_format": "pipe" }));
    let replies = [echo("1"), echo("2"), echo("3"), bad, report_call("good")];
    let outcome = native(&World::with_tools().says(replies), &["--max-turns", "5"]).good();
    assert_eq!(outcome.result["turns"], 5);
}

#[test]
fn the_payload_of_a_bad_report_is_kept_whole() {
    let long = "y".repeat(5000);
    let bad =
        reports(json!({ "report_format": "pipe", "encoding": "rot13", "report_content": long }));
    let world = World::new().says([bad, report_call("good")]);
    let outcome = native(&world, &[]).good();
    let log = world.log(outcome.run_id());
    assert!(log.iter().any(|entry| entry.to_string().contains(&long)));
}

#[test]
fn a_report_whose_arguments_are_plain_text_is_refused_and_ends_the_run_soon() {
    let bad = || written_calls(&[("agent__final_report", "this is my report")]);
    let world = World::with_tools().says([bad(), report_call("good")]);
    let outcome = native(&world, &["--max-turns", "8", "--max-retries", "1"]).good();
    assert_eq!(outcome.report()["content"], "good");
    assert_eq!(outcome.requests[1].tools(), ["agent__final_report"]);
}

#[test]
fn a_last_turn_whose_report_fails_is_a_failure_that_says_so() {
    let bad = || reports(json!({ "report_format": "pipe" }));
    let world = World::new().then_always(bad());
    let outcome = native(&world, &["--max-turns", "1"]).failed();
    assert_eq!(
        outcome.report()["metadata"]["reason"],
        "final_report_tool_failed"
    );
    assert_eq!(outcome.report()["status"], "failure");
}

#[test]
fn the_status_is_that_of_the_source_whatever_the_model_says() {
    let claims = json!({ "report_format": "pipe", "status": "failure", "report_content": "done" });
    let outcome = native(&World::new().says([reports(claims)]), &[]).good();
    assert_eq!(outcome.report()["status"], "success");
}

#[test]
fn two_faults_in_one_reply_shorten_the_run_once() {
    let both = || {
        written_calls(&[
            ("test__test", "not an object"),
            ("agent__final_report", r#"{"report_format":"pipe"}"#),
        ])
    };
    let world = World::with_tools().says([both(), report_call("good")]);
    let outcome = native(&world, &["--max-turns", "9"]).good();
    assert_eq!(outcome.result["turns"], 2);
    assert_eq!(outcome.requests[1].tools(), ["agent__final_report"]);
}
