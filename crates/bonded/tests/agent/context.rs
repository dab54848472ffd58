//! The context guard: what is counted before each request, and what happens when a window is full.

use serde_json::{Value, json};

use crate::reply::{echo, report};
use crate::world::{Outcome, World};

const OFF: &str = "--no-tool-output-paging";
const STUB: &str = "(tool failed: context window budget exceeded)";

/// The entries of one kind in the log of a run.
fn entries(world: &World, outcome: &Outcome, kind: &str) -> Vec<Value> {
    let log = world.log(outcome.run_id()).into_iter();
    log.filter(|entry| entry["kind"] == kind)
        .map(|entry| entry["data"].clone())
        .collect()
}

fn window(tokens: u64) -> Value {
    json!({ "providers": { "first": { "contextWindow": tokens, "contextWindowBufferTokens": 32 } } })
}

#[test]
fn an_output_that_no_window_has_room_for_is_replaced_and_accounted() {
    let world = World::with_tools()
        .config(&window(1200))
        .says([echo("long-output"), report("done")]);
    let flags = [
        OFF,
        "--max-output-tokens",
        "64",
        "--override",
        "contextWindow=1300",
    ];
    let outcome = world.run(&flags, "too long").good();
    assert_eq!(outcome.tool_texts()[0], STUB, "{}", outcome.stderr);
    let account = outcome.accounts("tool")[0];
    assert_eq!(account["status"], "failed");
    let figure = |name: &str| {
        account[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} in {account}"))
    };
    assert!(
        figure("originalTokens") > figure("replacementTokens"),
        "{account}"
    );
    assert!(
        figure("projectedTokens") > figure("limitTokens"),
        "{account}"
    );
    assert_eq!(figure("limitTokens"), 1300 - 32 - 64);
    assert!(account["remainingTokens"].is_u64(), "{account}");
    let guarded = entries(&world, &outcome, "context_guarded");
    assert_eq!(guarded[0]["at"], "tool_preflight");
    assert_eq!(guarded[0]["blocked"][0]["target"], 0);
}

#[test]
fn what_the_provider_counted_replaces_the_estimate() {
    let world = World::with_tools()
        .config(&window(5000))
        .says([echo("a").usage(4990, 5), report("done")]);
    let outcome = world.run(&["--max-output-tokens", "64"], "drift").good();
    let attempts = entries(&world, &outcome, "attempt_started");
    let current = attempts.iter().map(|it| it["context"]["current"].as_u64());
    assert_eq!(current.collect::<Vec<_>>(), [Some(0), Some(4995)]);
    let guarded = entries(&world, &outcome, "context_guarded");
    assert_eq!(guarded[0]["at"], "tool_preflight", "{}", outcome.stderr);
    assert!(outcome.requests[1].said().contains("the context is full"));
    world.sound_log(outcome.run_id());
}

#[test]
fn each_target_has_its_own_window_and_the_one_that_is_full_is_named() {
    let windows = json!({ "providers": {
        "first": { "contextWindow": 600, "contextWindowBufferTokens": 32 },
        "second": { "contextWindow": 100_000 },
    } });
    let world = World::with_tools()
        .front("models: second/b, first/a")
        .config(&windows)
        .says([report("done")]);
    let outcome = world
        .run(&["--max-output-tokens", "64"], "two windows")
        .good();
    let guarded = entries(&world, &outcome, "context_guarded");
    let blocked = guarded[0]["blocked"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(blocked.len(), 1, "{guarded:?}");
    assert_eq!(blocked[0]["target"], 1);
    assert_eq!(blocked[0]["limit"], 600 - 32 - 64);
}

/// Texts whose tokens were counted by the vocabularies themselves: 51 guides have 73,000 to 75,400.
const GUIDE: &str = include_str!("../../../kernel/src/tokens/samples/guide.md.txt");
const MODULE: &str = include_str!("../../../kernel/src/tokens/samples/module.rs.txt");

#[test]
fn a_prompt_of_a_third_of_the_window_keeps_its_tools() {
    let window = json!({ "providers": { "first": { "contextWindow": 200_000 } } });
    let world = World::with_tools()
        .prompt(&GUIDE.repeat(51))
        .config(&window)
        .says([echo("hello"), report("done")]);
    let outcome = world.run(&["--max-output-tokens", "32000"], "do it").good();
    let [first, second] = outcome.requests.as_slice() else {
        panic!("{}", outcome.stderr);
    };
    assert!(first.tools().contains(&"test__test") && second.tools().contains(&"test__test"));
    assert_eq!(
        entries(&world, &outcome, "context_guarded"),
        Vec::<Value>::new()
    );
    let expected = entries(&world, &outcome, "attempt_started")[0]["context"]["expected"].as_u64();
    assert!(
        expected.is_some_and(|it| (74_000..110_000).contains(&it)),
        "{expected:?}"
    );
}

#[test]
fn a_file_of_twelve_kilobytes_is_shown_whole_in_a_window_of_sixteen_thousand() {
    let file = format!("{}\nthe very end", MODULE.repeat(3));
    assert!(file.len() > 12_288);
    let window = json!({ "providers": { "first": { "contextWindow": 16_384 } } });
    let world = World::new()
        .front("tools: read")
        .file("module.rs", file)
        .config(&window)
        .says([
            crate::reply::call("read", json!({ "path": "module.rs" })),
            crate::reply::call("read", json!({ "path": "module.rs", "offset": 1 })),
            report("done"),
        ]);
    let outcome = world
        .run(&["--tool-response-max-bytes", "20000"], "read it")
        .good();
    let second = &outcome.requests[1];
    assert!(second.said().contains("the very end"), "{}", outcome.stderr);
    assert!(second.tools().contains(&"read"));
    assert_eq!(outcome.requests.len(), 3, "{}", outcome.stderr);
    // There is room for it twice.
    let said = outcome.requests[2].said();
    assert_eq!(
        said.matches("the very end").count(),
        2,
        "{}",
        outcome.stderr
    );
}
