//! `bonded doctor` begins with what to do next.

use bonded_testkit::provider::{Provider, refusal};
use serde_json::json;

use crate::place::{Place, finish, start};

fn first_line(report: &str) -> &str {
    report.lines().next().unwrap_or_default()
}

#[test]
fn without_a_model_it_says_how_to_get_one() {
    let place = Place::new();
    let report = place.bonded(&["doctor"]);
    report.succeeds();
    let first = first_line(&report.stdout);
    assert!(
        first.starts_with("No model yet. Export OPENAI_API_KEY"),
        "{first}"
    );
    assert!(first.ends_with("bonded demo"), "{first}");
    // What is not set up is one line, and not ten.
    assert_eq!(report.stdout.matches("OPENROUTER_API_KEY").count(), 1);
    assert!(
        !report.stdout.contains("missing  openrouter"),
        "{}",
        report.stdout
    );
}

#[test]
fn an_endpoint_is_asked_with_its_own_key_and_the_next_command_is_named() {
    let provider = Provider::start();
    provider.list(&json!({ "data": [{ "id": "gpt-5-mini" }] }));
    let place = Place::new();
    let mut doctor = place.command(&["doctor"]);
    doctor
        .env("OPENAI_API_KEY", "key-1")
        .env("OPENAI_BASE_URL", provider.base_url());
    let report = finish(start(&mut doctor));
    report.succeeds();
    assert_eq!(
        first_line(&report.stdout),
        "Ready. Try: bonded run --model openai/gpt-5-mini \"explain this repository\""
    );
    assert!(
        report.stdout.contains("ok       openai: 1 model"),
        "{report:?}"
    );
    assert!(!report.stdout.contains("key-1"), "{report:?}");
    assert!(!provider.looks().is_empty(), "it was asked");
}

#[test]
fn a_key_that_is_refused_is_told() {
    let provider = Provider::serving(|_| refusal(401, "Incorrect API key provided"));
    let place = Place::new();
    let mut doctor = place.command(&["doctor"]);
    doctor
        .env("OPENAI_API_KEY", "key-1")
        .env("OPENAI_BASE_URL", provider.base_url());
    let report = finish(start(&mut doctor));
    report.succeeds();
    assert!(
        first_line(&report.stdout).starts_with("No model yet."),
        "{report:?}"
    );
    assert!(report.stdout.contains("missing  openai: "), "{report:?}");
    assert!(report.stdout.contains("401"), "{report:?}");
}

#[test]
fn what_is_broken_comes_first() {
    let place = Place::new();
    place.write("store.db", "not a store");
    let report = place.bonded(&["doctor"]);
    assert_eq!(report.code, Some(4), "{report:?}");
    let first = first_line(&report.stdout);
    assert!(
        first.starts_with("Not ready: 1 thing is broken. First: "),
        "{first}"
    );
}
