//! Providers and prices.

use bonded_host::config::{
    ModelPricing, OpenaiMode, ProviderConfig, ProviderKind, ReasoningMap, Sampling, Sent,
    ToolChoice,
};
use bonded_kernel::LongPrice;
use serde_json::{Value, json};

use crate::world::World;

fn provider(name: &str, settings: &Value) -> Result<ProviderConfig, String> {
    let world = World::with(&json!({"providers": {name: settings}}).to_string());
    let provider = world.load().provider(name);
    let provider = provider.map_err(|problems| world.shown(&problems))?;
    Ok(provider.expect("it is there"))
}

fn good(settings: &Value) -> ProviderConfig {
    provider("openai", settings).expect("it is good")
}

#[test]
fn every_setting_of_a_provider_reaches_its_typed_view() {
    let provider = good(&json!({
        "type": "openai", "apiKey": "k", "baseUrl": "https://x/v1", "headers": {"H": "v"},
        "custom": {"a": [1]}, "openaiMode": "responses", "toolChoice": "required",
        "contextWindow": 1000, "tokenizer": "tiktoken:gpt-4o", "contextWindowBufferTokens": 0,
        "reasoning": [1, 2, 3, 4],
    }));
    assert_eq!(provider.kind, ProviderKind::Openai);
    assert_eq!(provider.api_key.as_ref().expect("it has one").expose(), "k");
    assert_eq!(provider.base_url.as_deref(), Some("https://x/v1"));
    assert_eq!(provider.headers["H"].expose(), "v");
    assert_eq!(Value::Object(provider.custom.clone()), json!({"a": [1]}));
    assert_eq!(provider.openai_mode, Some(OpenaiMode::Responses));
    let every = &provider.every_model;
    assert_eq!(every.tool_choice, Some(ToolChoice::Required));
    assert_eq!(every.context_window_tokens, Some(1000));
    assert_eq!(every.tokenizer.as_deref(), Some("tiktoken:gpt-4o"));
    assert_eq!(every.context_window_buffer_tokens, Some(0));
    let levels = [1, 2, 3, 4].map(Value::from);
    assert_eq!(every.reasoning, Some(ReasoningMap::Levels(levels)));
    assert!(
        !format!("{provider:?}").contains("\"k\""),
        "a key is not printed"
    );
}

#[test]
fn the_overrides_of_a_model_are_read_in_both_spellings() {
    let rows = [
        json!({"temperature": 0.42, "topP": 0.85, "topK": 3, "repeatPenalty": 1.1}),
        json!({"temperature": 0.42, "top_p": 0.85, "top_k": 3, "repeat_penalty": 1.1}),
    ];
    let expected = Sampling {
        temperature: Some(Sent::Value(0.42)),
        top_p: Some(Sent::Value(0.85)),
        top_k: Some(Sent::Value(3)),
        repeat_penalty: Some(Sent::Value(1.1)),
    };
    for overrides in rows {
        let provider = good(&json!({"models": {"gpt-4.1": {"overrides": overrides}}}));
        assert_eq!(provider.model("gpt-4.1").overrides, expected);
        assert_eq!(provider.model("other").overrides, Sampling::default());
    }
}

#[test]
fn a_model_wins_over_its_provider_setting_by_setting() {
    let provider = good(&json!({
        "overrides": {"temperature": 1, "top_p": 0.5}, "contextWindow": 1, "tokenizer": "t", "reasoning": "x",
        "models": {"m": {"overrides": {"topP": null}, "contextWindow": 2, "reasoning": null}},
    }));
    let model = provider.model("m");
    assert_eq!(model.overrides.temperature, Some(Sent::Value(1.0)));
    assert_eq!(model.overrides.top_p, Some(Sent::LeftOut));
    assert_eq!(model.context_window_tokens, Some(2));
    assert_eq!(model.tokenizer.as_deref(), Some("t"));
    assert_eq!(model.reasoning, Some(ReasoningMap::Off));
    assert_eq!(
        provider.model("n").reasoning,
        Some(ReasoningMap::Value("x".into()))
    );
    assert_eq!(provider.model("n").overrides.top_p, Some(Sent::Value(0.5)));
}

#[test]
fn the_type_is_said_or_follows_from_a_known_name() {
    let rows = [
        ("openai", json!({}), Ok(ProviderKind::Openai)),
        ("vllm", json!({}), Ok(ProviderKind::Vllm)),
        (
            "mine",
            json!({"type": "anthropic"}),
            Ok(ProviderKind::Anthropic),
        ),
        (
            "openai",
            json!({"type": "ollama"}),
            Ok(ProviderKind::Ollama),
        ),
        (
            "mine",
            json!({}),
            Err("providers.mine: it needs a type: one of openai, "),
        ),
        (
            "mine",
            json!({"type": "openia"}),
            Err("providers.mine.type must be one of openai, "),
        ),
        (
            "mine",
            json!({"type": "test-llm"}),
            Err("the type test-llm is not supported; use script:FILE"),
        ),
        (
            "openai",
            json!({"baseUrl": "x"}),
            Err("its baseUrl must begin with http:// or https://"),
        ),
        (
            "openai",
            json!({"openaiMode": "x"}),
            Err("providers.openai.openaiMode must be one of auto, responses, chat"),
        ),
        (
            "openai",
            json!({"models": {"m": {"toolChoice": "x"}}}),
            Err("providers.openai.models.m.toolChoice must be one of auto, required"),
        ),
    ];
    for (name, settings, expected) in rows {
        let found = provider(name, &settings).map(|provider| provider.kind);
        match (found, expected) {
            (Ok(kind), Ok(expected)) => assert_eq!(kind, expected, "{settings}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, _) => panic!("{name} {settings}: {found:?}"),
        }
    }
}

#[test]
fn a_provider_that_nobody_configured_is_none() {
    assert_eq!(
        World::new().load().provider("openai").expect("no problem"),
        None
    );
}

#[test]
fn prices_are_microdollars_a_million_tokens_whatever_their_unit() {
    let rows = [
        (
            json!({"prompt": 2.5, "completion": 10}),
            (2_500_000, 10_000_000),
        ),
        (
            json!({"unit": "per_1m", "currency": "USD", "prompt": 0.15, "completion": 0.6}),
            (150_000, 600_000),
        ),
        (
            json!({"unit": "per_1k", "prompt": 0.0025, "completion": 0.01}),
            (2_500_000, 10_000_000),
        ),
        (json!({}), (0, 0)),
    ];
    for (price, (prompt, completion)) in rows {
        let world = World::with(&json!({"pricing": {"p": {"m": price}}}).to_string());
        let config = world.load();
        let expected = ModelPricing {
            prompt,
            completion,
            cache_read: None,
            cache_write: None,
            above: None,
        };
        assert_eq!(
            config.pricing("p", "m").expect("it is good"),
            Some(expected),
            "{price}"
        );
        assert_eq!(config.pricing("p", "n").expect("it is good"), None);
    }
}

#[test]
fn what_a_cache_gives_costs_as_said_or_as_much_as_other_input() {
    let price = |settings: Value| {
        let world = World::with(&json!({"pricing": {"p": {"m": settings}}}).to_string());
        let pricing = world.load().pricing("p", "m").expect("it is good");
        pricing.expect("it is there").price()
    };
    assert_eq!(
        price(json!({"prompt": 2, "cacheRead": 1})).cached,
        1_000_000
    );
    assert_eq!(price(json!({"prompt": 2})).cached, 2_000_000);
}

#[test]
fn long_requests_cost_what_is_said_of_them_or_as_much_as_others() {
    let above = |settings: Value| {
        let settings = json!({"prompt": 2, "completion": 10, "cacheRead": 1, "cacheWrite": 3, "above": settings});
        let world = World::with(&json!({"pricing": {"p": {"m": settings}}}).to_string());
        let pricing = world.load().pricing("p", "m").expect("it is good");
        pricing.expect("it is there").price().above
    };
    let long = |input: u64, output: u64, cached: u64, written: Option<u64>| {
        Some(LongPrice {
            tokens: 200_000,
            input: input * 1_000_000,
            output: output * 1_000_000,
            cached: cached * 1_000_000,
            written: written.map(|it| it * 1_000_000),
        })
    };
    let rows = [
        (
            json!({"tokens": 200_000, "prompt": 4, "completion": 15, "cacheRead": 2, "cacheWrite": 6}),
            long(4, 15, 2, Some(6)),
        ),
        (
            json!({"tokens": 200_000, "prompt": 4}),
            long(4, 10, 4, None),
        ),
        (
            json!({"tokens": 200_000, "completion": 15}),
            long(2, 15, 1, Some(3)),
        ),
        (json!(null), None),
    ];
    for (settings, expected) in rows {
        assert_eq!(above(settings.clone()), expected, "{settings}");
    }
}

#[test]
fn long_requests_without_a_number_of_tokens_are_a_problem() {
    let settings = json!({"prompt": 2, "above": {"prompt": 4}});
    let world = World::with(&json!({"pricing": {"p": {"m": settings}}}).to_string());
    let problems = world.load().pricing("p", "m").expect_err("it is bad");
    let expected = "pricing.p.m.above.tokens must be a whole number from 1 up";
    assert!(problems.to_string().contains(expected), "{problems}");
}

#[test]
fn a_price_in_another_unit_or_currency_is_a_problem() {
    let rows = [
        (
            json!({"unit": "per_mile"}),
            "pricing.p.m.unit must be one of per_1k, per_1m",
        ),
        (
            json!({"currency": "EUR"}),
            "pricing.p.m.currency must be one of USD, not \"EUR\"",
        ),
    ];
    for (price, expected) in rows {
        let world = World::with(&json!({"pricing": {"p": {"m": price}}}).to_string());
        let config = world.load();
        let problems = config.pricing("p", "m").expect_err("it is bad").to_string();
        assert!(problems.contains(expected), "{problems}");
        assert_eq!(config.check_all().len(), 1);
    }
}
