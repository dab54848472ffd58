//! From a configuration to what is asked: where, with which key, in which dialect, and what is known to be accepted.

use std::collections::BTreeMap;

use bonded_host::agent::{self, UnknownWindow};
use bonded_host::config::Environment;
use bonded_host::config::options::{Given, Sources, resolve};
use bonded_kernel::{
    Accepts, CallIds, Dialect, Effort, ImageInput, OutputLimitField, PenaltyField, SignedThoughts,
    SystemRole, Target, ThinkingForm, ThoughtReturn,
};
use serde_json::{Value, json};

use crate::world::World;

/// Variables of the environment, or flags, with their values.
type Set<'a> = &'a [(&'a str, &'a str)];

/// The target that a model is, with these settings, flags and variables; else why it cannot be asked.
fn target(
    model: &str,
    settings: &Value,
    flags: Set<'_>,
    variables: Set<'_>,
) -> Result<Target, String> {
    let world = World::with(&settings.to_string());
    let config = world.load();
    let model = ("models", model);
    let flags = flags.iter().chain([&model]).map(|(key, value)| {
        let given = Given {
            value: (*value).into(),
            place: format!("--{key}"),
        };
        ((*key).to_owned(), given)
    });
    let sources = Sources {
        command_line: flags.collect::<BTreeMap<_, _>>(),
        ..config.sources().expect("the options are good")
    };
    let options = resolve(&sources).expect("the options are good").options;
    let variables = variables.iter();
    let environment: Environment = variables
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let targets = agent::targets(&config, &options, &environment, UnknownWindow::Open);
    let mut targets = targets.map_err(|error| error.to_string())?;
    Ok(targets.remove(0))
}

/// A provider of which nothing is known, with one model that says more than it.
fn lab(provider: &Value, model: &Value) -> Value {
    let mut lab = json!({
        "type": "openai-compatible", "baseUrl": "http://127.0.0.1:9/v1", "models": { "m": { "accepts": model } },
    });
    lab["accepts"] = provider.clone();
    json!({ "providers": { "lab": lab } })
}

fn accepts(provider: &Value, model: &Value) -> Result<Accepts, String> {
    let target = target("lab/m", &lab(provider, model), &[], &[])?;
    Ok(*target.accepts.expect("it is resolved"))
}

#[test]
fn every_key_of_accepts_changes_what_is_known_and_no_other_thing() {
    type Change = fn(&mut Accepts);
    let rows: [(Value, Change); 23] = [
        (json!({"temperature": false}), |it| {
            it.temperature_max = None;
        }),
        (json!({"temperatureMax": 1}), |it| {
            it.temperature_max = Some(1.0);
        }),
        (json!({"topP": false}), |it| it.top_p = false),
        (json!({"topK": false}), |it| it.top_k = false),
        (json!({"temperatureWithTopP": false}), |it| {
            it.temperature_with_top_p = false;
        }),
        (json!({"penalty": "repeat_penalty"}), |it| {
            it.penalty = PenaltyField::RepeatPenalty;
        }),
        (json!({"outputLimit": "max_completion_tokens"}), |it| {
            it.output_limit = OutputLimitField::MaxCompletionTokens;
        }),
        (json!({"thinking": "switch"}), |it| {
            it.thinking = ThinkingForm::Switch;
        }),
        (json!({"thinking": "none"}), |it| {
            it.thinking = ThinkingForm::None;
            it.efforts.clear();
        }),
        (json!({"efforts": ["none", "max"]}), |it| {
            it.efforts = vec![Effort::None, Effort::Max];
        }),
        (json!({"toolChoiceRequired": false}), |it| {
            it.tool_choice_required = false;
        }),
        (json!({"systemRole": "developer"}), |it| {
            it.system_role = SystemRole::Developer;
        }),
        (json!({"alternates": true}), |it| it.alternates = true),
        (json!({"userAfterTool": false}), |it| {
            it.user_after_tool = false;
        }),
        (json!({"thoughtReturn": "reasoning_content"}), |it| {
            it.thought_return = ThoughtReturn::Content;
        }),
        (json!({"signedThoughts": "left_out"}), |it| {
            it.signed_thoughts = SignedThoughts::LeftOut;
        }),
        (json!({"callsNeedTools": true}), |it| {
            it.calls_need_tools = true;
        }),
        (json!({"callIds": "nine"}), |it| it.call_ids = CallIds::Nine),
        (json!({"streamUsage": false}), |it| it.stream_usage = false),
        (json!({"parallelToolCalls": false}), |it| {
            it.parallel_tool_calls = false;
        }),
        (json!({"promptCacheKey": false}), |it| {
            it.prompt_cache_key = false;
        }),
        (json!({"serviceTier": false}), |it| it.service_tier = false),
        (json!({"images": false}), |it| it.images = ImageInput::None),
    ];
    for (said, change) in rows {
        let mut expected = Accepts::default();
        change(&mut expected);
        for (provider, model) in [(said.clone(), json!({})), (json!({}), said.clone())] {
            assert_eq!(accepts(&provider, &model), Ok(expected.clone()), "{said}");
        }
        let world = World::with(&lab(&said, &json!({})).to_string());
        let config = world.load();
        let odd: Vec<String> = config.warnings().iter().map(ToString::to_string).collect();
        assert!(odd.is_empty(), "{said}: {odd:?}");
    }
}

#[test]
fn what_a_model_accepts_wins_over_what_its_provider_does() {
    let provider = json!({"topP": false, "temperatureMax": 1, "like": "gpt-4o"});
    let model = json!({"topP": true, "like": "claude-opus-4-7"});
    let both = accepts(&provider, &model).expect("it is good");
    assert!(both.top_p, "the model's");
    assert_eq!(both.temperature_max, Some(1.0), "the provider's");
    assert!(both.efforts.contains(&Effort::XHigh), "as the model says");
    let alone = accepts(&provider, &json!({})).expect("it is good");
    assert!(!alone.top_p);
    assert_eq!(alone.thinking, ThinkingForm::None);
}

#[test]
fn what_contradicts_itself_or_is_like_nothing_is_refused_by_name() {
    let rows = [
        (
            json!({"temperature": false, "temperatureMax": 1}),
            "the settings of \"m\" in providers.lab contradict each other: a maximum temperature is set, but temperature is not accepted; \
             correct its `accepts`",
        ),
        (
            json!({"efforts": ["high", "low"]}),
            "contradict each other: the efforts do not go from the least to the most, each once",
        ),
        (
            json!({"thinking": "adaptive", "efforts": []}),
            "contradict each other: thoughts are asked for by an effort, and there is none",
        ),
        (
            json!({"thinking": "none", "efforts": ["low"]}),
            "contradict each other: there are efforts, and thoughts cannot be asked for",
        ),
        (
            json!({"temperatureMax": -1}),
            "contradict each other: the highest temperature is not a number from 0",
        ),
        (
            json!({"like": "nobody-knows-it"}),
            "providers.lab: \"m\" is set to be like \"nobody-knows-it\", which is not a known model",
        ),
        (
            json!({"thinking": "loudly"}),
            "providers.lab.models.m.accepts.thinking must be one of effort, adaptive, budget",
        ),
        (
            json!({"efforts": ["much"]}),
            "providers.lab.models.m.accepts.efforts must be a list of none, minimal, low, medium, high, xhigh, max",
        ),
    ];
    for (said, expected) in rows {
        let error = accepts(&json!({}), &said).expect_err("it is bad");
        assert!(error.contains(expected), "{said}: {error}");
    }
}

#[test]
fn variables_of_the_services_own_clients_say_where_a_provider_without_an_address_is() {
    let rows: [(&str, Value, Set<'_>, &str); 8] = [
        (
            "openai",
            json!({}),
            &[("OPENAI_BASE_URL", "http://h/v1")],
            "http://h/v1",
        ),
        (
            "work",
            json!({"type": "anthropic", "headers": {"X-Team": "blue"}}),
            &[("ANTHROPIC_BASE_URL", "http://h")],
            "http://h",
        ),
        (
            "work",
            json!({"type": "google"}),
            &[("GOOGLE_GEMINI_BASE_URL", "http://h")],
            "http://h/v1beta",
        ),
        (
            "groq",
            json!({}),
            &[("GROQ_BASE_URL", "http://h")],
            "http://h/openai/v1",
        ),
        (
            "openai",
            json!({"baseUrl": "http://own/v1"}),
            &[("OPENAI_BASE_URL", "http://h/v1")],
            "http://own/v1",
        ),
        (
            "azure",
            json!({}),
            &[("AZURE_OPENAI_ENDPOINT", "http://h")],
            "http://h/openai/v1",
        ),
        (
            "work",
            json!({"type": "azure", "apiKey": "k"}),
            &[
                ("AZURE_OPENAI_ENDPOINT", "http://h"),
                ("OPENAI_API_VERSION", "2025-04-01"),
            ],
            "http://h/openai/deployments/m?api-version=2025-04-01",
        ),
        (
            "work",
            json!({"type": "azure", "baseUrl": "http://own", "apiVersion": "1"}),
            &[
                ("AZURE_OPENAI_ENDPOINT", "http://h"),
                ("OPENAI_API_VERSION", "2"),
            ],
            "http://own/openai/deployments/m?api-version=1",
        ),
    ];
    for (name, settings, variables, expected) in rows {
        let config = json!({ "providers": { name: settings } });
        let target = target(&format!("{name}/m"), &config, &[], variables);
        let endpoint = target.map(|target| target.endpoint);
        assert_eq!(endpoint.as_deref(), Ok(expected), "{config}");
    }
    let nowhere = json!({ "providers": { "work": { "type": "azure", "apiKey": "k" } } });
    let refused = target("work/m", &nowhere, &[], &[]).expect_err("it has no address");
    assert!(refused.contains("AZURE_OPENAI_ENDPOINT"), "{refused}");
}

#[test]
fn a_key_of_a_variable_goes_where_no_configuration_says_where() {
    let key = |settings: Value, variables: &[(&str, &str)]| {
        let config = json!({ "providers": { "work": settings } });
        let target = target("work/m", &config, &[], variables).expect("it can be asked");
        (target.key_env, target.key_header)
    };
    let pair =
        |name: &str, header: Option<&str>| (Some(name.to_owned()), header.map(str::to_owned));
    let azure = ("AZURE_OPENAI_ENDPOINT", "http://h");
    assert_eq!(
        key(json!({"type": "azure"}), &[azure]),
        pair("AZURE_OPENAI_API_KEY", Some("api-key"))
    );
    assert_eq!(
        key(
            json!({"type": "azure"}),
            &[azure, ("AZURE_OPENAI_AD_TOKEN", "t")]
        ),
        pair("AZURE_OPENAI_AD_TOKEN", Some("authorization"))
    );
    let own = json!({"type": "azure", "baseUrl": "http://own"});
    assert_eq!(key(own, &[azure]), (None, Some("api-key".to_owned())));
    assert_eq!(
        key(
            json!({"type": "openai"}),
            &[("OPENAI_BASE_URL", "http://h/v1")]
        ),
        pair("OPENAI_API_KEY", None)
    );
    let own = json!({"type": "openai", "baseUrl": "http://own/v1"});
    assert_eq!(key(own, &[("OPENAI_API_KEY", "k")]), (None, None));
}

#[test]
fn a_kind_of_provider_is_asked_where_everybody_knows_and_as_its_service_takes_it() {
    let of = |kind: &str| {
        let config = json!({ "providers": { "work": { "type": kind, "apiKey": "k" } } });
        target("work/some-model", &config, &[], &[]).expect("it can be asked")
    };
    type Quirk = fn(&Accepts) -> bool;
    let rows: [(&str, &str, Quirk); 4] = [
        ("mistral", "https://api.mistral.ai/v1", |it| {
            !it.user_after_tool && it.call_ids == CallIds::Nine && !it.stream_usage
        }),
        ("deepseek", "https://api.deepseek.com/v1", |it| {
            it.thought_return == ThoughtReturn::Content
        }),
        ("xai", "https://api.x.ai/v1", |it| {
            !it.top_k && it.penalty == PenaltyField::None && it.prompt_cache_key
        }),
        ("groq", "https://api.groq.com/openai/v1", |it| {
            it.output_limit == OutputLimitField::MaxCompletionTokens && !it.prompt_cache_key
        }),
    ];
    for (kind, endpoint, quirk) in rows {
        let target = of(kind);
        assert_eq!(target.endpoint, endpoint);
        assert_eq!(target.dialect, Dialect::Chat);
        assert!(
            quirk(target.accepts.as_ref().expect("it is resolved")),
            "{kind}"
        );
        assert!(!quirk(&Accepts::default()), "{kind} says something");
    }
}

#[test]
fn openai_itself_is_asked_for_responses_unless_somebody_says_otherwise() {
    let own = json!({"type": "openai", "apiKey": "k"});
    let with = |mode: &str| json!({"type": "openai", "apiKey": "k", "openaiMode": mode});
    let elsewhere = json!({"type": "openai", "baseUrl": "http://h/v1"});
    let proxied: &[(&str, &str)] = &[("OPENAI_BASE_URL", "http://h/v1")];
    let rows: [(Value, Option<&str>, Set<'_>, Dialect); 11] = [
        (own.clone(), None, &[], Dialect::Responses),
        (own.clone(), Some("chat"), &[], Dialect::Chat),
        (own, None, proxied, Dialect::Chat),
        (with("auto"), None, &[], Dialect::Responses),
        (with("auto"), None, proxied, Dialect::Chat),
        (with("chat"), None, &[], Dialect::Chat),
        (with("chat"), Some("responses"), &[], Dialect::Responses),
        (with("chat"), Some("auto"), &[], Dialect::Responses),
        (with("responses"), Some("auto"), proxied, Dialect::Chat),
        (with("responses"), None, proxied, Dialect::Responses),
        (elsewhere, None, &[], Dialect::Chat),
    ];
    for (settings, flag, variables, expected) in rows {
        let config = json!({ "providers": { "work": settings } });
        let flags: Vec<(&str, &str)> = flag.map(|mode| ("openaiMode", mode)).into_iter().collect();
        let target = target("work/gpt-5", &config, &flags, variables).expect("it can be asked");
        assert_eq!(target.dialect, expected, "{config} {flag:?} {variables:?}");
    }
    // One that nobody configured.
    let key = ("OPENAI_API_KEY", "k");
    let known = target("openai/gpt-5", &json!({}), &[], &[key]).expect("it can be asked");
    assert_eq!(known.dialect, Dialect::Responses);
    let chat = [("openaiMode", "chat")];
    let told = target("openai/gpt-5", &json!({}), &chat, &[key]).expect("it can be asked");
    assert_eq!(told.dialect, Dialect::Chat);
}

#[test]
fn a_server_that_is_only_called_openai_is_not_taken_for_it() {
    let config = json!({ "providers": { "openai": { "baseUrl": "http://127.0.0.1:9/v1" } } });
    let limit = |model: &str| {
        let target = target(model, &config, &[], &[]).expect("it can be asked");
        target.accepts.expect("it is resolved").output_limit
    };
    assert_eq!(
        limit("openai/mistral-large-latest"),
        OutputLimitField::MaxTokens
    );
    assert_eq!(limit("openai/gpt-5"), OutputLimitField::MaxCompletionTokens);
    // So it is where a variable says that it is elsewhere.
    let variables = [
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("OPENAI_API_KEY", "k"),
    ];
    for config in [json!({}), json!({ "providers": { "openai": {} } })] {
        let target = target("openai/mistral-large-latest", &config, &[], &variables);
        let accepts = target.expect("it can be asked").accepts;
        let limit = accepts.expect("it is resolved").output_limit;
        assert_eq!(limit, OutputLimitField::MaxTokens, "{config}");
    }
}

#[test]
fn what_is_not_sent_is_told_by_name() {
    let told = |settings: Value, model: &str, flags: &[(&str, &str)]| {
        let config = json!({ "providers": { "work": settings } });
        let target = target(&format!("work/{model}"), &config, flags, &[]);
        agent::unsent(&target.expect("it can be asked"))
    };
    let three = |kind: &str| {
        json!({"type": kind, "apiKey": "k", "parallelToolCalls": false, "promptCacheKey": "c",
            "serviceTier": "flex"})
    };
    let lacks = |model: &str, names: &[&str]| -> Vec<String> {
        let told = |name: &&str| format!("work/{model} does not accept {name}: it is not sent");
        names.iter().map(told).collect()
    };
    assert_eq!(told(three("openai"), "gpt-5", &[]), lacks("gpt-5", &[]));
    let claude = "claude-opus-5";
    assert_eq!(
        told(three("anthropic"), claude, &[("temperature", "0.5")]),
        lacks(claude, &["temperature", "promptCacheKey"])
    );
    assert_eq!(
        told(three("google"), "gemini-3-pro", &[]),
        lacks("gemini-3-pro", &["parallelToolCalls", "promptCacheKey"])
    );
}

#[test]
fn a_field_of_custom_that_another_setting_says_is_told_by_its_path() {
    let told = |kind: &str, model: &str, custom: Value, flags: &[(&str, &str)]| {
        let config =
            json!({ "providers": { "work": { "type": kind, "apiKey": "k", "custom": custom } } });
        let target = target(&format!("work/{model}"), &config, flags, &[]);
        agent::unsent(&target.expect("it can be asked"))
    };
    let line = |model: &str, path: &str| {
        format!(
            "the field {path:?} of `custom` is not sent to work/{model}: another setting sets it"
        )
    };
    let warm = json!({"temperature": 0.9, "seed": 7});
    assert!(told("xai", "grok-4.3", warm.clone(), &[]).is_empty());
    let flags = [("temperature", "0.5")];
    assert_eq!(
        told("xai", "grok-4.3", warm, &flags),
        [line("grok-4.3", "temperature")]
    );
    // To say the same twice takes nothing away.
    assert!(told("xai", "grok-4.3", json!({"temperature": 0.5}), &flags).is_empty());
    let within =
        json!({"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}, "seed": 7}});
    assert!(told("google", "gemini-3-pro", within.clone(), &[]).is_empty());
    assert_eq!(
        told("google", "gemini-3-pro", within, &[("reasoning", "high")]),
        [line(
            "gemini-3-pro",
            "generationConfig.thinkingConfig.thinkingLevel"
        )]
    );
    for (kind, model, custom, path) in [
        (
            "openai",
            "gpt-5",
            json!({"reasoning": {"effort": "low"}}),
            "reasoning.effort",
        ),
        (
            "anthropic",
            "claude-opus-5",
            json!({"output_config": {"effort": "low"}}),
            "output_config.effort",
        ),
        (
            "xai",
            "grok-4.3",
            json!({"reasoning_effort": "low"}),
            "reasoning_effort",
        ),
        (
            "xai",
            "grok-4.3",
            json!({"stream_options": {"include_usage": false}}),
            "stream_options.include_usage",
        ),
    ] {
        let flags = [("reasoning", "high"), ("stream", "true")];
        assert_eq!(told(kind, model, custom, &flags), [line(model, path)]);
    }
}
