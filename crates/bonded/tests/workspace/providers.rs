//! The agent's providers, LM Studio and OpenRouter: what they are asked, how they are understood, and how they fail.

use bonded_testkit::provider::{Provider, Reply, raw, silence};
use serde_json::{Value, json};

use crate::place::parse;
use crate::provider_shapes::{
    COMPLETIONS, KEY, MODEL, answer, automation, lm_studio_reply, openrouter_events,
    openrouter_reply, refused, saying, server_with, until, upstream_failed,
};
use crate::server::Server;

/// A run of a rule that says this of its provider, to its end. What the provider says is kept.
fn run_with(server: &Server, provider: &Value) -> Value {
    let mut rule = json!({
        "workspace_id": server.workspace(), "trigger": "manual",
        "action_json": { "kind": "kjxlkj_agent", "mode": "yolo", "memory": { "retain_full_conversation_logs": true }, "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1 }, "request": "please" },
    });
    if !provider.is_null() {
        rule["action_json"]["provider"] = provider.clone();
    }
    let made = server.owner.post("/api/automation/rules", &rule);
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["rule_id"].as_str().expect("an id").to_owned();
    let launch = format!("/api/automation/rules/{id}/launch");
    let run = server.owner.post(&launch, &json!({})).json();
    let path = format!(
        "/api/automation/runs/{}",
        run["run_id"].as_str().expect("an id")
    );
    let is_over =
        |run: &Value| !["queued", "running"].contains(&run["status"].as_str().unwrap_or_default());
    until(|| server.owner.get(&path).json(), is_over)
}

/// The events of the log, without what is around them.
fn events(server: &Server, run: &Value) -> Vec<Value> {
    let run = run["run_id"].as_str().expect("an id");
    server
        .place
        .log(run)
        .iter()
        .map(|line| parse(line))
        .collect()
}

#[test]
fn a_provider_is_asked_as_the_configuration_says_and_what_it_adds_is_passed_over() {
    let rows = [
        ("lmstudio", lm_studio_reply(), None),
        (
            "openrouter",
            openrouter_reply(),
            Some(format!("Bearer {KEY}")),
        ),
        (
            "openrouter",
            openrouter_events(),
            Some(format!("Bearer {KEY}")),
        ),
    ];
    for (kind, reply, authorization) in rows {
        let provider = saying([reply]);
        let server = server_with(&automation(kind, &provider));
        let run = run_with(&server, &Value::Null);
        assert_eq!(run["status"], "succeeded", "{run}");
        let asked = provider.asked_at(COMPLETIONS);
        assert_eq!(asked.len(), 1, "{asked:?}");
        let sent = &asked[0];
        assert_eq!(sent.headers.get("authorization"), authorization.as_ref());
        let body = &sent.body;
        assert_eq!(
            (&body["model"], &body["max_tokens"], &body["temperature"]),
            (&json!(MODEL), &json!(77), &json!(0.25)),
            "{body}"
        );
        assert!(
            body.get("tools").is_none() && body.get("stream").is_none(),
            "{body}"
        );
        let roles: Vec<&Value> = body["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .map(|it| &it["role"])
            .collect();
        assert_eq!(roles, ["system", "user"]);
        let list = format!("/api/notes?workspace_id={}", server.workspace());
        assert_eq!(
            server.owner.get(&list).json()["notes"][0]["title"],
            "By the agent"
        );
        let log = events(&server, &run);
        let log = Value::from(log).to_string();
        assert!(
            log.contains("\"input\":524") && log.contains("\"output\":53"),
            "{log}"
        );
        assert!(!log.contains(KEY), "{log}");
    }
}

#[test]
fn where_the_model_fails_the_next_one_of_the_configuration_is_asked_at_the_same_place() {
    let provider = saying([upstream_failed(), upstream_failed(), openrouter_reply()]);
    let mut automation = automation("openrouter", &provider);
    automation["fallback_models"] = json!(["maker/second", "maker/third"]);
    let elsewhere = saying(vec![upstream_failed(); 4]);
    automation["allowed_providers"] = json!([format!("openrouter={}/v1", elsewhere.origin())]);
    let server = server_with(&automation);
    let run = run_with(&server, &Value::Null);
    assert_eq!(run["status"], "succeeded", "{run}");
    let asked = provider.asked_at(COMPLETIONS);
    let models: Vec<&Value> = asked.iter().map(|it| &it.body["model"]).collect();
    assert_eq!(models, [MODEL, "maker/second", "maker/third"]);
    // Another provider has other models.
    let choice =
        json!({ "provider_kind": "openrouter", "base_url": format!("{}/v1", elsewhere.origin()) });
    assert_eq!(run_with(&server, &choice)["error_code"], "LLM_UNAVAILABLE");
    let asked = elsewhere.asked_at(COMPLETIONS);
    assert!(
        asked.iter().all(|it| it.body["model"] == MODEL),
        "{asked:?}"
    );
}

/// Kind, replies, the run's code, how often it was asked, and what a person reads.
type FailingRow = (&'static str, Vec<Reply>, &'static str, usize, &'static str);

fn failing_rows() -> Vec<FailingRow> {
    let not_loaded = refused(
        404,
        &json!({ "error": {
            "message": "No models loaded. Please load a model in the developer page or use the `lms load` command.",
            "type": "invalid_request_error", "param": "model", "code": "model_not_found",
        }}),
    );
    let crashed = refused(
        400,
        &json!({ "error": "The model has crashed without additional information." }),
    );
    let unexpected =
        answer(&json!({ "error": "Unexpected endpoint or method. (POST /chat/completions)" }));
    let in_choice = answer(&json!({ "id": "gen-1", "model": MODEL, "choices": [{
        "index": 0, "finish_reason": "error", "message": { "role": "assistant", "content": "" },
        "error": { "code": 502, "message": "Upstream went away" },
    }]}));
    let no_credits = refused(
        402,
        &json!({ "error": {
            "code": 402, "message": "Insufficient credits. Add more using https://openrouter.ai/credits",
            "metadata": { "limit_source": "openrouter_credits" },
        }}),
    );
    let bad_key = refused(
        401,
        &json!({ "error": { "code": 401, "message": "User not found." } }),
    );
    let limited = refused(
        429,
        &json!({ "error": { "code": 429, "message": "Rate limit exceeded: free-models-per-min", "metadata": {} } }),
    );
    let limited = limited
        .header("Retry-After", "1")
        .header("X-RateLimit-Limit", "20")
        .header("X-RateLimit-Remaining", "0");
    vec![
        (
            "lmstudio",
            vec![not_loaded; 4],
            "LLM_UNAVAILABLE",
            4,
            "No models loaded",
        ),
        (
            "lmstudio",
            vec![crashed; 4],
            "LLM_UNAVAILABLE",
            4,
            "The model has crashed",
        ),
        (
            "lmstudio",
            vec![unexpected; 4],
            "LLM_UNAVAILABLE",
            4,
            "Unexpected endpoint",
        ),
        (
            "lmstudio",
            vec![silence(); 4],
            "LLM_TIMEOUT",
            4,
            "no complete answer",
        ),
        (
            "openrouter",
            vec![upstream_failed(); 4],
            "LLM_UNAVAILABLE",
            4,
            "upstream is overloaded",
        ),
        (
            "openrouter",
            vec![in_choice; 4],
            "LLM_UNAVAILABLE",
            4,
            "Upstream went away",
        ),
        (
            "openrouter",
            vec![no_credits],
            "LLM_UNAVAILABLE",
            1,
            "Insufficient credits",
        ),
        (
            "openrouter",
            vec![bad_key],
            "LLM_UNAVAILABLE",
            1,
            "User not found",
        ),
        (
            "openrouter",
            vec![raw(401, "text/plain", "").echoing()],
            "LLM_UNAVAILABLE",
            1,
            "***",
        ),
        (
            "openrouter",
            vec![limited.clone(); 4],
            "RATE_LIMITED",
            4,
            "Rate limit exceeded",
        ),
        ("openrouter", vec![limited, openrouter_reply()], "", 2, ""),
    ]
}

#[test]
fn each_way_in_which_a_provider_fails_has_its_code_and_its_own_words_and_no_key() {
    let idle = Provider::start();
    let mut automation = automation("lmstudio", &idle);
    let rows = failing_rows().into_iter();
    let rows: Vec<_> = rows
        .map(|(kind, replies, code, requests, words)| {
            let provider = saying(replies);
            (kind, provider, code, requests, words)
        })
        .collect();
    let listed = rows
        .iter()
        .map(|(kind, provider, ..)| format!("{kind}={}/v1", provider.origin()));
    automation["allowed_providers"] = listed.collect();
    let server = server_with(&automation);
    for (kind, provider, code, requests, words) in rows {
        // Only who is meant to be late is waited for so shortly: a busy machine may be late as well.
        let timeout_ms = if code == "LLM_TIMEOUT" { 400 } else { 30_000 };
        let choice = json!({
            "provider_kind": kind,
            "base_url": format!("{}/v1", provider.origin()),
            "model": MODEL,
            "timeout_ms": timeout_ms,
        });
        let run = run_with(&server, &choice);
        let expected = if code.is_empty() {
            Value::Null
        } else {
            json!(code)
        };
        assert_eq!(run["error_code"], expected, "{words}: {run}");
        assert_eq!(run["audit"]["error_code"], expected, "{run}");
        assert_eq!(
            provider.asked_at(COMPLETIONS).len(),
            requests,
            "{words}: {run}"
        );
        let said = run["result_json"]["message"].as_str().expect("a message");
        assert!(said.contains(words), "{words}: {run}");
        let log = Value::from(events(&server, &run)).to_string();
        assert!(
            !log.contains("planted") && !run.to_string().contains("planted"),
            "{log}"
        );
    }
}
