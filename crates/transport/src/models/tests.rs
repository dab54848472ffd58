use bonded_kernel::{
    Accepts, Dialect, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm, ThoughtReturn,
};

use super::*;
use crate::dialect::known;

fn target(dialect: Dialect, endpoint: &str, model: &str) -> Target {
    Target {
        dialect,
        ..Target::new("p", endpoint, model)
    }
}

#[test]
fn a_family_is_known_by_the_models_name_in_every_spelling() {
    let cases = [
        ("claude-opus-4-7", "claude-opus-4?7*"),
        ("claude-sonnet-5", "claude-opus-5"),
        ("claude-fable-5-2", "claude-opus-5*"),
        ("claude-mythos-9", "claude-*"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("anthropic/claude-opus-4.5", "claude-opus-4?5*"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4",
        ),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4"),
        ("claude-3-5-sonnet-latest", "claude-3*"),
        ("claude-3.7-sonnet", "claude-3-7*"),
        ("openai/gpt-5.1", "gpt-5.1*"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.5", "gpt-5.?"),
        ("gpt-5.20", "gpt-*"),
        ("gpt-6-astra", "gpt-6-astra*"),
        ("gpt-7", "gpt-*"),
        ("gpt-oss-20b", "gpt-oss*"),
        ("o4-mini-2025-04-16", "o4-mini*"),
        ("o3", "o1"),
        ("o3-deep-research", "o?-*"),
        ("gpt-4o-mini", "gpt-4o-mini*"),
        ("models/gemini-3.1-pro-preview", "gemini-*pro*"),
        ("gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-pro-preview-tts", "gemini-*-tts*"),
        ("deepseek-reasoner", "deepseek-reasoner*"),
        ("deepseek-v4-pro", "deepseek*"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek-v3*"),
        ("glm-5-turbo", "glm-4.5*"),
        ("zai-org/GLM-5.3", "glm-5*"),
        ("moonshotai/Kimi-K2-Instruct", "kimi-k2-*"),
        ("kimi-k2.7-code", "kimi-*"),
        ("mixtral-8x7b-instruct", "mistral-tiny*"),
    ];
    for (model, names) in cases {
        let found = family(model).map(|family| family.names[0]);
        assert_eq!(found, Some(names), "{model}");
    }
    for model in ["olmo-7b", "phi-4", "", "oh"] {
        assert!(family(model).is_none(), "{model}");
    }
}

#[test]
fn a_service_is_known_by_its_address_and_not_by_what_it_is_called() {
    let cases = [
        ("https://api.openai.com/v1", Some("openai")),
        ("https://eu.api.openai.com/v1", Some("openai")),
        ("https://API.OPENAI.COM:443/v1", Some("openai")),
        ("https://api.openai.com.evil.example/v1", None),
        ("https://evilapi.openai.com/v1", None),
        (
            "https://x.openai.azure.com/openai/deployments/d?api-version=1",
            Some("azure"),
        ),
        ("https://api.mistral.ai/v1", Some("mistral")),
        ("http://127.0.0.1:8000/v1", None),
    ];
    for (endpoint, expected) in cases {
        let target = target(Dialect::Chat, endpoint, "m");
        assert_eq!(
            Service::of(&target).map(|it| it.name),
            expected,
            "{endpoint}"
        );
    }
}

#[test]
fn models_that_think_are_not_told_a_temperature_wherever_they_run() {
    for endpoint in [
        "https://api.openai.com/v1",
        "https://x.openai.azure.com/openai",
        "http://127.0.0.1:4000",
    ] {
        for model in ["gpt-5", "o3", "gpt-5.5", "gpt-6.1-sol"] {
            let accepts = known(&target(Dialect::Chat, endpoint, model));
            assert_eq!(accepts.temperature_max, None, "{model}");
            assert_eq!(accepts.output_limit, OutputLimitField::MaxCompletionTokens);
        }
    }
    let opus = known(&target(
        Dialect::Messages,
        "https://api.anthropic.com/v1",
        "claude-opus-4-7",
    ));
    assert_eq!(
        (opus.temperature_max, opus.top_p, opus.top_k),
        (None, false, false)
    );
    assert_eq!(opus.thinking, ThinkingForm::Adaptive);
    assert_eq!(opus.effort(Effort::XHigh), Some(Effort::XHigh));
}

#[test]
fn efforts_are_those_of_the_model() {
    let cases = [
        ("gpt-5", Effort::Minimal, Some(Effort::Minimal)),
        ("gpt-5", Effort::None, Some(Effort::Minimal)),
        ("gpt-5.1", Effort::Minimal, Some(Effort::Low)),
        ("gpt-5.1", Effort::None, Some(Effort::None)),
        ("gpt-5.1", Effort::XHigh, Some(Effort::High)),
        ("o3", Effort::Minimal, Some(Effort::Low)),
        ("deepseek-v4-pro", Effort::Minimal, Some(Effort::Low)),
        ("deepseek-v4-pro", Effort::Medium, Some(Effort::Low)),
        ("deepseek-flash", Effort::XHigh, Some(Effort::High)),
        ("deepseek-flash", Effort::Max, Some(Effort::Max)),
        ("deepseek-reasoner", Effort::High, None),
        ("glm-5.1", Effort::High, None),
        ("glm-5.2", Effort::Low, Some(Effort::High)),
        ("glm-5.3", Effort::Max, Some(Effort::Max)),
        ("kimi-k3", Effort::Medium, Some(Effort::Low)),
        ("kimi-k2.7-code", Effort::High, None),
        ("gpt-4o", Effort::High, None),
    ];
    for (model, wanted, expected) in cases {
        let accepts = known(&target(
            Dialect::Responses,
            "https://api.openai.com/v1",
            model,
        ));
        let told = (accepts.thinking != ThinkingForm::None).then(|| accepts.effort(wanted));
        assert_eq!(told.flatten(), expected, "{model} {wanted:?}");
    }
}

#[test]
fn a_service_counts_more_than_the_model() {
    let mistral = known(&target(
        Dialect::Chat,
        "https://api.mistral.ai/v1",
        "mistral-large-latest",
    ));
    assert!(!mistral.user_after_tool && !mistral.top_k && !mistral.stream_usage);
    let routed = known(&target(
        Dialect::Chat,
        "https://openrouter.ai/api/v1",
        "openai/gpt-5",
    ));
    assert_eq!(routed.thinking, ThinkingForm::Routed);
    assert_eq!(routed.thought_return, ThoughtReturn::Details);
    let own = Target {
        family: Some("ollama".into()),
        ..target(Dialect::Chat, "http://127.0.0.1:11434/v1", "qwen3")
    };
    assert_eq!(known(&own).penalty, PenaltyField::RepeatPenalty);
}

#[test]
fn what_a_dialect_has_no_field_for_is_accepted_by_nobody_who_speaks_it() {
    let of = |dialect| {
        let it = known(&target(dialect, "http://127.0.0.1:9/v1", "m"));
        let penalty = it.penalty != PenaltyField::None;
        let settings = [it.top_k, it.parallel_tool_calls, it.prompt_cache_key];
        (penalty, settings, it.service_tier)
    };
    assert_eq!(of(Dialect::Chat), (true, [true, true, true], true));
    assert_eq!(of(Dialect::Responses), (false, [false, true, true], true));
    assert_eq!(of(Dialect::Messages), (false, [true, true, false], true));
    assert_eq!(of(Dialect::Gemini), (false, [true, false, false], true));
}

#[test]
fn every_row_says_as_of_which_day_it_holds() {
    let families = FAMILIES.iter().map(|it| it.as_of);
    let services = SERVICES.iter().map(|it| it.as_of);
    for day in families.chain(services) {
        let parts: Vec<Option<u16>> = day.split('-').map(|it| it.parse().ok()).collect();
        let [Some(year), Some(month), Some(date)] = parts[..] else {
            panic!("{day} is no day");
        };
        assert!(year >= 2026 && (1..=12).contains(&month) && (1..=31).contains(&date));
        assert_eq!(day.len(), "2026-01-31".len(), "days are sorted as texts");
    }
}

#[test]
fn no_row_contradicts_itself() {
    for family in FAMILIES {
        let mut accepts = Accepts::default();
        family.describe(&mut accepts);
        assert!(!family.names.is_empty());
        assert_eq!(accepts.check(), Ok(()), "{:?}", family.names);
    }
}

mod listed;
