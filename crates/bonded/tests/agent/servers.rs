//! Tool servers over HTTP, and servers that do not stay what they were.

use std::time::Duration;

use serde_json::json;

use crate::provider::{Asked, Provider};
use crate::reply::{Reply, call, echo, raw, report, text};
use crate::world::{World, start};

/// A server with one tool, which tells what header it was sent. Gives its address.
fn web() -> String {
    format!("{}/mcp", Provider::answering(answer).origin())
}

fn answer(asked: &Asked) -> Reply {
    if asked["id"].is_null() {
        return raw(202, "application/json", "");
    }
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "token", "inputSchema": { "type": "object" } }] })
        }
        _ => json!({ "content": [{ "type": "text", "text": asked.headers.get("x-token") }] }),
    };
    let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    raw(200, "application/json", body.to_string())
}

#[test]
fn a_server_over_http_is_called_with_its_secret_and_the_secret_is_in_no_log() {
    let server = json!({ "url": web(), "secretHeaders": { "X-Token": "<${TOKEN}>" } });
    let world = World::new()
        .front("tools: far")
        .config(&json!({ "mcpServers": { "far": server } }))
        .file(".ai-agent.env", "TOKEN=hX7-kQ2-vN9w")
        .says([call("far__token", json!({})), report("done")]);
    let outcome = world.run(&[], "do it").good();
    // What is masked is what the server was sent: a variable that was not put in would be shown.
    let texts = outcome.tool_texts();
    assert!(texts[0].starts_with("[secret "), "{texts:?}");
    let log = world.log(outcome.run_id());
    let started = log.first().expect("a run begins").to_string();
    assert!(started.contains("far__token"), "{started}");
    assert!(
        !started.contains("hX7-kQ2-vN9w") && !outcome.stderr.contains("hX7-kQ2-vN9w"),
        "{started}"
    );
}

#[test]
fn a_resumed_run_calls_no_tool_that_became_another_one_and_a_person_is_told() {
    let tools = |description: &str| {
        json!([{ "name": "extra", "description": description, "inputSchema": { "type": "object" } }])
            .to_string()
    };
    let world = World::with_tools()
        .file("tools.json", tools("first"))
        .says([
            echo("a"),
            text("late").delayed_ms(60_000),
            call("test__extra", json!({})),
            report("done"),
        ]);
    let file = world.path("tools.json");
    let world =
        world.config(&json!({ "mcpServers": { "test": { "env": { "EXTRA_TOOLS_FILE": file } } } }));
    let mut child = start(&mut world.run_command(&["--id", "killed"], "go on"));
    while world.requests().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    std::fs::write(file, tools("second")).expect("it can be written");
    let outcome = world.bonded(&["resume", "killed", "--json"]).good();
    let texts = outcome.tool_texts();
    assert!(
        texts[1].contains("tool_changed: ") && texts[1].contains("description"),
        "{texts:?}"
    );
    let warning = "warning: the MCP server \"test\" changed the description of \"extra\"";
    assert!(outcome.stderr.contains(warning), "{}", outcome.stderr);
}

#[test]
fn progress_is_traced_where_somebody_asks_for_it() {
    for (flags, is_shown) in [(&["--trace-mcp"][..], true), (&[], false)] {
        let world = World::with_tools().says([call("test__progress", json!({})), report("done")]);
        let outcome = world.run(flags, "do it").good();
        let shown = outcome.stderr.contains("trace: progress of test: 2 of 3");
        assert_eq!(shown, is_shown, "{}", outcome.stderr);
    }
}
