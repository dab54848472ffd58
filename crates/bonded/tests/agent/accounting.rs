//! Accounts: what was asked of models and tools can be read from them alone.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::reply::{Reply, calls, echo, raw, refusal, report, report_tag, text};
use crate::world::{World, without_store};

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[test]
fn every_request_has_an_account_with_all_that_is_known_of_it() {
    let price = json!({ "unit": "per_1m", "prompt": 1.0, "completion": 10.0 });
    let world = World::with_tools()
        .config(&json!({ "pricing": { "first": { "one": price } } }))
        .says([echo("hello").usage(1000, 100), report("done")]);
    let before = now_ms();
    let outcome = world.run(&[], "do it").good();
    let accounts = outcome.accounts("llm");
    assert_eq!(accounts.len(), outcome.requests.len());
    let first = accounts[0];
    for (field, expected) in [
        ("provider", json!("first")),
        ("model", json!("one")),
        ("actualModel", json!("answered")),
        ("status", json!("ok")),
        ("stopReason", json!("tool_calls")),
        ("costUsd", json!(0.002)),
        ("agentId", json!("agent")),
        ("callPath", json!("agent")),
        ("txnId", outcome.result["runId"].clone()),
        ("originTxnId", outcome.result["runId"].clone()),
        ("error", Value::Null),
        (
            "tokens",
            json!({ "inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100 }),
        ),
    ] {
        assert_eq!(first[field], expected, "{field} of {first:#}");
    }
    assert!(first["latency"].is_u64(), "{first:#}");
    let at = first["timestamp"].as_u64().expect("a time is a number");
    assert!((before..=now_ms()).contains(&at), "{first:#}");
}

#[test]
fn every_execution_has_an_account_with_all_that_is_known_of_it() {
    let both = [
        ("test__test", json!({ "text": "hello" })),
        ("test__test", json!({ "text": "trigger-mcp-failure" })),
    ];
    let world = World::with_tools().says([calls(&both), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let accounts = outcome.accounts("tool");
    let commands = outcome.account_fields("tool", "command");
    let expected = ["test__test", "test__test", "agent__final_report_xml"];
    assert_eq!(commands, expected);
    for (field, expected) in [
        ("mcpServer", json!("test")),
        ("source", Value::Null),
        ("parentTxnId", Value::Null),
        ("status", json!("ok")),
        ("charactersIn", json!(r#"{"text":"hello"}"#.len())),
        ("charactersOut", json!("hello".len())),
        ("agentId", json!("agent")),
        ("callPath", json!("agent")),
        ("txnId", outcome.result["runId"].clone()),
        ("originTxnId", outcome.result["runId"].clone()),
    ] {
        assert_eq!(accounts[0][field], expected, "{field} of {:#}", accounts[0]);
    }
    assert!(accounts[0]["latency"].is_u64() && accounts[0]["timestamp"].is_u64());
    assert_eq!(accounts[2]["source"], "xml", "{:#}", accounts[2]);
    assert_eq!(accounts[1]["status"], "failed");
    let error = accounts[1]["error"].as_str().unwrap_or_default();
    assert!(error.contains("the failure that was asked for"), "{error}");
}

#[test]
fn fallback_failures_and_timing_can_be_read_from_the_accounts_alone() {
    let world = World::new()
        .front("models: first/one, second/two")
        .says([refusal(500, "out of order"), report("done").delayed_ms(30)]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(
        outcome.account_fields("llm", "provider"),
        ["first", "second"]
    );
    assert_eq!(outcome.account_fields("llm", "model"), ["one", "two"]);
    assert_eq!(outcome.account_fields("llm", "status"), ["failed", "ok"]);
    let accounts = outcome.accounts("llm");
    let error = accounts[0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("out of order"), "{error}");
    assert!(
        accounts[1]["latency"].as_u64() >= Some(30),
        "{:#}",
        accounts[1]
    );
    let times: Vec<_> = accounts.iter().map(|it| it["timestamp"].as_u64()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

/// A report in the words of a router that says who answered and what it cost.
fn routed(usage: &Value) -> Reply {
    let body = json!({
        "id": "gen-1",
        "provider": "Fireworks",
        "model": "maker/model",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": report_tag("pipe", "done") },
            "finish_reason": "stop",
        }],
        "usage": usage,
    });
    raw(200, "application/json", body.to_string())
}

#[test]
fn what_a_router_says_of_the_real_provider_and_the_cost_is_in_the_account() {
    let world = World::new();
    let router = json!({ "type": "openrouter", "baseUrl": world.base_url(), "apiKey": "k" });
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cost": 0.0123,
        "prompt_tokens_details": { "cached_tokens": 40 },
    });
    let world = world
        .front("models: openrouter/some/model")
        .config(&json!({ "providers": { "openrouter": router } }))
        .says([routed(&usage)]);
    let outcome = world.run(&[], "do it").good();
    let account = outcome.accounts("llm")[0];
    assert_eq!(account["actualProvider"], "Fireworks");
    assert_eq!(account["actualModel"], "maker/model");
    assert_eq!(account["costUsd"], 0.0123);
    assert_eq!(account["tokens"]["cachedTokens"], 40);
    assert_eq!(account["tokens"]["totalTokens"], 120);
}

#[test]
fn tokens_read_from_and_written_to_a_cache_are_in_the_account() {
    let world = World::of_messages(&json!({
        "input_tokens": 20, "output_tokens": 5,
        "cache_creation_input_tokens": 50, "cache_read_input_tokens": 30,
    }));
    let outcome = world.run(&[], "do it").good();
    let tokens = &outcome.accounts("llm")[0]["tokens"];
    for (field, expected) in [
        ("inputTokens", 100),
        ("outputTokens", 5),
        ("cacheReadInputTokens", 30),
        ("cacheWriteInputTokens", 50),
        ("totalTokens", 105),
    ] {
        assert_eq!(tokens[field], expected, "{field} of {tokens}");
    }
}

#[test]
fn the_ledger_has_the_same_accounts_a_line_each_and_a_run_that_is_asked_for_twice_once() {
    let flags = ["--billing-file", "books/ledger.jsonl", "--id", "once"];
    let world = World::with_tools().says([echo("hello"), report("done")]);
    let outcome = world.run(&flags, "do it").good();
    world.run(&flags, "do it").good();
    let ledger = std::fs::read_to_string(world.path("books/ledger.jsonl")).expect("it was written");
    let lines: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of the ledger is JSON"))
        .map(without_store)
        .collect();
    assert_eq!(json!(lines), outcome.result["accounting"]);
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_failed_run_is_accounted_for_too() {
    let world = World::new()
        .front("maxTurns: 2\nmaxRetries: 2")
        .then_always(text(""));
    let outcome = world
        .run(&["--billing-file", "ledger.jsonl"], "do it")
        .failed();
    assert_eq!(outcome.accounts("llm").len(), outcome.requests.len());
    let all_failed = outcome
        .account_fields("llm", "status")
        .iter()
        .all(|it| *it == "failed");
    assert!(all_failed, "{:#}", outcome.result["accounting"]);
    let ledger = std::fs::read_to_string(world.path("ledger.jsonl")).expect("it was written");
    assert_eq!(ledger.lines().count(), outcome.requests.len());
}
