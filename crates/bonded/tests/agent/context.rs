//! The context guard: what is counted before each request, and what happens when a window is full.

use serde_json::{Value, json};

use crate::reply::{calls, echo, report};
use crate::world::{Outcome, World};

const NATIVE: [&str; 2] = ["--tooling-transport", "native"];
const OFF: &str = "--no-tool-output-paging";
const STUB: &str = "(tool failed: context window budget exceeded)";

/// The entries of one kind in the log of a run.
fn entries(world: &World, outcome: &Outcome, kind: &str) -> Vec<Value> {
    let log = world.log(outcome.run_id()).into_iter();
    log.filter(|entry| entry["kind"] == kind)
        .map(|entry| entry["data"].clone())
        .collect()
}

fn counters(attempt: &Value) -> [u64; 3] {
    let counter = |name: &str| {
        let value = attempt["context"][name].as_u64();
        value.unwrap_or_else(|| panic!("{name} in {attempt}"))
    };
    let counters = ["current", "pending", "schema"].map(counter);
    assert_eq!(counter("expected"), counters.iter().sum::<u64>());
    counters
}

fn window(tokens: u64) -> Value {
    json!({ "providers": { "first": { "contextWindow": tokens, "contextWindowBufferTokens": 32 } } })
}

#[test]
fn the_first_request_has_no_context_and_each_later_one_that_of_the_reply_before() {
    let world = World::with_tools().says([
        echo("a").usage(700, 30),
        echo("b").usage(900, 50),
        report("done"),
    ]);
    let outcome = world.run(&[], "count").good();
    let attempts = entries(&world, &outcome, "attempt_started");
    let current: Vec<_> = attempts.iter().map(|it| counters(it)[0]).collect();
    assert_eq!(current, [0, 730, 950]);
}

#[test]
fn tokens_from_the_cache_are_part_of_the_context() {
    let cached = echo("a").usage(700, 30).changed(
        "/usage",
        json!({ "prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730,
            "prompt_tokens_details": { "cached_tokens": 600 } }),
    );
    let world = World::with_tools().says([cached, report("done")]);
    let outcome = world.run(&[], "count").good();
    let attempts = entries(&world, &outcome, "attempt_started");
    // Here the cached tokens are among the input; they are not counted twice.
    assert_eq!(counters(&attempts[1])[0], 730);
}

#[test]
fn an_output_is_pending_once_and_a_longer_one_pends_more() {
    let pending_after = |said: &str| {
        let world = World::with_tools().says([echo(said), report("done")]);
        let outcome = world.run(&[], "count").good();
        counters(&entries(&world, &outcome, "attempt_started")[1])[1]
    };
    let (short, long) = (pending_after("x"), pending_after("context-guard-600"));
    assert!(long > short, "{short} {long}");
    // 1200 characters are a token each at most; counted twice they could not stay below this. The nonce of
    // each run makes a few tokens of difference.
    assert!(long - short < 1800, "{short} {long}");
}

#[test]
fn a_notice_counts_as_pending() {
    let page = crate::reply::raw(200, "text/html", "<html>");
    let world = World::new().says([page, report("done")]);
    let outcome = world.run(&[], "count").good();
    let attempts = entries(&world, &outcome, "attempt_started");
    let [first, second] = [counters(&attempts[0]), counters(&attempts[1])];
    // The attempt committed nothing, so the notice is all that is new.
    assert_eq!((first[0], second[0]), (0, 0));
    assert!(second[1] > first[1], "{first:?} {second:?}");
}

#[test]
fn everything_that_a_run_begins_with_is_pending_in_its_first_request() {
    let pending_of = |prompt: &str| {
        let world = World::new().prompt(prompt).says([report("done")]);
        let outcome = world.run(&[], "count").good();
        counters(&entries(&world, &outcome, "attempt_started")[0])[1]
    };
    let (short, long) = (pending_of("Count."), pending_of(&"Count. ".repeat(200)));
    assert!(long >= short + 200, "{short} {long}");
}

#[test]
fn the_tools_of_the_last_turn_are_counted_anew() {
    let world = World::with_tools().says([echo("a"), crate::reply::report_call("done")]);
    let flags = [&NATIVE[..], &["--max-turns", "2"]].concat();
    let outcome = world.run(&flags, "count").good();
    let schema: Vec<_> = entries(&world, &outcome, "attempt_started")
        .iter()
        .map(|it| counters(it)[2])
        .collect();
    assert!(schema[0] > schema[1] && schema[1] > 0, "{schema:?}");
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
fn after_a_drop_only_the_report_is_left() {
    let say = |said: &str| ("test__test", json!({ "text": said }));
    let world = World::with_tools().config(&window(1300)).says([
        calls(&[say("small"), say("long-output"), say("later")]),
        report("done"),
    ]);
    let outcome = world
        .run(&[OFF, "--max-output-tokens", "64"], "too long")
        .good();
    let texts = outcome.tool_texts();
    assert_eq!(texts[..2], ["small", STUB], "{}", outcome.stderr);
    assert_eq!(texts[2], "later", "it ran beside the others");
    assert_eq!(outcome.requests[1].tools(), Vec::<&str>::new());
    assert!(outcome.requests[1].said().contains("the context is full"));
    assert!(
        !outcome.result["conversation"]
            .to_string()
            .contains("the context is full")
    );
}

#[test]
fn a_window_that_the_tools_alone_fill_goes_straight_to_the_report() {
    let world = World::with_tools()
        .config(&window(700))
        .says([crate::reply::report_call("done")]);
    let flags = [&NATIVE[..], &["--max-output-tokens", "32"]].concat();
    let outcome = world.run(&flags, "small window").good();
    assert_eq!(
        outcome.requests[0].tools(),
        ["agent__final_report"],
        "{}",
        outcome.stderr
    );
    let guarded = entries(&world, &outcome, "context_guarded");
    assert_eq!(guarded[0]["at"], "turn_preflight");
    assert!(
        guarded[0]["blocked"][0]["projected"].as_i64() > guarded[0]["blocked"][0]["limit"].as_i64()
    );
    let started = entries(&world, &outcome, "attempt_started");
    assert!(counters(&started[0])[2] < 700);
}

#[test]
fn a_window_that_not_even_the_report_fits_is_tried_all_the_same_and_on_record() {
    let world = World::with_tools()
        .config(&window(100))
        .says([report("done")]);
    let outcome = world
        .run(&["--max-output-tokens", "64"], "tiny window")
        .good();
    assert_eq!(outcome.requests.len(), 1);
    let guarded = entries(&world, &outcome, "context_guarded");
    assert!(
        guarded[0]["still_over"]
            .as_array()
            .is_some_and(|it| !it.is_empty()),
        "{guarded:?}"
    );
}

#[test]
fn a_reply_larger_than_the_window_is_guarded_too() {
    let world = World::with_tools().says([report("done")]);
    let outcome = world
        .run(&["--max-output-tokens", "131072"], "no room")
        .good();
    let guarded = entries(&world, &outcome, "context_guarded");
    assert!(
        guarded[0]["blocked"][0]["limit"]
            .as_i64()
            .is_some_and(|limit| limit < 0),
        "{guarded:?}"
    );
}

#[test]
fn what_the_provider_counted_replaces_the_estimate() {
    let world = World::with_tools()
        .config(&window(5000))
        .says([echo("a").usage(4990, 5), report("done")]);
    let outcome = world.run(&["--max-output-tokens", "64"], "drift").good();
    let guarded = entries(&world, &outcome, "context_guarded");
    assert_eq!(guarded[0]["at"], "tool_preflight", "{}", outcome.stderr);
    assert!(outcome.requests[1].said().contains("the context is full"));
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

#[test]
fn a_failed_attempt_does_not_disturb_the_guard() {
    let world = World::with_tools().config(&window(1300)).says([
        crate::reply::refusal(500, "no"),
        echo("long-output"),
        report("done"),
    ]);
    let outcome = world
        .run(&[OFF, "--max-output-tokens", "64"], "too long")
        .good();
    assert_eq!(
        outcome.account_fields("llm", "status"),
        ["failed", "ok", "ok"]
    );
    assert_eq!(outcome.tool_texts()[0], STUB);
}

#[test]
fn a_run_whose_window_is_full_and_that_never_reports_fails_with_that_reason() {
    let world = World::with_tools()
        .config(&window(1300))
        .says([echo("long-output")])
        .then_always(crate::reply::text(""));
    let outcome = world
        .run(
            &[OFF, "--max-output-tokens", "64", "--max-retries", "2"],
            "too long",
        )
        .failed();
    assert_eq!(outcome.report()["metadata"]["reason"], "context_overflow");
    assert_eq!(outcome.requests.len(), 3);
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
