//! Calls of items with effects beyond their copies: none is made twice, whatever happens to workers.

use std::time::Duration;

use bonded_testkit::done::text;
use bonded_testkit::place::{call, finish, of_kind, start};
use bonded_testkit::provider::{Provider, raw};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::yard::{Agents, Yard, item, runs, writes};

const LEASE_MS: u64 = 2_000;
const PLAN: &str = "0123456789ab";
const RUN: &str = "0123456789ab.one";

/// A service that takes orders, each after a while, and says how many it has.
fn shop() -> Provider {
    Provider::serving(|asked| match asked.path.as_str() {
        "/slow" => raw(200, "text/plain", "taken").delayed_ms(1_500),
        _ => raw(200, "text/plain", "taken"),
    })
}

/// A yard whose agent can order something, and look at what there is.
fn yard(service: &Provider, lines: Vec<Value>) -> Option<(Yard, Vec<String>)> {
    let tool = |method: &str, path: &str| json!({ "description": "Of the shop.", "method": method, "url": service.origin() + path });
    let config = json!({ "restTools": {
        "order": tool("POST", "/order"), "slow": tool("POST", "/slow"), "look": tool("PUT", "/look"),
    } });
    let agents: Agents = vec![lines];
    let yard = Yard::with_agents(LEASE_MS, &agents, "tools: [builtin, order, slow, look]")?;
    let config = yard.shop.place.write("config.json", config.to_string());
    let flags = [
        "--trust",
        "--config",
        &config.display().to_string(),
        "--plan-id",
        PLAN,
    ];
    let flags = flags.iter().map(|it| it.to_string()).collect();
    Some((yard, flags))
}

fn orders(service: &Provider, path: &str) -> usize {
    service.heard().iter().filter(|it| it.path == path).count()
}

/// Several calls of one reply, which are made at the same time.
fn together(calls: &[Value]) -> Value {
    let calls = calls
        .iter()
        .flat_map(|line| line["calls"].as_array().cloned());
    json!({ "calls": calls.flatten().collect::<Vec<_>>() })
}

/// Works the plan off with a worker that is killed some time after a call of this turn was begun, and another one.
fn killed_in(yard: &Yard, flags: &[String], turn: u64, after: Duration) -> Value {
    let plan = json!(item("one", 0, json!({})));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let first = yard.worker(&[]);
    let working = start(&mut yard.work_command(&plan, &flags));
    yard.shop.place.wait_for_entry(RUN, turn, "tool_invoked");
    std::thread::sleep(after);
    drop(first.process.end(Signal::KILL));
    let second = yard.worker(&[]);
    let result = finish(working).json();
    second.process.end(Signal::TERM).succeeds();
    result
}

#[test]
fn a_call_with_effects_outside_that_was_under_way_is_not_made_again_and_the_run_goes_on() {
    let service = shop();
    let lines = vec![
        writes("before.txt", "before\n"),
        call("rest__slow", json!({})),
        call("rest__order", json!({})),
        writes("after.txt", "after\n"),
    ];
    let Some((yard, flags)) = yard(&service, lines) else {
        return;
    };
    let result = killed_in(&yard, &flags, 2, Duration::from_millis(500));
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(orders(&service, "/slow"), 1);
    assert_eq!(orders(&service, "/order"), 1);
    let entries = yard.shop.place.entries(RUN);
    let finished = of_kind(&entries, "tool_finished");
    assert_eq!(finished[1]["outcome"], "interrupted", "{finished:?}");
    for name in ["before.txt", "after.txt"] {
        assert!(yard.tree().join(name).exists(), "{name}");
    }
}

#[test]
fn an_item_whose_calls_overlapped_when_its_worker_was_killed_begins_again_with_a_new_run() {
    let service = shop();
    let both = together(&[
        call("rest__look", json!({})),
        runs("echo x >> log; sleep 4"),
    ]);
    let Some((yard, flags)) = yard(&service, vec![both]) else {
        return;
    };
    let result = killed_in(&yard, &flags, 1, Duration::from_millis(1_500));
    assert_eq!(result["status"], "success", "{result}");
    let log = std::fs::read_to_string(yard.tree().join("log"));
    assert_eq!(log.expect("it is published"), "x\n");
    let receipt = std::fs::read_to_string(text(&result["receipt_path"]));
    assert!(receipt.expect("it is there").contains("0123456789ab.one.2"));
}

#[test]
fn an_item_whose_copy_is_lost_after_a_call_with_effects_outside_fails_and_does_not_repeat_it() {
    let service = shop();
    let both = together(&[
        call("rest__order", json!({})),
        runs("echo x >> log; sleep 4"),
    ]);
    let Some((yard, flags)) = yard(&service, vec![both]) else {
        return;
    };
    let result = killed_in(&yard, &flags, 1, Duration::from_millis(1_500));
    assert_eq!(result["status"], "failure", "{result}");
    let why = text(&result["error"]);
    assert!(
        why.contains("rest__order was called, which is not done twice"),
        "{why}"
    );
    assert_eq!(orders(&service, "/order"), 1);
    assert!(!yard.tree().join("log").exists());
}
