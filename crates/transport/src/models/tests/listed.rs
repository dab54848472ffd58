//! The table of listed prices and windows, as it is committed.

use bonded_kernel::{LongPrice, Price, Sampling};
use serde_json::json;

use super::*;

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
const XAI: &str = "https://api.x.ai/v1";

fn price(endpoint: &str, model: &str) -> Option<Price> {
    listed_price(&target(Dialect::Chat, endpoint, model))
}

fn dollars(input: f64, output: f64, cached: f64) -> Price {
    let micro = |dollars: f64| (dollars * 1e6).round() as u64;
    Price {
        input: micro(input),
        output: micro(output),
        cached: micro(cached),
        written: None,
        above: None,
    }
}

#[test]
fn every_line_of_the_table_is_read_and_no_name_stands_there_twice() {
    let text = include_str!("../listed.tsv");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let names: Vec<(&str, &str)> = ModelRow::rows().map(|it| (it.service, it.model)).collect();
    assert_eq!(names.len(), lines.len());
    assert!(names.len() > 100, "{}", names.len());
    assert!(names.is_sorted_by(|a, b| a < b), "sorted, without doubles");
    for line in lines {
        assert_eq!(line.split('\t').count(), 12, "{line}");
    }
    for (service, model) in names {
        assert!(SERVICES.iter().any(|it| it.name == service), "{service}");
        assert!(!model.contains(['*', '?', ' ', ':']), "{model} is a name");
    }
}

#[test]
fn the_head_says_since_when_and_by_whom() {
    let day = listed_on();
    let parts: Vec<&str> = day.split('-').collect();
    assert_eq!(
        parts.iter().map(|it| it.len()).collect::<Vec<_>>(),
        [4, 2, 2],
        "{day}"
    );
    assert!(day > "2026-11", "{day}");
    let lists = listed_by();
    assert!(
        lists.contains("genai-prices ") && lists.contains("litellm "),
        "{lists}"
    );
}

#[test]
fn windows_and_prices_are_such_as_models_have() {
    for row in ModelRow::rows() {
        let window = row.window.unwrap_or(512);
        assert!((512..=10_000_000).contains(&window), "{row:?}");
        let Some(price) = row.price else { continue };
        // A hundredth of a dollar to a thousand dollars a million tokens.
        assert!((10_000..=1_000_000_000).contains(&price.input), "{row:?}");
        assert!(
            (price.input..=1_000_000_000).contains(&price.output),
            "{row:?}"
        );
        assert!(price.cached <= price.input, "{row:?}");
        let written = price.written.unwrap_or(price.input);
        assert!(
            (price.input..=price.input * 2).contains(&written),
            "{row:?}"
        );
        let Some(long) = price.above else { continue };
        assert!((50_000..window).contains(&long.tokens), "{row:?}");
        assert!(
            long.input >= price.input && long.output >= price.output && long.cached >= price.cached,
            "{row:?}"
        );
        assert_eq!(long.written.is_some(), price.written.is_some(), "{row:?}");
    }
}

#[test]
fn models_cost_what_their_makers_ask() {
    assert_eq!(price(OPENAI, "gpt-5"), Some(dollars(1.25, 10.0, 0.125)));
    assert_eq!(
        price(OPENAI, "gpt-4o-mini"),
        Some(dollars(0.15, 0.6, 0.075))
    );
    assert_eq!(price(OPENAI, "o1"), Some(dollars(15.0, 60.0, 7.5)));
    // Ten times as dear, and nothing comes from a cache for less.
    assert_eq!(price(OPENAI, "o1-pro"), Some(dollars(150.0, 600.0, 150.0)));
    let opus = Price {
        written: Some(6_250_000),
        ..dollars(5.0, 25.0, 0.5)
    };
    assert_eq!(price(ANTHROPIC, "claude-opus-4-5-20251101"), Some(opus));
    let long = Price {
        above: Some(LongPrice {
            tokens: 272_000,
            input: 5_000_000,
            output: 22_500_000,
            cached: 500_000,
            written: None,
        }),
        ..dollars(2.5, 15.0, 0.25)
    };
    assert_eq!(price(OPENAI, "gpt-5.4"), Some(long));
    // xAI's long requests begin with the 200,000th token, not after it.
    let grok = price(XAI, "grok-4.6").and_then(|price| price.above);
    assert_eq!(grok.map(|long| long.tokens), Some(199_999));
}

#[test]
fn only_the_very_name_at_the_makers_own_address_has_a_listed_price() {
    for (endpoint, model) in [
        (OPENAI, "o1-mega"),
        (OPENAI, "gpt-5-2099-01-01"),
        (OPENAI, "GPT-5"),
        (OPENAI, "openai/gpt-5"),
        (OPENAI, "ft:gpt-4o-2024-08-06:us::x"),
        (OPENAI, ""),
        (OPENAI, "gpt-5\t272000"),
        // What is processed in a region costs more.
        ("https://eu.api.openai.com/v1", "gpt-5"),
        ("https://codestral.mistral.ai/v1", "codestral-2508"),
        ("https://x.openai.azure.com/openai/v1", "gpt-5"),
        ("https://openrouter.ai/api/v1", "openai/gpt-5"),
        ("http://127.0.0.1:4000/v1", "gpt-5"),
        (ANTHROPIC, "gpt-5"),
        // Costs less at night.
        ("https://api.deepseek.com", "deepseek-chat"),
        // Costs something for each search.
        (OPENAI, "o3-deep-research"),
    ] {
        assert_eq!(price(endpoint, model), None, "{endpoint} {model}");
    }
}

#[test]
fn another_tier_or_a_field_of_ones_own_has_no_listed_price() {
    let usual = target(Dialect::Responses, OPENAI, "gpt-5");
    for (tier, is_listed) in [
        (None, true),
        (Some("auto"), true),
        (Some("default"), true),
        (Some("flex"), false),
        (Some("priority"), false),
        (Some("ultrafast"), false),
    ] {
        let target = Target {
            sampling: Sampling {
                service_tier: tier.map(str::to_owned),
                ..Sampling::default()
            },
            ..usual.clone()
        };
        assert_eq!(listed_price(&target).is_some(), is_listed, "{tier:?}");
    }
    let mut own = usual;
    own.custom.insert("speed".into(), json!("fast"));
    assert_eq!(listed_price(&own), None);
}

#[test]
fn a_window_is_that_of_the_name_or_one_that_the_whole_family_has() {
    for (endpoint, model, expected) in [
        (OPENAI, "gpt-5", Some(272_000)),
        (OPENAI, "gpt-5.4", Some(1_050_000)),
        (OPENAI, "gpt-5.9", Some(272_000)),
        (OPENAI, "gpt-9", Some(128_000)),
        (OPENAI, "gpt-4-0314", Some(8_192)),
        (ANTHROPIC, "claude-opus-4-7", Some(1_000_000)),
        (ANTHROPIC, "claude-mythos-9", Some(200_000)),
        (XAI, "grok-4.6", Some(500_000)),
        (XAI, "grok-2-vision", Some(32_768)),
        (
            "https://openrouter.ai/api/v1",
            "openai/gpt-5",
            Some(272_000),
        ),
        (OPENAI, "olmo-7b", None),
        ("http://127.0.0.1:4000/v1", "gpt-5", None),
    ] {
        assert_eq!(window(endpoint, model), expected, "{endpoint} {model}");
    }
}

#[test]
fn no_family_takes_in_more_than_the_smallest_of_its_listed_models() {
    let wrong: Vec<String> = ModelRow::rows()
        .filter_map(|row| {
            let (family, listed) = (family(row.model)?, row.window?);
            let most = family.window.filter(|most| *most > listed)?;
            Some(format!(
                "{:?}: {most}, {}: {listed}",
                family.names, row.model
            ))
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}
