//! The world itself: what every other test takes for granted.

use serde_json::json;

use crate::reply::{echo, report, report_call};
use crate::world::World;

#[test]
fn a_report_by_tag_is_the_result() {
    let world = World::new().says([report("it is done")]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.report()["content"], "it is done");
    assert_eq!(outcome.requests.len(), 1);
    assert_eq!(outcome.requests[0].headers["authorization"], "Bearer key-1");
}

#[test]
fn a_tool_server_is_called_and_a_report_by_call_is_the_result() {
    let world = World::with_tools().says([echo("hello"), report_call("heard")]);
    let outcome = world
        .run(&["--tooling-transport", "native"], "do it")
        .good();
    assert_eq!(outcome.tool_texts()[0], "hello");
    assert_eq!(outcome.report()["content"], json!("heard"));
}
