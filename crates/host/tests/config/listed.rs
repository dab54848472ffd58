//! What a model costs and takes in: what the configuration says, else what is listed of it.

use std::collections::BTreeMap;

use bonded_host::agent::{self, UnknownWindow};
use bonded_host::config::Environment;
use bonded_host::config::options::{Given, Sources, resolve};
use bonded_kernel::Target;
use bonded_transport::models::listed_on;
use serde_json::{Value, json};

use crate::world::World;

fn target(model: &str, settings: &Value) -> Target {
    target_with(model, settings, &[])
}

fn target_with(model: &str, settings: &Value, variables: &[(&str, &str)]) -> Target {
    let world = World::with(&settings.to_string());
    let config = world.load();
    let given = Given {
        value: model.into(),
        place: "--model".into(),
    };
    let sources = Sources {
        command_line: BTreeMap::from([("models".to_owned(), given)]),
        ..config.sources().expect("the options are good")
    };
    let options = resolve(&sources).expect("the options are good").options;
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY"];
    let environment: Environment = keys
        .map(|key| (key.into(), "k".into()))
        .into_iter()
        .chain(
            variables
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        )
        .collect();
    let targets = agent::targets(&config, &options, &environment, UnknownWindow::Open);
    targets.expect("it can be asked").remove(0)
}

/// What a million tokens of input cost, in millionths of a dollar, and the list that says so.
fn price(model: &str, settings: &Value) -> (Option<u64>, Option<String>) {
    let target = target(model, settings);
    (target.price.map(|price| price.input), target.price_listed)
}

#[test]
fn a_listed_price_holds_where_the_configuration_has_none() {
    let listed = Some(listed_on().to_owned());
    let rows = [
        ("openai/gpt-5", json!({}), Some(1_250_000), listed.clone()),
        ("openai/o1", json!({}), Some(15_000_000), listed.clone()),
        (
            "openai/o1-pro",
            json!({}),
            Some(150_000_000),
            listed.clone(),
        ),
        ("openai/o1-unheard-of", json!({}), None, None),
        (
            "openai/gpt-5",
            json!({"pricing": {"openai": {"gpt-5": {"prompt": 7}}}}),
            Some(7_000_000),
            None,
        ),
        (
            "openai/gpt-5",
            json!({"pricing": {"openai": {"gpt-5-mini": {"prompt": 7}}}}),
            Some(1_250_000),
            listed.clone(),
        ),
        // The name of a provider says nothing; where it is does.
        (
            "work/gpt-5",
            json!({"providers": {"work": {"type": "openai", "apiKey": "k"}}}),
            Some(1_250_000),
            listed,
        ),
        (
            "openai/gpt-5",
            json!({"providers": {"openai": {"type": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}}),
            None,
            None,
        ),
        (
            "openai/gpt-5",
            json!({"providers": {"openai": {"type": "openai", "apiKey": "k", "serviceTier": "priority"}}}),
            None,
            None,
        ),
        (
            "openai/gpt-5",
            json!({"providers": {"openai": {"type": "openai", "apiKey": "k", "custom": {"speed": "fast"}}}}),
            None,
            None,
        ),
        // Like another model in what it takes is not like it in what it costs.
        (
            "openai/ours",
            json!({"providers": {"openai": {"type": "openai", "apiKey": "k", "accepts": {"like": "gpt-5"}}}}),
            None,
            None,
        ),
    ];
    for (model, settings, expected, by) in rows {
        assert_eq!(
            price(model, &settings),
            (expected, by),
            "{model} {settings}"
        );
    }
}

#[test]
fn what_a_list_says_is_told_with_its_day_and_what_a_person_says_is_not() {
    let told = |settings: &Value| agent::listed(&target("xai/grok-4.6", settings));
    let expected = format!(
        "xai/grok-4.6 costs $2 for a million tokens in and $6 for a million out \
         ($4 and $12 where more than 199999 tokens go in), as listed on {}",
        listed_on()
    );
    assert_eq!(told(&json!({})), Some(expected));
    let own = json!({"pricing": {"xai": {"grok-4.6": {"prompt": 7}}}});
    assert_eq!(told(&own), None);
}

#[test]
fn a_service_that_a_variable_moves_keeps_its_prices_and_one_that_a_file_moves_does_not() {
    let gateway = "http://10.0.0.7:4000/v1";
    let own = json!({"providers": {"openai": {"type": "openai", "apiKey": "k"}}});
    let moved = json!({"providers": {"openai": {"type": "openai", "baseUrl": gateway}}});
    let tier = json!({"providers": {"openai": {"type": "openai", "serviceTier": "priority"}}});
    let rows = [
        ("openai/gpt-5", json!({}), gateway, Some(1_250_000)),
        ("openai/gpt-5", own, gateway, Some(1_250_000)),
        ("openai/gpt-5-unheard-of", json!({}), gateway, None),
        ("openai/gpt-5", moved, gateway, None),
        ("openai/gpt-5", tier, gateway, None),
        // A region has prices of its own.
        (
            "openai/gpt-5",
            json!({}),
            "https://eu.api.openai.com/v1",
            None,
        ),
    ];
    for (model, settings, address, expected) in rows {
        let target = target_with(model, &settings, &[("OPENAI_BASE_URL", address)]);
        assert_eq!(
            target.price.map(|it| it.input),
            expected,
            "{model} {settings} {address}"
        );
        assert_eq!(target.price_listed.is_some(), expected.is_some());
        let told = agent::listed(&target).unwrap_or_default();
        assert_eq!(
            told.contains("what http://10.0.0.7"),
            expected.is_some(),
            "{told}"
        );
    }
}

#[test]
fn a_listed_window_holds_where_nobody_says_another() {
    let window = |model: &str, settings: Value| target(model, &settings).window.map(|it| it.tokens);
    assert_eq!(window("openai/gpt-5", json!({})), Some(272_000));
    assert_eq!(
        window("anthropic/claude-opus-4-7", json!({})),
        Some(1_000_000)
    );
    let own =
        json!({"providers": {"openai": {"type": "openai", "apiKey": "k", "contextWindow": 9_000}}});
    assert_eq!(window("openai/gpt-5", own), Some(9_000));
    let elsewhere =
        json!({"providers": {"openai": {"type": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}});
    assert_eq!(window("openai/gpt-5", elsewhere), None);
}
