//! Outputs that were cut, read on page by page.

use serde_json::json;

use crate::reply::{call, echo, report};
use crate::world::World;

const FLAGS: [&str; 3] = ["--tool-output-paging", "--tool-response-max-bytes", "1000"];

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

#[test]
fn a_handle_that_is_none_is_told_to_the_model() {
    let world = World::with_tools().says([page(0), report("done")]);
    let outcome = world.run(&FLAGS, "read").good();
    assert!(outcome.tool_texts()[0].starts_with("(tool failed: there is no such handle"));
}

#[test]
fn without_paging_nothing_is_kept_and_nothing_is_offered() {
    let world = World::with_tools().says([echo("long-output"), report("done")]);
    let outcome = world.run(&FLAGS[1..], "cut").good();
    assert!(!outcome.requests[0].tools().contains(&"tool_output"));
    let log = world.log(outcome.run_id());
    let whole = "#".repeat(1200);
    assert!(!log.iter().any(|entry| entry.to_string().contains(&whole)));
}
