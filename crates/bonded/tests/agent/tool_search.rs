//! Many tools of servers: those that are not sent are found by a search.

use serde_json::{Value, json};

use crate::reply::{call, report};
use crate::world::World;

/// An agent whose server offers so many tools more than its own.
fn crowded(tools: usize) -> World {
    let tool = |n: usize| {
        let description = format!(
            "Counts the boxes of warehouse {n}, and says which of them are empty or damaged."
        );
        let schema = json!({ "type": "object", "properties": { "shelf": { "type": "string", "description": "The shelf to count." } } });
        json!({ "name": format!("count_{n}"), "description": description, "inputSchema": schema })
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let world = World::with_tools().file("tools.json", json!(tools).to_string());
    let file = world.path("tools.json");
    world.config(&json!({ "mcpServers": { "test": { "env": { "EXTRA_TOOLS_FILE": file } } } }))
}

#[test]
fn many_tools_are_found_by_a_search_and_called_and_the_requests_stay_short() {
    let world = crowded(120).says([
        call(
            "agent__find_tools",
            json!({ "query": "boxes of warehouse 77" }),
        ),
        call("test__count_77", json!({ "shelf": "a" })),
        report("done"),
    ]);
    let outcome = world.run(&[], "count").good();
    let requests = &outcome.requests;
    let first = requests[0].tools();
    assert!(
        first.contains(&"agent__find_tools") && !first.contains(&"test__count_77"),
        "{first:?}"
    );
    let second = requests[1].tools();
    assert!(
        second.contains(&"test__count_77") && !second.contains(&"test__count_99"),
        "{second:?}"
    );
    let texts = outcome.tool_texts();
    assert!(
        texts[0].contains("test__count_77: Counts the boxes of warehouse 77"),
        "{texts:?}"
    );
    let replayed = world.bonded(&["replay", outcome.run_id()]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");

    let whole = crowded(120).says([report("done")]);
    let all = whole.run(&["--tool-search-above", "none"], "count").good();
    let bytes = |tools: &Value| tools.to_string().len();
    let (short, long) = (
        bytes(&requests[0]["tools"]),
        bytes(&all.requests[0]["tools"]),
    );
    assert!(short * 4 < long, "{short} and {long} bytes");
}

#[test]
fn a_run_with_few_tools_sends_all_of_them() {
    let outcome = crowded(3).says([report("done")]).run(&[], "count").good();
    let sent = outcome.requests[0].tools();
    assert!(
        sent.contains(&"test__count_2") && !sent.contains(&"agent__find_tools"),
        "{sent:?}"
    );
}
