//! Reasoning: what an agent, the configuration and an override say of it, and what comes out.

use std::collections::BTreeMap;

use bonded_host::config::options::{
    Given, Reasoning, ReasoningLevel, ReasoningValue, Source, Sources, resolve,
};
use serde_json::Value;

const UNSET: (Reasoning, ReasoningValue) = (Reasoning::ProviderDefault, ReasoningValue::Unset);
const OFF: (Reasoning, ReasoningValue) = (Reasoning::Off, ReasoningValue::Null);
const HIGH: (Reasoning, ReasoningValue) = (
    Reasoning::Level(ReasoningLevel::High),
    ReasoningValue::Unset,
);
const LOW: (Reasoning, ReasoningValue) =
    (Reasoning::Level(ReasoningLevel::Low), ReasoningValue::Unset);

/// `absent` is not said at all.
fn said(key: &str, word: &str) -> BTreeMap<String, Given> {
    if word == "absent" {
        return BTreeMap::new();
    }
    let given = Given {
        value: Value::from(word),
        place: "somewhere".into(),
    };
    [(key.to_owned(), given)].into()
}

#[test]
fn agent_configuration_and_override_agree_as_the_matrix_says() {
    let rows = [
        ("absent", "default", "unset", UNSET),
        ("absent", "default", "none", OFF),
        ("absent", "default", "high", HIGH),
        ("absent", "low", "high", HIGH),
        ("unset", "default", "absent", OFF),
        ("unset", "default", "none", OFF),
        ("unset", "default", "high", HIGH),
        ("unset", "low", "absent", OFF),
        ("unset", "low", "unset", OFF),
        ("unset", "low", "none", OFF),
        ("unset", "low", "high", HIGH),
        ("high", "default", "absent", HIGH),
        ("high", "default", "unset", HIGH),
        ("high", "default", "high", HIGH),
        ("high", "low", "absent", HIGH),
        ("high", "low", "none", OFF),
        ("high", "low", "high", HIGH),
        ("absent", "absent", "absent", UNSET),
        ("absent", "low", "absent", LOW),
        ("absent", "low", "unset", LOW),
        ("none", "low", "absent", OFF),
    ];
    for (agent, config, forced, expected) in rows {
        let sources = Sources {
            overrides: said("reasoning", forced),
            front_matter: said("reasoning", agent),
            config: said("defaultReasoning", config),
            ..Sources::default()
        };
        let options = resolve(&sources).expect("it is good").options;
        let found = (options.reasoning, options.reasoning_value());
        assert_eq!(
            found, expected,
            "agent {agent}, config {config}, override {forced}"
        );
    }
}

#[test]
fn a_default_for_agents_that_say_nothing_stands_between_the_agent_and_the_configuration() {
    let sources = |agent: &str| Sources {
        command_line: said("defaultReasoning", "high"),
        front_matter: said("reasoning", agent),
        config: said("defaultReasoning", "low"),
        ..Sources::default()
    };
    let silent = resolve(&sources("absent")).expect("it is good");
    assert_eq!(silent.options.reasoning, HIGH.0);
    assert_eq!(silent.sources["reasoning"], Source::Inherited);
    let own = resolve(&sources("low")).expect("it is good");
    assert_eq!(own.options.reasoning, LOW.0);
}

#[test]
fn tokens_for_reasoning_are_a_number_or_switch_it_off() {
    let rows = [
        ("absent", ReasoningValue::Unset),
        ("2000", ReasoningValue::Tokens(2000)),
        ("0", ReasoningValue::Null),
        ("off", ReasoningValue::Null),
        ("none", ReasoningValue::Null),
        ("Disabled", ReasoningValue::Null),
    ];
    for (word, expected) in rows {
        let sources = Sources {
            command_line: said("reasoningTokens", word),
            front_matter: said("reasoning", "high"),
            ..Sources::default()
        };
        let options = resolve(&sources).expect("it is good").options;
        assert_eq!(options.reasoning_value(), expected, "{word}");
    }
}
