//! Reasoning: what an agent, the configuration and an override say of it, and what the provider is sent.

use serde_json::{Value, json};

use crate::reply::report;
use crate::world::{Outcome, World};

/// Asks through a router, whose requests tell "off" from "nothing said".
fn asked(agent: &str, config: &str, forced: &str) -> Outcome {
    let world = World::new();
    let router = json!({ "type": "openrouter", "baseUrl": world.base_url(), "apiKey": "k" });
    let mut world = world
        .front("models: openrouter/some/model")
        .config(&json!({ "providers": { "openrouter": router } }))
        .says([report("done")]);
    if agent != "absent" {
        world = world.front(&format!("reasoning: {agent}"));
    }
    if config != "absent" {
        world = world.config(&json!({ "defaults": { "reasoning": config } }));
    }
    let said = format!("reasoning={forced}");
    let flags: &[&str] = match forced {
        "absent" => &[],
        _ => &["--override", &said],
    };
    world.run(flags, "do it").good()
}

#[test]
fn agent_configuration_and_override_agree_as_the_matrix_says() {
    let unset = Value::Null;
    let off = json!({ "enabled": false });
    let high = json!({ "effort": "high" });
    let low = json!({ "effort": "low" });
    for (agent, config, forced, expected) in [
        ("absent", "default", "unset", &unset),
        ("absent", "default", "none", &off),
        ("absent", "default", "high", &high),
        ("absent", "low", "high", &high),
        ("unset", "default", "absent", &off),
        ("unset", "default", "none", &off),
        ("unset", "default", "high", &high),
        ("unset", "low", "absent", &off),
        ("unset", "low", "unset", &off),
        ("unset", "low", "none", &off),
        ("unset", "low", "high", &high),
        ("high", "default", "absent", &high),
        ("high", "default", "unset", &high),
        ("high", "default", "high", &high),
        ("high", "low", "absent", &high),
        ("high", "low", "none", &off),
        ("high", "low", "high", &high),
        ("absent", "absent", "absent", &unset),
        ("absent", "low", "absent", &low),
    ] {
        let outcome = asked(agent, config, forced);
        let sent = &outcome.requests[0]["reasoning"];
        assert_eq!(
            sent, expected,
            "agent {agent}, config {config}, override {forced}"
        );
    }
}

#[test]
fn a_provider_is_spoken_to_as_its_type_says_whatever_it_is_called() {
    let off = ["--reasoning", "none", "--repeat-penalty", "1.1"];
    for (kind, field, expected) in [
        ("openrouter", "reasoning", json!({ "enabled": false })),
        ("openrouter", "repetition_penalty", json!(1.1)),
        ("llamacpp", "repeat_penalty", json!(1.1)),
        ("vllm", "repetition_penalty", json!(1.1)),
    ] {
        let world = World::new();
        let provider = json!({ "type": kind, "baseUrl": world.base_url(), "apiKey": "k" });
        let world = world
            .front("models: mine/some/model")
            .config(&json!({ "providers": { "mine": provider } }))
            .says([report("done")]);
        let outcome = world.run(&off, "do it").good();
        assert_eq!(outcome.requests[0][field], expected, "{field} of {kind}");
        assert_eq!(outcome.account_fields("llm", "provider"), ["mine"]);
    }
}
