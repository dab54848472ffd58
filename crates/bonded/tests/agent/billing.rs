//! The books agree with the provider's own, to the token, for every request that it answered; what was under
//! way when a run was stopped is booked at the most that it can have cost, and marked as such.

use std::time::Duration;

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::provider::Billed;
use crate::reply::{Reply, echo, raw, refusal, report, text};
use crate::world::{World, start};

const FILE: &str = "ledger.jsonl";
const FLAGS: [&str; 4] = ["--billing-file", FILE, "--id", "billed"];

/// Ten and a hundred millionths of a dollar a token.
const PRICE: (u64, u64) = (10, 100);

fn world() -> World {
    let price = json!({ "unit": "per_1m", "prompt": PRICE.0, "completion": PRICE.1 });
    World::with_tools().config(&json!({ "pricing": { "first": { "one": price } } }))
}

fn millionths(tokens: Billed) -> u64 {
    tokens.input * PRICE.0 + tokens.output * PRICE.1
}

fn tokens(account: &Value) -> Billed {
    let field = |name: &str| account["tokens"][name].as_u64().unwrap_or_default();
    Billed {
        input: field("inputTokens"),
        output: field("outputTokens"),
    }
}

fn reserve(account: &Value) -> Billed {
    let field = |name: &str| account["unsettled"][name].as_u64().unwrap_or_default();
    Billed {
        input: field("inputTokensMax"),
        output: field("outputTokensMax"),
    }
}

/// Compares accounts with the provider's books; gives the reserves of what nobody counted.
#[track_caller]
fn compared(world: &World, accounts: &[Value]) -> Vec<Billed> {
    let models: Vec<&Value> = accounts.iter().filter(|it| it["type"] == "llm").collect();
    assert_eq!(models.len(), world.requests().len(), "an account a request");
    let answered = models.iter().filter(|it| tokens(it).input > 0);
    let booked: Vec<Billed> = answered.map(|it| tokens(it)).collect();
    assert_eq!(booked, world.billed(), "to the token");
    for account in &models {
        let cost = account["costUsd"].as_f64().unwrap_or_default();
        let expected = millionths(tokens(account)) as f64 / 1e6;
        assert!((cost - expected).abs() < 1e-9, "{account:#}");
    }
    let unsettled = models.iter().filter(|it| !it["unsettled"].is_null());
    unsettled.map(|it| reserve(it)).collect()
}

/// The result and the ledger say the same: the run has used what was billed, and what was reserved is held.
#[track_caller]
fn settled(world: &World, outcome: &Outcome) -> Vec<Billed> {
    let accounts = outcome.result["accounting"].as_array().cloned();
    let accounts = accounts.expect("a result has accounts");
    assert_eq!(world.ledger(FILE), accounts);
    let reserved = compared(world, &accounts);
    let cost = &outcome.result["costUsd"];
    says(&outcome.result["usage"], cost, &world.billed());
    let held = &outcome.result["held"];
    assert_eq!(held.is_null(), reserved.is_empty(), "{held}");
    says(held, &held["costUsd"], &reserved);
    reserved
}

#[track_caller]
fn says(usage: &Value, cost: &Value, all: &[Billed]) {
    let said = |name: &str| usage[name].as_u64().unwrap_or_default();
    let input: u64 = all.iter().map(|it| it.input).sum();
    let output: u64 = all.iter().map(|it| it.output).sum();
    assert_eq!((said("inputTokens"), said("outputTokens")), (input, output));
    let expected: u64 = all.iter().map(|it| millionths(*it)).sum();
    let cost = cost.as_f64().unwrap_or_default();
    assert!(
        (cost - expected as f64 / 1e6).abs() < 1e-9,
        "{cost} and {expected}"
    );
}

#[test]
fn requests_that_were_refused_cost_nothing_and_those_that_were_answered_what_was_billed() {
    let world = world().says([
        refusal(429, "slow down").header("retry-after", "1"),
        refusal(500, "out of order"),
        echo("a").usage(1_003, 17),
        refusal(503, "out of order"),
        text("I would rather talk.").usage(1_100, 29),
        report("done").usage(1_207, 31),
    ]);
    let outcome = world.run(&FLAGS, "do it").good();
    assert_eq!(settled(&world, &outcome), []);
    assert_eq!(world.billed().len(), 3);
}

#[test]
fn what_was_under_way_at_a_kill_is_booked_at_its_reserve_and_asked_again() {
    let world = world().says([
        refusal(500, "out of order"),
        echo("a").usage(1_003, 17),
        text("late").usage(1_100, 29).delayed_ms(600_000),
        echo("b").usage(1_151, 23),
        report("done").usage(1_207, 31),
    ]);
    let mut child = start(&mut world.run_command(&FLAGS, "do it"));
    world.wait_for_requests(3);
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    let outcome = world.bonded(&["resume", "billed", "--json"]).good();
    let reserved = settled(&world, &outcome);
    let [lost] = reserved.as_slice() else {
        panic!("one request was lost: {reserved:?}");
    };
    assert!(lost.output >= 29, "{lost:?}");
    let interrupted = outcome.account_fields("llm", "error");
    assert!(
        interrupted[2].contains("under way when the run was stopped"),
        "{interrupted:?}"
    );
}

/// An answer in pieces that never ends.
fn endless() -> Reply {
    let piece = json!({ "choices": [{ "index": 0, "delta": { "content": "and so on " } }] });
    let piece = format!("data: {piece}\n\n");
    raw(200, "text/event-stream", piece)
        .endless()
        .pausing_ms(20)
}

#[test]
fn what_was_under_way_at_a_cancel_is_booked_at_its_reserve() {
    let world = world().says([echo("a").usage(1_003, 17), endless()]);
    let child = start(&mut world.run_command(&FLAGS, "do it"));
    world.wait_for_requests(2);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(world.bonded(&["cancel", "billed"]).code, Some(0));
    let outcome = world.finish(child).failed();
    assert_eq!(outcome.result["error"], "canceled");
    let reserved = settled(&world, &outcome);
    assert_eq!(reserved.len(), 1);
    assert!(
        reserved[0].output >= 30,
        "ten pieces were said: {reserved:?}"
    );
}

#[test]
fn an_answer_that_breaks_off_is_booked_at_its_reserve_and_asked_again() {
    let world = world().says([
        report("lost").usage(1_003, 17).cut(),
        report("done").usage(1_009, 19),
    ]);
    let outcome = world.run(&FLAGS, "do it").good();
    assert_eq!(settled(&world, &outcome).len(), 1);
}

#[test]
fn long_requests_are_booked_at_what_the_configuration_says_of_them() {
    let price = json!({ "prompt": 10, "completion": 100, "above": { "tokens": 1_050, "prompt": 20, "completion": 150 } });
    let world = World::with_tools()
        .config(&json!({ "pricing": { "first": { "one": price } } }))
        .says([echo("a").usage(1_050, 17), report("done").usage(1_051, 31)]);
    let outcome = world.run(&FLAGS, "do it").good();
    let accounts = outcome.result["accounting"].as_array().cloned();
    let accounts = accounts.expect("a result has accounts");
    let costs: Vec<f64> = accounts
        .iter()
        .filter(|it| it["type"] == "llm")
        .map(|it| it["costUsd"].as_f64().unwrap_or_default() * 1e6)
        .collect();
    let expected = [1_050.0 * 10.0 + 17.0 * 100.0, 1_051.0 * 20.0 + 31.0 * 150.0];
    assert_eq!(costs.len(), expected.len(), "{costs:?}");
    for (cost, expected) in costs.iter().zip(expected) {
        assert!((cost - expected).abs() < 1e-3, "{costs:?}");
    }
}

#[test]
fn a_limit_of_cost_needs_a_price_where_a_models_name_is_listed_but_its_maker_is_not_asked() {
    let world = World::with_tools().says([report("never asked for")]);
    let server = world.base_url();
    let flags = ["--base-url", &server, "--model", "gpt-5", "--max-cost", "1"];
    let words: Vec<&str> = ["run"].into_iter().chain(flags).chain(["do it"]).collect();
    world
        .bonded(&words)
        .refused(4, &["lists no price of", "--price"]);
}
