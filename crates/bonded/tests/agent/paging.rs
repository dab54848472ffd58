//! Outputs that were cut, read on page by page.

use serde_json::json;

use crate::reply::{call, echo, report};
use crate::world::World;

const FLAGS: [&str; 2] = ["--tool-response-max-bytes", "1000"];
const OFF: &str = "--no-tool-output-paging";

fn page(offset: u64) -> crate::reply::Reply {
    let arguments = json!({ "handle": "out-1-0", "offset": offset });
    call("tool_output", arguments)
}

#[test]
fn a_cut_output_names_its_handle_and_can_be_read_to_its_end() {
    let world = World::with_tools().says([
        echo("long-output"),
        page(800),
        page(1700),
        page(2600),
        report("done"),
    ]);
    let outcome = world.run(&FLAGS, "read").good();
    let texts = outcome.tool_texts();
    let mut lines = texts[0].lines();
    assert_eq!(
        lines.next(),
        Some("[TRUNCATED] Original size 3200 bytes; truncated to 1000 bytes.")
    );
    let hint = lines.next().unwrap_or_default();
    assert!(
        hint.contains(r#"tool_output {"handle": "out-1-0", "offset": "#),
        "{hint}"
    );
    assert!(texts.iter().all(|text| text.len() <= 1000));
    assert_eq!(
        texts[3],
        format!(
            "[bytes 2600 to 3200 of 3200; the end]\n\n{}",
            "#".repeat(600)
        )
    );
    let replayed = world.bonded(&["replay", outcome.run_id()]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

/// A window in which an output of 3,200 bytes has no room as a whole.
fn narrow() -> World {
    let window = json!({ "providers": { "first": { "contextWindow": 1_900, "contextWindowBufferTokens": 32 } } });
    let long = || echo("long-output");
    let found = json!({ "calls": [{ "id": "a", "tool": "test__test", "parameters": { "text": "long-output" } }] });
    let world = World::new().front("tools: [test, batch]");
    let server = world.tool_server(&json!({}));
    world
        .config(&window)
        .config(&json!({ "mcpServers": { "test": server } }))
        .says([long(), call("agent__batch", found), report("done")])
}

#[test]
fn where_nobody_says_otherwise_what_does_not_fit_is_cut_and_the_run_goes_on() {
    let flags = ["--max-output-tokens", "64", "--trace-tools"];
    let outcome = narrow().run(&flags, "read").good();
    assert_eq!(outcome.requests.len(), 3, "{}", outcome.stderr);
    let said = outcome.requests[2].said();
    assert!(
        said.contains("the context window has no room for more"),
        "{said}"
    );
    assert!(outcome.requests[2].tools().contains(&"tool_output"));
    // Switched off, the same run is brought to its end.
    let flags = [&flags[..], &[OFF]].concat();
    let off = narrow().run(&flags, "read").good();
    let told = off
        .requests
        .iter()
        .any(|it| it.said().contains("the context is full"));
    assert!(told, "{}", off.stderr);
}

#[test]
fn an_agent_without_tools_has_nothing_to_read_on_in() {
    let outcome = World::new().says([report("done")]).run(&[], "read").good();
    assert_eq!(outcome.requests[0].tools(), Vec::<&str>::new());
}

#[test]
fn without_paging_nothing_is_kept_and_nothing_is_offered() {
    let world = World::with_tools().says([echo("long-output"), report("done")]);
    let outcome = world.run(&[OFF, FLAGS[0], FLAGS[1]], "cut").good();
    assert!(!outcome.requests[0].tools().contains(&"tool_output"));
    let log = world.log(outcome.run_id());
    let whole = "#".repeat(1200);
    assert!(!log.iter().any(|entry| entry.to_string().contains(&whole)));
}
