//! What tools give back: cut, timed, and told as a failure where it is one.

use serde_json::json;

use crate::reply::{call, echo, report};
use crate::world::World;

#[test]
fn an_output_that_is_too_long_is_cut_to_the_very_byte_and_says_so() {
    let world = World::with_tools().says([echo("long-output"), report("done")]);
    let outcome = world
        .run(&["--tool-response-max-bytes", "64"], "cut")
        .good();
    let text = outcome.tool_texts()[0];
    let notice = "[TRUNCATED] Original size 3200 bytes; truncated to 64 bytes.\n\n";
    assert_eq!(text, format!("{notice}{}", "#".repeat(64 - notice.len())));
    assert!(outcome.requests[1].said().contains(notice));
}

#[test]
fn a_cut_is_recorded_with_its_tool_and_both_sizes() {
    let world = World::with_tools().says([echo("long-output"), report("done")]);
    let outcome = world
        .run(
            &[
                "--tool-response-max-bytes",
                "100",
                "--no-tool-output-paging",
            ],
            "cut",
        )
        .good();
    let log = world.log(outcome.run_id());
    let finished = log.iter().find(|entry| entry["kind"] == "tool_finished");
    let data = &finished.expect("the tool has finished")["data"];
    assert_eq!(data["tool"], "test__test");
    assert_eq!(data["cut_from_bytes"], 3200);
    assert_eq!(data["output"].as_str().map(str::len), Some(100));
    assert!(
        !log.iter()
            .any(|entry| entry.to_string().contains(&"#".repeat(200)))
    );
    let mut lines = outcome.stderr.lines();
    let told = lines
        .find(|line| line.contains("cut from"))
        .unwrap_or_default();
    assert!(
        told.contains("test__test") && told.contains("100 B, cut from 3.2 kB"),
        "{told}"
    );
}

#[test]
fn a_tool_that_takes_too_long_is_stopped_and_the_run_goes_on() {
    let world = World::with_tools().says([echo("trigger-timeout"), report("done")]);
    let outcome = world.run(&["--tool-timeout-ms", "200"], "wait").good();
    assert_eq!(outcome.tool_texts()[0], "(tool failed: timeout)");
    let account = outcome.accounts("tool")[0];
    assert_eq!(account["status"], "failed");
    assert_eq!(account["error"], "timeout");
    assert!(
        account["latency"]
            .as_u64()
            .is_some_and(|ms| (200..1400).contains(&ms)),
        "{account}"
    );
}

#[test]
fn a_server_that_dies_in_a_call_fails_the_call_and_not_the_run() {
    let world =
        World::with_tools().says([call("test__crash", json!({})), echo("back"), report("done")]);
    let outcome = world.run(&[], "crash").good();
    assert!(outcome.tool_texts()[0].starts_with("(tool failed: "));
    assert_eq!(outcome.tool_texts()[1], "back");
}

#[test]
fn an_output_without_a_word_is_not_lost_on_the_model() {
    let world = World::with_tools().says([echo("nothing"), report("done")]);
    let outcome = world.run(&[], "say nothing").good();
    let asked = &outcome.requests[1]["messages"];
    let told = asked.as_array().into_iter().flatten();
    assert_eq!(told.filter(|message| message["role"] == "tool").count(), 1);
}
