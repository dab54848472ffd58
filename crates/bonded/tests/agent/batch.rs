//! `batch` in an agent's tools: several calls in one.

use serde_json::{Value, json};

use crate::reply::{call, report};
use crate::world::{Outcome, World};

const BATCH: &str = "agent__batch";

/// An agent with the tool server and `batch`.
fn batching() -> World {
    let world = World::new().front("tools: test, batch");
    let server = world.tool_server(&json!({}));
    world.config(&json!({ "mcpServers": { "test": server } }))
}

fn echo(id: &str, said: &str) -> Value {
    json!({ "id": id, "tool": "test__test", "parameters": { "text": said } })
}

fn batch(calls: Value) -> crate::reply::Reply {
    call(BATCH, Value::from_iter([("calls", calls)]))
}

fn results(outcome: &Outcome) -> Vec<Value> {
    let text = outcome.tool_texts()[0];
    let value: Value = serde_json::from_str(text).expect("the answer of a batch is JSON");
    value["results"].as_array().expect("an array").clone()
}

#[test]
fn batch_is_offered_only_where_the_tools_of_the_agent_name_it() {
    let world = batching().says([report("done")]);
    let outcome = world.run(&[], "look").good();
    assert!(outcome.requests[0].tools().contains(&BATCH));
    let world = World::with_tools().says([report("done")]);
    let outcome = world.run(&[], "look").good();
    assert!(!outcome.requests[0].tools().contains(&BATCH));
}

#[test]
fn members_are_executed_accounted_and_answered_together() {
    let bad = json!({ "id": "c", "tool": "test__nothing", "parameters": {} });
    let world = batching().says([
        batch(json!([
            echo("a", "hello"),
            echo("b", "trigger-mcp-failure"),
            bad
        ])),
        report("done"),
    ]);
    let outcome = world.run(&[], "batch").good();
    let results = results(&outcome);
    assert_eq!(results[0]["output"], "hello");
    assert_eq!(results[1]["error"]["code"], "EXECUTION_ERROR");
    assert_eq!(results[2]["error"]["code"], "UNKNOWN_TOOL");
    let ids: Vec<&Value> = results.iter().map(|result| &result["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let commands = outcome.account_fields("tool", "command");
    assert_eq!(commands.iter().filter(|it| **it == "test__test").count(), 2);
    assert!(commands.contains(&BATCH));
    let verified = world.bonded(&["replay", outcome.run_id()]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_batch_is_not_cut_as_a_whole_its_members_are() {
    let long = || echo("x", "long-output");
    let world = batching().says([batch(json!([long(), long(), long()])), report("done")]);
    let outcome = world
        .run(&["--tool-response-max-bytes", "1000"], "cut")
        .good();
    let results = results(&outcome);
    assert_eq!(results.len(), 3);
    for result in &results {
        let output = result["output"].as_str().expect("an output");
        let notice = "[TRUNCATED] Original size 3200 bytes; truncated to 1000 bytes.\nRead on with tool_output {";
        assert!(output.starts_with(notice), "{output}");
        assert!((990..=1000).contains(&output.len()), "{}", output.len());
    }
    assert!(outcome.tool_texts()[0].len() > 3000);
}
