//! A misbehaving server for every fault: the call ends in time, memory stays bounded, no process is left.

use std::time::{Duration, Instant};

use bonded_kernel::Outcome;
use serde_json::json;

use crate::world::{World, is_alive, peak_kb, pool, server, until};

/// What a fault may cost at most. The tests of this file run side by side.
const GROWN_KB_MAX: u64 = 400_000;

/// The child that a server has started, which ends only by SIGKILL.
fn stubborn_child(log: &[String]) -> String {
    let mut pids = log.iter().filter_map(|line| line.strip_prefix("child "));
    pids.next_back().expect("it was started").to_owned()
}

#[tokio::test]
async fn a_server_that_starts_badly_is_an_error_in_time_and_leaves_nothing() {
    for (fault, part) in [
        ("silence", "within 700 ms"),
        ("garbage", "1 of its lines on stdout"),
        ("drip", "within 700 ms"),
        ("crash", "exited with code 1"),
    ] {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let mut wanted = server("srv", &temp, &[("FAULT", fault), ("IGNORE_TERM", "1")]);
        wanted.start_timeout_ms = 700;
        let begun = Instant::now();
        let error = pool(4)
            .start(&[wanted])
            .await
            .expect_err("it must not start");
        assert!(begun.elapsed() < Duration::from_secs(10), "{fault}");
        assert!(error.to_string().contains(part), "{fault}: {error}");
        let log = std::fs::read_to_string(temp.path().join("log")).expect("it was written");
        let log: Vec<String> = log.lines().map(str::to_owned).collect();
        let child = stubborn_child(&log);
        until("its child is dead", || !is_alive(&child)).await;
    }
}

#[tokio::test]
async fn a_server_that_misbehaves_in_a_call_ends_it_in_time_and_leaves_nothing() {
    for (tool, kind, outcome) in [
        ("hang", "", Outcome::TimedOut),
        ("crash", "", Outcome::Failed),
        ("crash-after", "", Outcome::Ok),
        ("flood", "line", Outcome::Failed),
        ("flood", "lines", Outcome::Failed),
        ("flood", "result", Outcome::Failed),
        ("flood", "requests", Outcome::Failed),
        ("flood", "drip", Outcome::TimedOut),
        ("flood", "notifications", Outcome::TimedOut),
    ] {
        let before_kb = peak_kb();
        let mut world = World::new(&[("IGNORE_TERM", "1"), ("STAY", "1")]).await;
        let pid = world.pid().await;
        world.limits.tool_timeout_ms = if outcome == Outcome::TimedOut {
            500
        } else {
            20_000
        };
        let begun = Instant::now();
        let output = world.call(tool, json!({ "kind": kind })).await;
        assert_eq!(output.outcome, outcome, "{tool} {kind}: {}", output.text);
        assert!(
            output.text.len() < 20_000,
            "{tool} {kind}: {}",
            output.text.len()
        );
        world.pool.stop().await;
        assert!(begun.elapsed() < Duration::from_secs(25), "{tool} {kind}");
        let child = stubborn_child(&world.lines("log"));
        until("nothing is left", || !is_alive(&pid) && !is_alive(&child)).await;
        let grown_kb = peak_kb().saturating_sub(before_kb);
        assert!(grown_kb < GROWN_KB_MAX, "{tool} {kind}: {grown_kb} KB");
    }
}

#[tokio::test]
async fn a_server_that_crashes_between_two_calls_is_started_again() {
    let world = World::new(&[]).await;
    let pid = world.pid().await;
    assert_eq!(world.ok("crash-after", json!({})).await, "soon");
    while is_alive(&pid) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_ne!(world.pid().await, pid);
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_left_out_and_the_rest_is_used() {
    let tool =
        |name: &str, schema: serde_json::Value| json!({ "name": name, "inputSchema": schema });
    let recursive = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
    let long = json!({ "type": "object", "description": "x".repeat(1 << 20) });
    for (schema, is_offered) in [
        (recursive, true),
        (long, false),
        (json!({ "type": "object", "properties": 7 }), false),
    ] {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let tools = json!([tool("odd", schema.clone())]).to_string();
        std::fs::write(temp.path().join("tools"), tools).expect("it is written");
        let pool = pool(4);
        let started = pool
            .start(&[server("srv", &temp, &[])])
            .await
            .expect("it starts");
        let names: Vec<&str> = started
            .tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .collect();
        let shown: String = schema.to_string().chars().take(80).collect();
        assert!(names.contains(&"srv__pid"), "{shown}");
        assert_eq!(
            names.contains(&"srv__odd"),
            is_offered,
            "{shown}: {:?}",
            started.warnings
        );
        assert_eq!(started.warnings.is_empty(), is_offered, "{shown}");
    }
}
