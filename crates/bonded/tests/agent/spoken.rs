//! What a configuration says of a model, in the requests that it comes to, and what the person is told of the rest.

use serde_json::{Value, json};

use crate::reply::{Reply, message, raw, refusal, report, report_tag, text};
use crate::world::{Outcome, World};

/// The report as each of the services says it.
fn reported(kind: &str) -> Reply {
    let said = report_tag("pipe", "done");
    let body = match kind {
        "anthropic" => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "answered",
            "content": [{ "type": "text", "text": said }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 120, "output_tokens": 40 },
        }),
        "google" => json!({
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": said }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 120, "candidatesTokenCount": 40 },
        }),
        "responses" => json!({
            "id": "resp_1", "status": "completed", "model": "answered",
            "output": [{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": said, "annotations": [] }] }],
            "usage": { "input_tokens": 120, "output_tokens": 40 },
        }),
        _ => return report("done"),
    };
    raw(200, "application/json", body.to_string())
}

/// An agent with tools that asks `first/one`, which is of a kind and says more of itself.
fn of_kind(kind: &str, more: &Value) -> World {
    let mut provider = match kind {
        "responses" => json!({ "openaiMode": "responses" }),
        kind => json!({ "type": kind }),
    };
    let fields = provider.as_object_mut().expect("it is an object");
    fields.extend(more.as_object().cloned().expect("it is an object"));
    World::with_tools()
        .config(&json!({ "providers": { "first": provider } }))
        .says([reported(kind)])
}

#[track_caller]
fn told(outcome: &Outcome, said: &str) {
    assert!(
        outcome.stderr.contains(said),
        "{said:?} in {}",
        outcome.stderr
    );
}

#[test]
fn what_is_said_of_calls_caches_and_tiers_reaches_the_request_in_the_services_own_words() {
    let said = json!({
        "parallelToolCalls": true, "promptCacheKey": "of all", "serviceTier": "default",
        "models": { "one": { "parallelToolCalls": false, "promptCacheKey": "of one", "serviceTier": "flex" } },
    });
    let openai = json!({ "parallel_tool_calls": false, "prompt_cache_key": "of one", "service_tier": "flex" });
    let anthropic = json!({
        "tool_choice": { "type": "auto", "disable_parallel_tool_use": true }, "service_tier": "flex",
        "prompt_cache_key": null,
    });
    let google = json!({ "serviceTier": "flex", "parallelToolCalls": null });
    for (kind, expected, unsent) in [
        ("openai", openai.clone(), &[][..]),
        ("responses", openai, &[]),
        ("anthropic", anthropic, &["promptCacheKey"]),
        ("google", google, &["parallelToolCalls", "promptCacheKey"]),
    ] {
        let outcome = of_kind(kind, &said).run(&[], "say it").good();
        for (field, value) in expected.as_object().expect("it is an object") {
            assert_eq!(&outcome.requests[0][field], value, "{kind} {field}");
        }
        for name in unsent {
            told(
                &outcome,
                &format!("first/one does not accept {name}: it is not sent"),
            );
        }
        let lines = outcome.stderr.matches("it is not sent").count();
        assert_eq!(lines, unsent.len(), "{kind}: {}", outcome.stderr);
    }
}

#[test]
fn what_a_configuration_says_a_model_accepts_decides_what_it_is_sent() {
    let world = World::new()
        .front("models: first/own, first/other\ntemperature: 0.5\ntopP: 0.25\nmaxOutputTokens: 100")
        .config(&json!({ "providers": { "first": {
            "accepts": { "topP": false, "outputLimit": "max_completion_tokens" },
            "models": { "own": { "accepts": { "topP": true, "temperature": false, "systemRole": "developer" } } },
        } } }))
        .says([refusal(500, "no"), report("done")]);
    let outcome = world.run(&["--max-retries", "2"], "sample").good();
    let [own, other] = &outcome.requests[..] else {
        panic!("two requests, not {}", outcome.requests.len());
    };
    for asked in [own, other] {
        assert_eq!(asked["max_completion_tokens"], 100);
        assert_eq!(asked["max_tokens"], Value::Null);
    }
    assert_eq!(
        (&own["temperature"], &own["top_p"]),
        (&Value::Null, &json!(0.25))
    );
    assert_eq!(
        (&other["temperature"], &other["top_p"]),
        (&json!(0.5), &Value::Null)
    );
    assert_eq!(own["messages"][0]["role"], "developer");
    assert_eq!(other["messages"][0]["role"], "system");
    told(
        &outcome,
        "first/own does not accept temperature: it is not sent",
    );
    told(&outcome, "first/other does not accept topP: it is not sent");
    assert!(!outcome.stderr.contains("unknown"), "{}", outcome.stderr);
}

#[test]
fn what_is_said_of_a_model_and_contradicts_itself_is_refused_before_anything_is_asked() {
    let rows = [
        (
            json!({ "efforts": ["high", "low"] }),
            "the settings of \"one\" in providers.first contradict each other: the efforts do not go from the least to the most",
        ),
        (
            json!({ "like": "nobody-knows-it" }),
            "providers.first: \"one\" is set to be like \"nobody-knows-it\", which is not a known model",
        ),
    ];
    for (accepts, said) in rows {
        let world = World::new()
            .config(&json!({ "providers": { "first": { "accepts": accepts } } }))
            .says([report("done")]);
        let outcome = world.run(&[], "say it");
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.requests.is_empty());
        told(&outcome, said);
    }
}

#[test]
fn a_field_of_custom_that_a_setting_of_the_run_takes_the_place_of_is_told() {
    let custom = json!({ "temperature": 0.9, "seed": 7 });
    let world = || {
        World::new()
            .config(&json!({ "providers": { "first": { "custom": custom } } }))
            .says([report("done")])
    };
    let said = "the field \"temperature\" of `custom` is not sent to first/one";
    let outcome = world().run(&[], "say it").good();
    assert_eq!(outcome.requests[0]["temperature"], 0.9);
    assert!(!outcome.stderr.contains(said), "{}", outcome.stderr);
    let outcome = world().run(&["--temperature", "0.5"], "say it").good();
    assert_eq!(outcome.requests[0]["temperature"], 0.5);
    assert_eq!(outcome.requests[0]["seed"], 7);
    told(&outcome, said);
}

#[test]
fn a_lesson_and_a_refusal_are_shown_while_the_run_goes_on_and_afterwards() {
    let refused =
        json!({ "role": "assistant", "content": null, "refusal": "I will not help with that." });
    let world = World::new().front("temperature: 0.5").says([
        refusal(
            400,
            "Unsupported parameter: 'temperature' is not supported with this model.",
        ),
        message(&refused, "stop"),
        report("done"),
    ]);
    let outcome = world.run(&[], "say it").good();
    assert_eq!(outcome.requests[0]["temperature"], 0.5);
    assert_eq!(outcome.requests[1]["temperature"], Value::Null);
    let shown = world.bonded(&["show", outcome.run_id()]);
    let (learned, refused) = (
        "temperature is left out",
        "refused: I will not help with that.",
    );
    for text in [&outcome.stderr, &shown.stdout] {
        for said in [
            "'temperature' is not supported with this model.",
            learned,
            refused,
        ] {
            assert!(text.contains(said), "{said:?} in {text}");
        }
    }
}

#[test]
fn of_two_keys_that_are_set_the_person_is_told_which_one_counts() {
    let world = World::new()
        .front("models: anthropic/claude-opus-5")
        .says([reported("anthropic")]);
    let bare = world.base_url();
    let mut command = world.run_command(&[], "say it");
    command
        .env("ANTHROPIC_BASE_URL", bare.trim_end_matches("/v1"))
        .env("ANTHROPIC_API_KEY", "the-key")
        .env("ANTHROPIC_AUTH_TOKEN", "the-token");
    let outcome = world.finish(crate::world::start(&mut command)).good();
    told(
        &outcome,
        "both ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are set: anthropic is asked with ANTHROPIC_API_KEY",
    );
    assert_eq!(outcome.requests[0].path, "/v1/messages");
    assert_eq!(outcome.requests[0].headers["x-api-key"], "the-key");
}

#[test]
fn a_deployment_at_azure_is_asked_by_its_address_with_the_key_in_its_own_header() {
    let world = World::new();
    let resource = world.base_url().trim_end_matches("/v1").to_owned();
    let world = world
        .config(&json!({ "providers": { "first": {
            "type": "azure", "baseUrl": resource, "apiVersion": "2025-04-01-preview",
        } } }))
        .says([report("done")]);
    let outcome = world.run(&[], "say it").good();
    let asked = &outcome.requests[0];
    assert_eq!(
        asked.path,
        "/openai/deployments/one/chat/completions?api-version=2025-04-01-preview"
    );
    assert_eq!(asked.headers["api-key"], "key-1");
    assert_eq!(asked.headers.get("authorization"), None);
}

#[test]
fn a_provider_without_an_address_is_where_the_variable_of_its_own_client_says() {
    let world = World::new()
        .front("models: work/claude-opus-5")
        .config(
            &json!({ "providers": { "work": { "type": "anthropic", "apiKey": "key-of-work" } } }),
        )
        .says([reported("anthropic")]);
    let bare = world.base_url();
    let mut command = world.run_command(&[], "say it");
    command.env("ANTHROPIC_BASE_URL", bare.trim_end_matches("/v1"));
    let outcome = world.finish(crate::world::start(&mut command)).good();
    assert_eq!(outcome.requests[0].path, "/v1/messages");
    assert_eq!(outcome.requests[0].headers["x-api-key"], "key-of-work");
}

#[test]
fn the_highest_efforts_can_be_said_on_the_command_line_and_in_a_file() {
    for level in ["xhigh", "max"] {
        let world = World::new().says([report("done")]);
        let outcome = world.run(&["--reasoning", level], "think").good();
        assert_eq!(outcome.requests[0]["reasoning_effort"], level);
        let world = World::new()
            .front(&format!("reasoning: {level}"))
            .says([report("done")]);
        let outcome = world.run(&[], "think").good();
        assert_eq!(outcome.requests[0]["reasoning_effort"], level);
    }
}

#[test]
fn a_server_that_is_called_openai_is_asked_in_the_words_of_its_model() {
    let world = World::new();
    let provider = json!({ "type": "openai", "baseUrl": world.base_url(), "apiKey": "k" });
    let world = world
        .front("models: openai/mistral-large-latest")
        .config(&json!({ "providers": { "openai": provider } }))
        .says([text("one moment"), report("done")]);
    let outcome = world.run(&[], "say it").good();
    for asked in &outcome.requests {
        assert_eq!(asked.path, "/v1/chat/completions");
        assert!(asked["max_tokens"].is_u64(), "{}", asked.body);
        assert_eq!(asked["max_completion_tokens"], Value::Null);
    }
}
