//! Requests against the official SDKs' own request types: no field that a type does not have, at any level. `cargo xtask
//! test` installs the SDKs and says where they are, `cargo xtask wires --newest` does the same with the newest ones.

mod common;

use std::path::Path;

use bonded_kernel::{Dialect, Offer, Reasoning, ToolChoice};
use bonded_transport::dialect;
use common::sdk::{HERE, check, judge};
use common::{Conversation, DIALECTS, assistant, signed, tool, user};
use serde_json::{Value, json};

/// A request for the checker.
fn line(name: &str, dialect: &str, service: &str, body: &Value) -> String {
    json!({ "name": name, "dialect": dialect, "service": service, "body": body }).to_string()
}

/// The services whose own fields a provider of this family may be sent.
fn service(dialect: Dialect, family: &str) -> &str {
    match dialect {
        Dialect::Chat => family,
        Dialect::Responses => "openai",
        Dialect::Messages => "anthropic",
        Dialect::Gemini => "google",
    }
}

/// The files that say how each conversation is written.
fn from_files() -> Vec<String> {
    let mut lines = vec![];
    for (dialect, name) in DIALECTS {
        let dir = Path::new(HERE).join("tests/encoded").join(name);
        for entry in std::fs::read_dir(&dir).expect("the encoded files") {
            let path = entry.expect("a directory entry").path();
            let text = std::fs::read(&path).expect("readable");
            let body = serde_json::from_slice(&text).expect("JSON");
            let path = path.strip_prefix(HERE).expect("it lies below");
            // They are for no known provider, which is spoken to as a server of one's own is.
            let service = service(dialect, "vllm");
            lines.push(line(&path.display().to_string(), name, service, &body));
        }
    }
    lines
}

/// A conversation with everything that goes back: calls, their results, thoughts and notices.
fn conversation(family: &str, dialect: Dialect, signature: &str) -> Conversation {
    // A service is known by where it is.
    let endpoint = match family {
        "openai" => "https://api.openai.com/v1",
        "azure" => "https://ours.openai.azure.com/openai/v1",
        "mistral" => "https://api.mistral.ai/v1",
        "deepseek" => "https://api.deepseek.com/v1",
        "xai" => "https://api.x.ai/v1",
        "groq" => "https://api.groq.com/openai/v1",
        _ => "http://localhost/v1",
    };
    let mut it = Conversation::with(family, endpoint);
    it.target.dialect = dialect;
    it.output_tokens_max = 32_768;
    it.messages = vec![
        user("Read it."),
        signed(
            "I look.",
            signature,
            &[("c1", "read", r#"{"path":"a"}"#), ("c2", "read", "{")],
        ),
        tool("c1", "one"),
        tool("c2", "(tool failed: gone)"),
        user("And then?"),
        assistant("Nothing more.", &[]),
    ];
    it.notices = vec!["A notice.".into()];
    it
}

/// What each dialect keeps of a thought that its provider signed.
fn own_signature(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => r#"{"dialect":"chat","items":[{"type":"reasoning.text","text":"hm"}]}"#,
        Dialect::Responses => {
            r#"{"dialect":"responses","items":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA="}]}"#
        }
        Dialect::Messages => {
            r#"{"dialect":"messages","items":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}"#
        }
        Dialect::Gemini => {
            r#"{"dialect":"gemini","items":[{"name":"read","thoughtSignature":"c2ln","id":"fc-1"}]}"#
        }
    }
}

/// The families of providers that a dialect tells apart, and a model of each.
fn families(dialect: Dialect) -> &'static [(&'static str, &'static str)] {
    match dialect {
        Dialect::Chat => &[
            ("openai", "gpt-4o"),
            ("openai", "gpt-5-mini"),
            ("openai", "gpt-5.6-sol"),
            ("azure", "gpt-5.1"),
            ("mistral", "mistral-large-latest"),
            ("deepseek", "deepseek-chat"),
            ("deepseek", "deepseek-v4-pro"),
            ("xai", "grok-4.3"),
            ("groq", "openai/gpt-oss-120b"),
            ("openrouter", "anthropic/claude-opus-5"),
            ("vllm", "qwen3"),
            ("llamacpp", "qwen3"),
            ("lmstudio", "qwen3"),
            ("ollama", "qwen3"),
        ],
        Dialect::Responses => &[("openai", "gpt-4o"), ("openai", "gpt-6-sol")],
        Dialect::Messages => &[
            ("anthropic", "claude-sonnet-4-5"),
            ("anthropic", "claude-opus-5"),
        ],
        Dialect::Gemini => &[("google", "gemini-2.5-pro"), ("google", "gemini-3-pro")],
    }
}

/// A field of one's own that the dialect has.
fn custom(dialect: Dialect) -> Value {
    match dialect {
        Dialect::Chat => json!({ "seed": 7, "metadata": { "team": "blue" } }),
        Dialect::Responses => json!({ "metadata": { "team": "blue" } }),
        Dialect::Messages => json!({ "metadata": { "user_id": "blue" } }),
        Dialect::Gemini => json!({ "generationConfig": { "seed": 7 } }),
    }
}

/// Every setting in every dialect, as it would be sent.
fn from_settings() -> Vec<String> {
    use Reasoning::*;
    let levels = [
        None,
        Some(Off),
        Some(Minimal),
        Some(Low),
        Some(Medium),
        Some(High),
        Some(XHigh),
        Some(Max),
        Some(Tokens(3000)),
    ];
    let mut lines = vec![];
    for (dialect, name) in DIALECTS {
        for (family, model) in families(dialect) {
            for (at, reasoning) in levels.into_iter().enumerate() {
                let mut it = conversation(family, dialect, own_signature(dialect));
                it.target.model = (*model).into();
                it.target.stream = at % 2 == 0;
                it.temperature = Some(0.4);
                it.offer = [Offer::All, Offer::TerminalOnly, Offer::None][at % 3];
                let sampling = &mut it.target.sampling;
                sampling.reasoning = reasoning;
                sampling.caching = at % 2 == 1;
                sampling.top_p = Some(0.9);
                sampling.top_k = Some(40);
                sampling.repeat_penalty = Some(1.1);
                sampling.tool_choice = Some(ToolChoice::Required);
                sampling.parallel_tool_calls = Some(at % 2 == 0);
                sampling.prompt_cache_key = Some("k".into());
                // A tier that each of them has.
                let tier = match dialect {
                    Dialect::Gemini => "flex",
                    _ => "auto",
                };
                sampling.service_tier = Some(tier.into());
                it.target.custom = serde_json::from_value(custom(dialect)).expect("an object");
                let body = dialect::encode(&it.request());
                let body = serde_json::from_slice(&body).expect("JSON");
                let called = format!("{name} to {family}/{model}, reasoning {reasoning:?}");
                lines.push(line(&called, name, service(dialect, family), &body));
            }
        }
    }
    lines
}

#[test]
fn every_request_has_the_official_type_and_no_field_beyond_it() {
    let lines = [from_files(), from_settings()].concat();
    let Some((is_good, said)) = check(&lines) else {
        return;
    };
    assert!(is_good, "{said}");
    let count = format!("{} requests were held", lines.len());
    assert!(said.contains(&count), "{said}");
}

#[test]
fn a_field_that_a_type_does_not_have_is_found_wherever_it_is() {
    let said = [json!({ "role": "user", "content": [{ "type": "text", "text": "a", "tone": 1 }] })];
    let call = json!({ "functionCall": { "name": "read", "signature": "x" } });
    let cases = [
        ("chat", json!({ "model": "m", "messages": said })),
        (
            "chat",
            json!({ "model": "m", "messages": [], "maxTokens": 5 }),
        ),
        ("responses", json!({ "input": "a", "reasoning_effort": 1 })),
        (
            "messages",
            json!({ "model": "m", "max_tokens": 5, "messages": said }),
        ),
        (
            "messages",
            json!({ "model": "m", "max_tokens": "5", "messages": [] }),
        ),
        ("gemini", json!({ "contents": [{ "parts": [call] }] })),
    ];
    let lines: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, (dialect, body))| line(&format!("case {at}"), dialect, "none", body))
        .collect();
    let Some((is_good, said)) = check(&lines) else {
        return;
    };
    assert!(!is_good, "{said}");
    for at in 0..cases.len() {
        assert!(said.contains(&format!("case {at}: ")), "{at} in {said}");
    }
}

#[test]
fn the_judge_of_the_strict_provider_refuses_what_its_table_says_and_nothing_else() {
    let Some(mut python) = judge() else {
        return;
    };
    let tests = ["-m", "unittest", "-q", "test_judge"];
    let output = python.args(tests).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
