//! `bonded models`: real listeners, each with its own key, and what is said of those that cannot be asked.

use bonded_testkit::provider::{Provider, refusal};
use serde_json::{Value, json};

use crate::done::Done;
use crate::place::{Place, finish, start};

/// A server with one model, whose list says this much of it.
fn listing(models: &Value) -> Provider {
    let provider = Provider::start();
    provider.list(models);
    provider
}

fn two_models() -> Value {
    json!({ "data": [
        { "id": "big", "context_length": 200_000 },
        { "id": "small", "context_length": 32_768, "pricing": { "prompt": "0.00000025", "completion": "0.000002" } },
    ]})
}

fn config(first: &Provider, second: &Provider) -> Value {
    json!({
        "providers": {
            "first": { "type": "openai", "baseUrl": first.base_url(), "apiKey": "key-of-first",
                       "models": { "big": { "contextWindow": "64k" } } },
            "second": { "type": "openai", "baseUrl": second.base_url(), "apiKey": "key-of-second" },
        },
        "pricing": { "first": { "big": { "unit": "per_1m", "currency": "USD", "prompt": 3, "completion": 15 } } },
    })
}

/// A place whose person has this configuration.
fn configured(first: &Provider, second: &Provider) -> Place {
    let place = Place::new();
    let config = config(first, second).to_string();
    place.write(".ai-agent/ai-agent.json", config);
    place
}

fn models(place: &Place, words: &[&str]) -> Done {
    let words: Vec<&str> = [&["models"], words].concat();
    place.bonded(&words)
}

#[test]
fn every_endpoint_that_is_set_up_is_listed_with_windows_prices_and_whose_word_they_are() {
    let (first, second) = (listing(&two_models()), listing(&two_models()));
    let place = configured(&first, &second);
    let shown = models(&place, &["first"]);
    shown.succeeds();
    let rows: Vec<Vec<&str>> = shown
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec![
                "MODEL", "WINDOW", "IN", "$/M", "OUT", "$/M", "PRICE", "FROM"
            ],
            vec!["first/big", "64k", "3.00", "15.00", "configured"],
            vec!["first/small", "32,768", "0.25", "2.00", "the", "endpoint"],
        ]
    );
    let listed = models(&place, &["--json"]).json();
    let find = |name: &str| {
        let models = listed["models"].as_array().expect("a list").iter();
        let mut models = models.filter(|it| it["model"] == name);
        models.next().cloned().unwrap_or_default()
    };
    assert_eq!(
        find("first/big"),
        json!({ "model": "first/big", "provider": "first", "windowTokens": 64_000, "inputUsdPerMillion": 3.0,
            "outputUsdPerMillion": 15.0, "cachedInputUsdPerMillion": 3.0, "priceFrom": "configured", "priceDate": null })
    );
    assert_eq!(find("second/big")["priceFrom"], "local");
    assert_eq!(find("second/big")["windowTokens"], 200_000);
}

#[test]
fn a_key_goes_to_the_endpoint_that_it_is_for_and_to_no_other() {
    let (first, second) = (listing(&two_models()), listing(&two_models()));
    let place = configured(&first, &second);
    let shown = models(&place, &["--json"]);
    shown.succeeds();
    for (provider, own, other) in [
        (&first, "key-of-first", "key-of-second"),
        (&second, "key-of-second", "key-of-first"),
    ] {
        let heard: Vec<String> = provider.heard().iter().map(|it| it.whole()).collect();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(
            heard[0].contains(own) && !heard[0].contains(other),
            "{heard:?}"
        );
    }
    assert!(!shown.stdout.contains("key-of") && !shown.stderr.contains("key-of"));
}

#[test]
fn what_cannot_be_asked_is_said_briefly_and_hides_nothing() {
    let (good, bad) = (listing(&two_models()), Provider::start());
    bad.always("GET /v1/models", refusal(401, "no such key key-of-second"));
    let place = configured(&good, &bad);
    let shown = models(&place, &[]);
    shown.succeeds();
    assert!(shown.stdout.contains("first/small"), "{}", shown.stdout);
    let lines: Vec<&str> = shown.stderr.lines().collect();
    let about = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(
        (about("second: "), about("no key: openai, anthropic")),
        (1, 1),
        "{lines:?}"
    );
    assert!(!shown.stderr.contains("key-of"), "{lines:?}");
    let listed = models(&place, &["--json"]).json();
    let reasons = listed["notOffered"].as_array().expect("a list");
    let of = |name: &str| reasons.iter().find(|it| it["provider"] == name).cloned();
    let openai =
        json!({ "provider": "openai", "reason": "no_key", "keyVariable": "OPENAI_API_KEY" });
    assert_eq!(of("openai"), Some(openai));
    assert_eq!(
        of("second").map(|it| it["reason"].clone()),
        Some(json!("refused"))
    );
}

#[test]
fn a_provider_without_a_key_is_answered_from_the_built_in_list_and_an_unknown_one_with_the_nearest()
{
    let place = Place::new();
    let shown = models(&place, &["openai"]);
    shown.succeeds();
    let row = |name: &str| {
        let mut rows = shown
            .stdout
            .lines()
            .map(|it| it.split_whitespace().collect::<Vec<_>>());
        rows.find(|row| row[0] == name)
    };
    let mini = row("openai/gpt-5-mini").expect("it is listed");
    assert_eq!(mini[2..6], ["0.25", "2.00", "built", "in,"]);
    assert!(
        shown.stderr.contains("openai: OPENAI_API_KEY is not set"),
        "{}",
        shown.stderr
    );
    let unknown = models(&place, &["opnai"]);
    unknown.fails_with(4, "bad-model");
    assert!(
        unknown
            .stderr
            .contains("there is no provider opnai. Did you mean openai?")
    );
}

#[test]
fn a_model_that_its_provider_does_not_know_is_answered_with_the_one_that_was_meant() {
    let provider = Provider::start();
    provider.then_always(refusal(404, "The model `gpt-5-minni` does not exist"));
    let place = Place::new();
    let words = [
        "run",
        "--max-retries",
        "1",
        "--model",
        "openai/gpt-5-minni",
        "the goal",
    ];
    let mut command = place.command(&words);
    command
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", provider.base_url());
    let failed = finish(start(&mut command));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let meant = "Did you mean openai/gpt-5-mini? List them: bonded models openai";
    assert!(failed.stderr.contains(meant), "{failed:?}");
}
