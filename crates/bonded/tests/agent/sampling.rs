//! What providers are sent with every request: sampling, reasoning, limits, headers.

use serde_json::{Value, json};

use crate::reply::{echo, refusal, report, report_call};
use crate::world::World;

#[test]
fn the_values_of_sampling_reach_the_provider_with_every_request() {
    let world = World::with_tools()
        .front("temperature: 0.5\ntopP: 0.25\nrepeatPenalty: 1.5\nmaxOutputTokens: 100")
        .says([refusal(500, "no"), echo("a"), report("done")]);
    let outcome = world.run(&[], "sample").good();
    assert_eq!(outcome.requests.len(), 3);
    for request in &outcome.requests {
        assert_eq!(request["temperature"], 0.5);
        assert_eq!(request["top_p"], 0.25);
        let most = [&request["max_tokens"], &request["max_completion_tokens"]];
        assert!(most.contains(&&json!(100)), "{:?}", request.body);
        let text = request.body.to_string();
        assert!(text.contains("penalty"), "{text}");
    }
}

#[test]
fn what_nobody_set_is_not_sent() {
    let outcome = World::new()
        .says([report("done")])
        .run(&[], "sample")
        .good();
    let request = &outcome.requests[0];
    for field in [
        "temperature",
        "top_p",
        "top_k",
        "reasoning_effort",
        "frequency_penalty",
        "repeat_penalty",
    ] {
        assert_eq!(request[field], Value::Null, "{field}");
    }
}

#[test]
fn a_model_wins_over_its_provider_and_a_provider_over_the_run() {
    let world = World::new()
        .front("models: first/own, first/other, second/own\ntemperature: 0.1\ntopP: 0.1")
        .config(&json!({ "providers": { "first": {
            "overrides": { "temperature": 0.2 },
            "models": { "own": { "overrides": { "temperature": 0.42, "top_p": 0.66 } } },
        } } }))
        .says([refusal(500, "no"), refusal(500, "no"), report("done")]);
    let outcome = world.run(&["--max-retries", "3"], "sample").good();
    let sent: Vec<_> = outcome
        .requests
        .iter()
        .map(|it| (it["temperature"].clone(), it["top_p"].clone()))
        .collect();
    assert_eq!(sent[0], (json!(0.42), json!(0.66)), "{}", outcome.stderr);
    assert_eq!(sent[1], (json!(0.2), json!(0.1)));
    assert_eq!(sent[2], (json!(0.1), json!(0.1)));
}

#[test]
fn a_value_that_is_unset_for_a_model_is_left_out() {
    let world = World::new();
    let model = json!({ "overrides": { "temperature": null } });
    let provider =
        json!({ "type": "openai", "baseUrl": world.base_url(), "models": { "one": model } });
    let config = json!({ "providers": { "first": provider } }).to_string();
    let world = world.file(".ai-agent.json", config).says([report("done")]);
    let outcome = world.run(&[], "sample").good();
    assert_eq!(outcome.requests[0]["temperature"], Value::Null);
}

#[test]
fn a_level_of_reasoning_reaches_the_provider() {
    for level in ["minimal", "low", "medium", "high"] {
        let world = World::new().says([report("done")]);
        let outcome = world.run(&["--reasoning", level], "think").good();
        assert_eq!(outcome.requests[0]["reasoning_effort"], level);
    }
}

#[test]
fn the_choice_of_tools_is_the_models_before_the_providers() {
    let provider =
        json!({ "toolChoice": "auto", "models": { "one": { "toolChoice": "required" } } });
    let world = World::with_tools()
        .front("models: first/two, first/one")
        .config(&json!({ "providers": { "first": provider } }))
        .says([refusal(500, "no"), report_call("done")]);
    let outcome = world
        .run(&["--tooling-transport", "native"], "choose")
        .good();
    assert_eq!(outcome.requests[0]["tool_choice"], "auto");
    assert_eq!(outcome.requests[1]["tool_choice"], "required");
}

#[test]
fn headers_of_the_configuration_are_sent() {
    let world = World::new()
        .config(&json!({ "providers": { "first": { "headers": { "X-Team": "blue" } } } }))
        .says([report("done")]);
    let outcome = world.run(&[], "say").good();
    assert_eq!(outcome.requests[0].headers["x-team"], "blue");
    assert_eq!(outcome.requests[0].path, "/v1/chat/completions");
}

#[test]
fn custom_fields_stand_in_every_request_and_no_secret_enters_the_log_by_them() {
    let provider = |custom: Value| json!({ "providers": { "first": { "custom": custom } } });
    let world = World::new()
        .config(&provider(
            json!({ "seed": 7, "metadata": { "team": "shed" } }),
        ))
        .says([report("done")]);
    let outcome = world.run(&[], "say it").good();
    assert_eq!(outcome.requests[0]["seed"], 7);
    assert_eq!(outcome.requests[0]["metadata"], json!({ "team": "shed" }));

    let secret = "q8Zr5TnVx2Lw9KdPb4Hy7Mc";
    let hidden = [
        json!({ "auth_token": secret }),
        json!({ "metadata": [{ "password": secret }] }),
    ];
    for custom in hidden {
        let world = World::new()
            .config(&provider(custom))
            .says([report("done")]);
        let outcome = world.run(&[], "say it");
        assert_ne!(outcome.code, Some(0));
        assert!(
            outcome.stderr.contains("holds a secret"),
            "{}",
            outcome.stderr
        );
        assert!(!outcome.stderr.contains(secret) && outcome.requests.is_empty());
    }
    for custom in [
        json!({ "model": "other" }),
        json!({ "stream": true }),
        json!({ "generationConfig": { "maxOutputTokens": 5 } }),
        json!({ "generationConfig": 5 }),
        json!({ "tool_choice": "none" }),
    ] {
        let world = World::new()
            .config(&provider(custom))
            .says([report("done")]);
        let outcome = world.run(&[], "say it");
        assert!(outcome.stderr.contains("is already part of every request"));
        assert!(outcome.requests.is_empty());
    }
    for wider in [json!({ "n": 50 }), json!({ "models": ["dear"] })] {
        let world = World::new().config(&provider(wider)).says([report("done")]);
        let outcome = world.run(&[], "say it");
        assert!(
            outcome
                .stderr
                .contains("would cost money that no budget counts")
        );
        assert!(outcome.requests.is_empty());
    }
}
