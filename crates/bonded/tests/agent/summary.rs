//! `contextSummary`: where a window is full and nothing else makes room, the model sums up what was said, and the run goes
//! on.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::reply::{Reply, echo, report_call, text};
use crate::world::{World, start};

const SUMMARY: &str = "Each place held the same words.";
const SUM_UP: &str = "Sum it up now";

const FLAGS: [&str; 8] = [
    "--id",
    "summed",
    "--tooling-transport",
    "native",
    "--max-output-tokens",
    "200",
    "--max-turns",
    "40",
];

/// An agent whose window holds a few turns.
fn small() -> World {
    let window = json!({ "contextWindow": 3_500, "contextWindowBufferTokens": 32 });
    World::with_tools()
        .front("toolOutputPaging: false")
        .config(&json!({ "providers": { "first": window } }))
}

fn summing_up() -> World {
    small().front("contextSummary: true")
}

/// A turn whose output is too short to be taken out, at a provider that does not count.
fn turn() -> Reply {
    echo(&"words and words ".repeat(60)).changed("/usage", Value::Null)
}

fn turns(count: usize) -> impl Iterator<Item = Reply> {
    std::iter::repeat_with(turn).take(count)
}

/// After how many turns the window is full.
fn turns_until_full() -> usize {
    let world = summing_up().then_always(turn());
    let outcome = world.run(&FLAGS, "look around").failed();
    let asks = |it: &crate::provider::Asked| it.last().contains(SUM_UP);
    let full = outcome.requests.iter().position(asks);
    full.expect("a summary is asked for")
}

fn of_kind(log: &[Value], kind: &str) -> Vec<Value> {
    let entries = log.iter().filter(|entry| entry["kind"] == kind);
    entries.map(|entry| entry["data"].clone()).collect()
}

#[test]
fn a_run_without_room_sums_up_once_and_goes_on_to_its_answer() {
    let full = turns_until_full();
    let script =
        || turns(full).chain([text(SUMMARY).usage(2_345, 67), turn(), report_call("done")]);
    // By the front matter, and by the flag.
    let worlds = [(summing_up(), None), (small(), Some("--context-summary"))];
    for (world, flag) in worlds {
        let world = world.says(script());
        let flags: Vec<&str> = FLAGS.into_iter().chain(flag).collect();
        let outcome = world.run(&flags, "look around").good();
        let log = world.sound_log(outcome.run_id());
        assert_eq!(of_kind(&log, "context_summarised").len(), 1);
        assert_eq!(of_kind(&log, "context_guarded"), [Value::Null; 0]);
        let [asked, next] = [&outcome.requests[full], &outcome.requests[full + 1]];
        assert!(asked.last().contains(SUM_UP) && asked.tools().is_empty());
        assert!(next.said().contains(SUMMARY) && next.said().contains("look around"));
        assert!(!next.tools().is_empty() && !next.said().contains(SUM_UP));
        assert!(next.said().len() < asked.said().len());
        // Every request is accounted for, this one with what its provider counted.
        let accounts = outcome.accounts("llm");
        assert_eq!(accounts.len(), outcome.requests.len());
        let tokens = &accounts[full]["tokens"];
        assert_eq!(tokens["inputTokens"], 2_345, "{}", accounts[full]);
        assert_eq!(tokens["outputTokens"], 67);
        assert_eq!(
            outcome.result["turns"],
            full + 2,
            "it is no turn of its own"
        );
    }
}

/// Starts a run, kills it when it was asked so often, and takes it up again.
fn killed_at(world: &World, requests: usize) -> Outcome {
    let mut child = start(&mut world.run_command(&FLAGS, "look around"));
    world.wait_for_requests(requests);
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    world.bonded(&["resume", "summed", "--json"]).good()
}

fn asked_to_sum_up(log: &[Value]) -> usize {
    let attempts = of_kind(log, "attempt_started");
    attempts.iter().filter(|it| it["summary"].is_u64()).count()
}

#[test]
fn a_run_that_is_killed_while_it_sums_up_asks_again_and_the_lost_request_is_on_the_books() {
    let full = turns_until_full();
    let late = text("late").delayed_ms(600_000);
    let world = summing_up().says(turns(full).chain([late, text(SUMMARY), report_call("done")]));
    let outcome = killed_at(&world, full + 1);
    let log = world.sound_log(outcome.run_id());
    assert_eq!(asked_to_sum_up(&log), 2);
    let [made] = &of_kind(&log, "context_summarised")[..] else {
        panic!("one summary: {log:#?}");
    };
    assert!(made.to_string().contains(SUMMARY), "{made}");
    let accounts = outcome.accounts("llm");
    assert_eq!(accounts.len(), full + 3);
    let lost = accounts[full];
    assert_eq!(lost["status"], "failed", "{lost}");
    let most = lost["unsettled"]["inputTokensMax"].as_u64();
    assert!(most.is_some_and(|it| it > 1_000), "{lost}");
}

#[test]
fn a_summary_that_was_recorded_is_not_asked_for_again_after_a_kill() {
    let full = turns_until_full();
    let late = report_call("late").delayed_ms(600_000);
    let world = summing_up().says(turns(full).chain([text(SUMMARY), late, report_call("done")]));
    let outcome = killed_at(&world, full + 2);
    let log = world.sound_log(outcome.run_id());
    assert_eq!(asked_to_sum_up(&log), 1);
    let requests = world.requests();
    let [before, after] = [&requests[full + 1], &requests[full + 2]];
    assert_eq!(
        before["messages"], after["messages"],
        "as it was asked before"
    );
    assert!(after.said().contains(SUMMARY));
}
