//! LM Studio and OpenRouter as they stand on the wire, and servers that are to ask them.

use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::provider::{Provider, Reply, raw};
use serde_json::{Value, json};

use crate::place::Place;
use crate::server::Server;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

pub(crate) const KEY: &str = "sk-or-v1-planted0123456789abcdef";
pub(crate) const MODEL: &str = "nvidia/nemotron-3-nano";
pub(crate) const COMPLETIONS: &str = "POST /v1/chat/completions";

const WRITES: &str = "<record_add><keywords>agent</keywords>\
    <value>{\"title\": \"By the agent\", \"markdown\": \"as asked\"}</value></record_add>\
    <state_add><state>idle</state></state_add>";

/// A provider that says these to requests for completions, one after the other.
pub(crate) fn saying(replies: impl IntoIterator<Item = Reply>) -> Provider {
    let provider = Provider::start();
    provider.say(replies);
    provider
}

pub(crate) fn answer(body: &Value) -> Reply {
    refused(200, body)
}

pub(crate) fn refused(status: u16, body: &Value) -> Reply {
    raw(status, "application/json", body.to_string())
}

/// A server whose configuration says this of its provider, with a key in `.env`.
pub(crate) fn server_with(automation: &Value) -> Server {
    let place = Place::with_config(&json!({ "automation": automation }));
    place.write("data/.env", format!("OPENROUTER_API_KEY={KEY}\n"));
    Server::start_in(place)
}

pub(crate) fn automation(kind: &str, provider: &Provider) -> Value {
    json!({
        "default_provider_kind": kind, "base_url": format!("{}/v1", provider.origin()), "model": MODEL,
        "timeout_ms": 30_000, "max_tokens": 77, "temperature": 0.25,
    })
}

/// Looks again and again until what is seen is what is waited for.
pub(crate) fn until(look: impl Fn() -> Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let seen = look();
        if is_it(&seen) {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "it stays {seen}");
        thread::sleep(BETWEEN_LOOKS);
    }
}

pub(crate) fn lm_studio_listing() -> Reply {
    answer(&json!({ "object": "list", "data": [
        { "id": MODEL, "object": "model", "owned_by": "organization_owner" },
        { "id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "owned_by": "organization_owner" },
    ]}))
}

pub(crate) fn lm_studio_reply() -> Reply {
    answer(&json!({
        "id": "chatcmpl-i3gkjwthhw96whukek9tz", "object": "chat.completion", "created": 1_731_990_317, "model": MODEL,
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "stop",
            "message": { "role": "assistant", "content": WRITES, "reasoning_content": "they want a note" },
        }],
        "usage": { "prompt_tokens": 524, "completion_tokens": 53, "total_tokens": 577 },
        "stats": { "tokens_per_second": 51.4, "time_to_first_token": 0.111, "generation_time": 0.954, "stop_reason": "eosFound" },
        "model_info": { "arch": "granite", "quant": "Q4_K_M", "format": "gguf", "context_length": 4096 },
        "runtime": { "name": "llama.cpp-mac-arm64", "version": "1.3.0", "supported_formats": ["gguf"] },
        "system_fingerprint": MODEL,
    }))
}

pub(crate) fn openrouter_key() -> Reply {
    answer(&json!({ "data": {
        "label": "sk-or-v1-pla...def", "limit": 5, "usage": 0.1, "limit_remaining": 4.9, "is_free_tier": false,
        "rate_limit": { "requests": 50, "interval": "10s", "note": "This field is deprecated" },
    }}))
}

pub(crate) fn openrouter_listing() -> Reply {
    answer(&json!({ "data": [
        { "id": "openai/gpt-5", "name": "OpenAI: GPT-5", "context_length": 400_000, "pricing": { "prompt": "0.00000125" } },
        { "id": MODEL, "name": "NVIDIA: Nemotron 3 Nano", "context_length": 262_144, "pricing": { "prompt": "0" } },
    ]}))
}

pub(crate) fn openrouter_reply() -> Reply {
    answer(&json!({
        "id": "gen-1763", "provider": "DeepInfra", "model": MODEL, "object": "chat.completion", "created": 1_763_000_000,
        "choices": [{
            "logprobs": null, "finish_reason": "stop", "native_finish_reason": "STOP", "index": 0,
            "message": { "role": "assistant", "content": WRITES, "refusal": null, "reasoning": null },
        }],
        "usage": { "prompt_tokens": 524, "completion_tokens": 53, "total_tokens": 577, "cost": 0.000_25, "is_byok": false },
    }))
}

/// Events that nobody asked for, with the comments that keep a connection open.
pub(crate) fn openrouter_events() -> Reply {
    let piece = |delta: Value, reason: Value| {
        json!({
            "id": "gen-1764", "provider": "DeepInfra", "model": MODEL, "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason, "native_finish_reason": reason }],
        })
    };
    let usage = json!({
        "id": "gen-1764", "provider": "DeepInfra", "model": MODEL, "object": "chat.completion.chunk", "choices": [],
        "usage": { "prompt_tokens": 524, "completion_tokens": 53, "total_tokens": 577 },
    });
    let body = format!(
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {}\n\n: OPENROUTER PROCESSING\n\ndata: {}\n\ndata: {usage}\n\ndata: [DONE]\n\n",
        piece(
            json!({ "role": "assistant", "content": WRITES }),
            json!(null)
        ),
        piece(json!({ "content": "" }), json!("stop")),
    );
    raw(200, "text/event-stream", body)
}

/// What the router says where the provider behind it failed.
pub(crate) fn upstream_failed() -> Reply {
    answer(&json!({ "error": {
        "code": 502, "message": "Provider returned error",
        "metadata": { "raw": "upstream is overloaded", "provider_name": "DeepInfra" },
    }, "user_id": "user_2" }))
}
