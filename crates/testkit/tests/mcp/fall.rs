//! Servers that die, hang or flood while they are used.

use std::time::Duration;

use bonded_kernel::Outcome;
use serde_json::json;

use crate::world::{World, is_alive, until};

#[tokio::test]
async fn a_call_in_a_dying_server_fails_clearly_and_the_next_one_restarts_it() {
    let world = World::new(&[]).await;
    let pid = world.pid().await;
    let reason = world.fault("crash", json!({})).await;
    for part in [
        "mcp_server_ended: ",
        "\"srv\"",
        "signal 6",
        "it is time to crash",
        "unknown",
    ] {
        assert!(reason.contains(part), "{part} in {reason}");
    }
    let next = world.pid().await;
    assert_ne!(next, pid);
    assert!(!is_alive(&pid));
    assert_eq!(world.ok("count", json!({})).await, "1");
}

#[tokio::test]
async fn a_server_that_falls_again_and_again_is_waited_for() {
    let world = World::new(&[]).await;
    for _ in 0..2 {
        let reason = world.fault("crash", json!({})).await;
        assert!(reason.starts_with("mcp_server_ended: "), "{reason}");
    }
    let reason = world.fault("pid", json!({})).await;
    for part in ["mcp_restart_failed: ", "not started before 1 s", "signal 6"] {
        assert!(reason.contains(part), "{part} in {reason}");
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;
    world.pid().await;
    let reason = world.fault("crash", json!({})).await;
    assert!(reason.starts_with("mcp_server_ended: "), "{reason}");
    world.pid().await;
}

#[tokio::test]
async fn while_a_server_restarts_only_one_call_waits_for_it() {
    let world = World::new(&[("START_DELAY_MS", "300")]).await;
    world.fault("crash", json!({})).await;
    let (first, second) = tokio::join!(
        world.call("test", json!({ "text": "first" })),
        world.call("test", json!({ "text": "second" })),
    );
    assert_eq!(first.text, "first");
    let expected = "(tool failed: mcp_restart_in_progress: ";
    assert!(second.text.starts_with(expected), "{}", second.text);
    assert_eq!(world.ok("test", json!({ "text": "third" })).await, "third");
}

#[tokio::test]
async fn a_restart_outlives_the_call_that_began_it() {
    let mut world = World::new(&[("START_DELAY_MS", "400")]).await;
    world.fault("crash", json!({})).await;
    world.limits.tool_timeout_ms = 50;
    let output = world.call("pid", json!({})).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    world.limits.tool_timeout_ms = 20_000;
    let begun = std::time::Instant::now();
    while world.call("pid", json!({})).await.outcome != Outcome::Ok {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it never comes up"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        world
            .lines("log")
            .iter()
            .filter(|line| line.contains("initialized"))
            .count(),
        2
    );
}

#[tokio::test]
async fn a_server_that_hangs_is_ended_once_it_misses_a_ping() {
    let mut world = World::new(&[]).await;
    let pid = world.pid().await;
    world.limits.tool_timeout_ms = 100;
    let output = world.call("hang", json!({})).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(is_alive(&pid), "it may still answer the ping");
    until("the server is ended", || !is_alive(&pid)).await;
    world.limits.tool_timeout_ms = 20_000;
    assert_ne!(world.pid().await, pid);
}

#[tokio::test]
async fn a_server_that_floods_is_cut_off_and_restarted() {
    for (kind, part) in [
        ("line", "printed a line of more than 16777216 bytes"),
        (
            "lines",
            "printed more than 16777216 bytes that are not messages",
        ),
        (
            "requests",
            "sent more than 256 requests without reading the answers",
        ),
    ] {
        let world = World::new(&[]).await;
        let pid = world.pid().await;
        let reason = world.fault("flood", json!({ "kind": kind })).await;
        assert!(reason.contains(part), "{kind}: {reason}");
        assert!(reason.len() < 2000, "{kind}: {}", reason.len());
        assert_ne!(world.pid().await, pid, "{kind}");
        until("the flood is ended", || !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_call_that_changes_nothing_is_made_again_in_a_server_that_came_up_again() {
    let world = World::new(&[]).await;
    let pid = world.pid().await;
    assert_eq!(world.ok("crash-once", json!({})).await, "2");
    assert_ne!(world.pid().await, pid);
    assert_eq!(world.lines("count").len(), 2);
}
