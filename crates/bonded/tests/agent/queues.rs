//! Queues: how many calls of the tools that are bound to one run at a time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::reply::{Reply, call, report};
use crate::world::World;

const SLEEP_MS: u64 = 700;

/// How long two runs of one process take whose calls share a queue.
fn two_runs(concurrent: u32) -> Duration {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    server["queue"] = json!("narrow");
    let config = json!({ "mcpServers": { "test": server }, "queues": { "narrow": { "concurrent": concurrent } } });
    let slow = || call("test__slow", json!({ "ms": SLEEP_MS }));
    let replies: [Reply; 4] = [slow(), slow(), report("done"), report("done")];
    let world = world
        .config(&config)
        .file("goals.jsonl", "\"one\"\n\"two\"\n")
        .says(replies);
    world.run_command(&[], "only to write the files");
    let began = Instant::now();
    let outcome = world.bonded(&[
        "run",
        "--agent",
        "agent.ai",
        "--each",
        "goals.jsonl",
        "--jobs",
        "2",
    ]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let last = outcome
        .requests
        .iter()
        .map(|it| it.at)
        .max()
        .expect("there were requests");
    last.duration_since(began)
}

#[test]
fn a_queue_lets_so_many_calls_run_and_the_others_wait() {
    let (narrow, wide) = (two_runs(1), two_runs(2));
    assert!(narrow >= Duration::from_millis(2 * SLEEP_MS), "{narrow:?}");
    assert!(
        narrow > wide + Duration::from_millis(SLEEP_MS / 2),
        "{narrow:?} {wide:?}"
    );
}

#[test]
fn a_server_that_names_a_queue_which_is_not_there_is_refused() {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    server["queue"] = json!("nowhere");
    let world = world.config(&json!({ "mcpServers": { "test": server } }));
    world
        .run(&[], "queue")
        .refused(4, &["nowhere", "default", ".ai-agent.json"]);
}
