//! Progress reports: what a model says for those who watch.

use serde_json::json;

use crate::reply::{calls, report};
use crate::world::World;

const PROGRESS: &str = "agent__progress_report";

fn telling(said: &str) -> crate::reply::Reply {
    calls(&[
        (PROGRESS, json!({ "progress": said })),
        ("test__test", json!({ "text": "hello" })),
    ])
}

#[test]
fn a_progress_report_is_answered_shown_and_accounted_beside_the_tool() {
    let world = World::with_tools().says([telling("reading the mail"), report("done")]);
    let outcome = world.run(&["--progress-reports"], "work").good();
    assert_eq!(outcome.tool_texts(), [r#"{"ok":true}"#, "hello"]);
    assert!(
        outcome.stderr.contains("progress: reading the mail"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        outcome.account_fields("tool", "command")[..2],
        [PROGRESS, "test__test"]
    );
    let log = world.log(outcome.run_id());
    let told = log
        .iter()
        .find(|entry| entry["kind"] == "progress_reported");
    let told = told.expect("the log tells of progress");
    assert_eq!(told["data"]["progress"], "reading the mail");
}

#[test]
fn progress_is_offered_where_it_is_wanted_and_there_is_something_to_do() {
    let offers = |world: World, flags: &[&str]| {
        let world = world.says([report("done")]);
        let outcome = world.run(flags, "work").good();
        outcome.requests[0].tools().contains(&PROGRESS)
    };
    assert!(offers(World::with_tools(), &["--progress-reports"]));
    assert!(!offers(World::with_tools(), &[]));
    assert!(!offers(World::new(), &["--progress-reports"]));
    assert!(!offers(
        World::new().front("tools: batch"),
        &["--progress-reports"]
    ));
}
