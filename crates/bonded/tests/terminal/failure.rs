//! What went wrong: the cause once, and the next command.

use serde_json::{Value, json};

use crate::place::{Place, call, done, never};
use crate::provider::{self, Provider};
use crate::screen::{asking, at, check};
use crate::terminal::Size;

#[test]
fn a_failure_names_its_cause_once_and_the_next_command() {
    let list = || call("list", json!({}));
    let rows: [(&str, &[&str], Vec<Value>); 6] = [
        ("failed-progress", &[], vec![list(), list(), list(), list()]),
        (
            "failed-turns",
            &["--max-turns", "2"],
            vec![list(), call("read", json!({ "path": "x" }))],
        ),
        ("failed-budget", &["--max-tokens", "2000"], vec![list()]),
        ("failed-time", &["--max-time", "1"], vec![never()]),
        (
            "failed-blocked",
            &[],
            vec![done("blocked: there is no test to run")],
        ),
        (
            "failed-key",
            &[],
            vec![json!({ "fail": "auth", "message": "401: the key is refused" })],
        ),
    ];
    for (name, flags, lines) in rows {
        let place = Place::new();
        let script = place.script(&lines);
        let fixed = ["run", "--id", "fails", "--model", &script];
        let mut terminal = at(&place, &[&fixed[..], flags, &["go"]].concat(), Size::USUAL);
        assert_eq!(terminal.wait_for_end(), Some(1), "{name}");
        check(name, &terminal.coloured());
    }
}

#[test]
fn a_model_or_a_server_that_is_not_there_is_named_with_what_to_do() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.then_always(provider::refusal(404, "the model small does not exist"));
    let mut terminal = asking(&place, &provider, &[], Size::USUAL);
    assert_eq!(terminal.wait_for_end(), Some(1), "{}", terminal.screen());
    let screen = terminal.coloured();
    check("failed-model", &screen.replace(&provider.address(), "HOST"));
    let place = Place::new();
    // Nothing listens there.
    let gone = ["--base-url", "http://127.0.0.1:1/v1", "--max-retries", "2"];
    let fixed = ["run", "--id", "asks", "--model", "small"];
    let words = [&fixed[..], &gone, &["go"]].concat();
    let mut terminal = at(&place, &words, Size::USUAL);
    assert_eq!(terminal.wait_for_end(), Some(1), "{}", terminal.screen());
    check("failed-connection", &terminal.coloured());
}

#[test]
fn a_run_that_is_cancelled_from_elsewhere_says_so() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), never()]);
    let words = ["run", "--id", "fails", "--model", &script, "go"];
    let mut terminal = at(&place, &words, Size::USUAL);
    terminal.wait_for("turn 2 of");
    place.bonded(&["cancel", "fails"]).succeeds();
    assert_eq!(terminal.wait_for_end(), Some(1), "{}", terminal.screen());
    check("failed-cancelled", &terminal.coloured());
}

#[test]
fn attempts_that_fail_are_counted_in_the_live_line_and_told_once() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.then_always(provider::refusal(503, "loading the model"));
    let mut terminal = asking(&place, &provider, &["--max-retries", "3"], Size(100, 40));
    let seen = terminal.wait_for("attempt 2 of 3 in 1 s");
    let live = seen.lines().last().unwrap_or_default();
    assert!(
        live.contains("backing off: model: ") && live.contains("loading the model"),
        "{live}"
    );
    terminal.wait_for_end();
    check("failed-busy", &terminal.coloured());
}

#[test]
fn a_provider_that_recovered_is_told_in_one_line() {
    let (place, provider) = (Place::new(), Provider::start());
    let busy = provider::refusal(503, "loading the model");
    provider.say([
        busy.clone(),
        busy,
        provider::call("done", json!({ "reason": "366 days" })),
    ]);
    let terminal = asking(&place, &provider, &[], Size::USUAL);
    let (code, screen) = terminal.end();
    assert_eq!(
        (code, screen.matches("loading the model").count()),
        (Some(0), 1),
        "{screen}"
    );
    assert!(screen.contains("loading the model ×2"), "{screen}");
}
