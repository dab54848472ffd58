//! Requests as they go out: each conversation in each dialect, as a file in `encoded/DIALECT/` has it.

mod common;

use std::path::Path;

use bonded_kernel::{Accepts, Dialect, ImageInput, Offer, Reasoning, ToolChoice};
use bonded_transport::dialect::{self, ToolsCache};
use common::{
    Conversation, DIALECTS, GIF, PNG, assistant, check_file, encoded, signed, tool, user,
    with_images,
};
use serde_json::{Value, json};

/// A conversation that a dialect writes: its name, and what makes it special.
type Case = (&'static str, fn(&mut Conversation));

const CASES: [Case; 17] = [
    ("plain", |_| {}),
    ("everything_in_order", everything),
    ("words_between_a_call_and_its_answer", |it| {
        called_after(it, "");
        let at = it.messages.len() - 1;
        it.messages.insert(at, user("Hurry."));
    }),
    ("sampling", sampling),
    ("streamed", |it| it.target.stream = true),
    ("reasoning_high", |it| reason(it, Reasoning::High)),
    ("reasoning_tokens", |it| reason(it, Reasoning::Tokens(3000))),
    ("reasoning_off", |it| reason(it, Reasoning::Off)),
    ("reasoning_in_little_room", |it| {
        reason(it, Reasoning::High);
        it.output_tokens_max = 100;
    }),
    ("signed_thought_comes_back", |it| {
        reason(it, Reasoning::High);
        called_after(it, own_signature(it.target.dialect));
    }),
    ("foreign_thought_does_not", |it| {
        reason(it, Reasoning::High);
        called_after(it, r#"{"dialect":"other","items":[{"type":"thinking"}]}"#);
    }),
    ("cached", |it| {
        everything(it);
        it.target.sampling.caching = true;
    }),
    ("only_the_terminal_tool", |it| {
        it.offer = Offer::TerminalOnly;
    }),
    ("no_tools", |it| {
        it.offer = Offer::None;
        it.target.sampling.tool_choice = Some(ToolChoice::Required);
        it.messages.push(assistant("Said and done.", &[]));
    }),
    ("images", images),
    ("images_where_sides_alternate", |it| {
        images(it);
        it.messages.push(user("Well?"));
        it.target.accepts = Some(Box::new(Accepts {
            alternates: true,
            user_after_tool: false,
            ..Accepts::default()
        }));
    }),
    ("images_that_the_model_does_not_take", |it| {
        images(it);
        it.target.accepts = Some(Box::new(Accepts {
            images: ImageInput::None,
            ..Accepts::default()
        }));
    }),
];

/// With the goal, without words, and from two of three tools that were called together.
fn images(it: &mut Conversation) {
    let calls = ["c1", "c2", "c3"].map(|id| (id, "read", "{}"));
    it.messages = vec![
        with_images(user("What is this?"), &[PNG, GIF]),
        assistant("I look.", &calls),
        with_images(tool("c1", "[image 1: image/png]"), &[PNG]),
        tool("c2", "two"),
        with_images(tool("c3", ""), &[PNG, PNG]),
        assistant("A pixel.", &[]),
        with_images(user(""), &[PNG]),
    ];
    it.notices = vec!["Be quick.".into()];
}

fn everything(it: &mut Conversation) {
    it.messages = vec![
        user("Read \"a\"\n\u{1}🦀"),
        assistant(
            "",
            &[
                ("c1", "read", r#"{"path":"a"}"#),
                ("functions.read:2", "read", r#"{"path": "é"}"#),
                ("c3", "read", "{oops"),
            ],
        ),
        tool("c1", "one"),
        tool("functions.read:2", "(tool failed: gone)"),
        tool("c3", ""),
        user("And then?"),
        assistant("Nothing more.", &[]),
        assistant("", &[]),
    ];
    it.notices = vec!["First notice.".into(), "Second notice.".into()];
}

fn sampling(it: &mut Conversation) {
    it.temperature = Some(0.42);
    let sampling = &mut it.target.sampling;
    sampling.top_p = Some(0.85);
    sampling.top_k = Some(40);
    sampling.repeat_penalty = Some(1.1);
    sampling.tool_choice = Some(ToolChoice::Required);
}

fn reason(it: &mut Conversation, reasoning: Reasoning) {
    sampling(it);
    it.output_tokens_max = 32_768;
    it.target.sampling.reasoning = Some(reasoning);
}

fn called_after(it: &mut Conversation, signature: &str) {
    let call = [("c1", "read", r#"{"path":"a"}"#)];
    it.messages.push(signed("I look.", signature, &call));
    it.messages.push(tool("c1", "one"));
}

fn own_signature(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            r#"{"dialect":"chat","items":[{"type":"reasoning.text","signature":"s"}]}"#
        }
        Dialect::Responses => {
            r#"{"dialect":"responses","items":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA="}]}"#
        }
        Dialect::Messages => {
            r#"{"dialect":"messages","items":[{"type":"thinking","thinking":"hm","signature":"Eq"},{"type":"redacted_thinking","data":"Em"}]}"#
        }
        Dialect::Gemini => {
            r#"{"dialect":"gemini","items":[{"name":"read","thoughtSignature":"c2ln","id":"fc-1"}]}"#
        }
    }
}

fn in_dialect(dialect: Dialect) -> Conversation {
    let mut conversation = Conversation::with("local", "http://localhost/v1");
    conversation.target.dialect = dialect;
    conversation
}

#[test]
fn every_conversation_is_written_as_its_file_says() {
    for (dialect, dir) in DIALECTS {
        for (name, change) in CASES {
            let mut conversation = in_dialect(dialect);
            change(&mut conversation);
            let path = format!("tests/encoded/{dir}/{name}.json");
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            let text = serde_json::to_string_pretty(&encoded(&conversation)).expect("a value");
            check_file(&path, &format!("{text}\n"));
        }
    }
}

#[test]
fn numbers_that_are_none_are_not_sent() {
    for (dialect, name) in DIALECTS {
        let plain = encoded(&in_dialect(dialect));
        let mut conversation = in_dialect(dialect);
        conversation.temperature = Some(f64::NAN);
        conversation.target.sampling.top_p = Some(f64::INFINITY);
        conversation.target.sampling.repeat_penalty = Some(f64::NEG_INFINITY);
        assert_eq!(encoded(&conversation), plain, "{name}");
    }
}

/// Services are known by where they are.
fn endpoint_of(provider: &str) -> &'static str {
    match provider {
        "openai" => "https://api.openai.com/v1",
        "openrouter" => "https://openrouter.ai/api/v1",
        _ => "http://localhost/v1",
    }
}

/// The body without what is the same for every provider.
fn settings(conversation: &Conversation) -> Value {
    let mut body = encoded(conversation);
    let fields = body.as_object_mut().expect("an object");
    for common in [
        "model",
        "messages",
        "tools",
        "input",
        "instructions",
        "store",
    ] {
        fields.remove(common);
    }
    body
}

#[test]
fn chat_settings_have_the_names_that_the_provider_takes() {
    let cases = [
        (
            "openai",
            json!({"max_completion_tokens": 256, "temperature": 0.42, "top_p": 0.85, "tool_choice": "required"}),
        ),
        (
            "openrouter",
            json!({"max_tokens": 256, "temperature": 0.42, "top_p": 0.85, "top_k": 40,
                "repetition_penalty": 1.1, "tool_choice": "required"}),
        ),
        (
            "vllm",
            json!({"max_tokens": 256, "temperature": 0.42, "top_p": 0.85, "top_k": 40,
                "repetition_penalty": 1.1, "tool_choice": "required"}),
        ),
        (
            "ollama",
            json!({"max_tokens": 256, "temperature": 0.42, "top_p": 0.85, "top_k": 40,
                "repeat_penalty": 1.1, "tool_choice": "required"}),
        ),
    ];
    for (provider, expected) in cases {
        let mut conversation = Conversation::with(provider, endpoint_of(provider));
        sampling(&mut conversation);
        assert_eq!(settings(&conversation), expected, "{provider}");
    }
}

#[test]
fn chat_reasoning_has_the_form_that_the_provider_takes() {
    use Reasoning::*;
    let cases = [
        ("openai", Off, json!({})),
        ("openai", Minimal, json!({"reasoning_effort": "minimal"})),
        (
            "openai",
            Tokens(9000),
            json!({"reasoning_effort": "medium"}),
        ),
        ("vllm", High, json!({"reasoning_effort": "high"})),
        ("openrouter", Off, json!({"reasoning": {"enabled": false}})),
        ("openrouter", Low, json!({"reasoning": {"effort": "low"}})),
        (
            "openrouter",
            Tokens(3000),
            json!({"reasoning": {"max_tokens": 3000}}),
        ),
    ];
    for (provider, reasoning, expected) in cases {
        let mut conversation = Conversation::with(provider, endpoint_of(provider));
        conversation.target.sampling.reasoning = Some(reasoning);
        let mut body = settings(&conversation);
        let fields = body.as_object_mut().expect("an object");
        for common in ["max_tokens", "max_completion_tokens"] {
            fields.remove(common);
        }
        assert_eq!(body, expected, "{provider} {reasoning:?}");
    }
}

#[test]
fn models_that_always_think_are_told_no_temperature() {
    for dialect in [Dialect::Chat, Dialect::Responses] {
        for (model, told) in [("gpt-5-mini", false), ("gpt-4o", true)] {
            let mut conversation = Conversation::with("openai", "http://localhost/v1");
            conversation.target.dialect = dialect;
            conversation.target.model = model.into();
            sampling(&mut conversation);
            let body = settings(&conversation);
            assert_eq!(body.get("temperature").is_some(), told, "{body}");
            assert_eq!(body.get("top_p").is_some(), told, "{body}");
        }
    }
}

#[test]
fn a_call_of_another_model_gets_the_signature_that_newer_models_ask_for() {
    for (model, expected) in [
        ("gemini-3-pro", json!("skip_thought_signature_validator")),
        (
            "models/gemini-10.1-flash",
            json!("skip_thought_signature_validator"),
        ),
        ("gemini-2.5-flash", Value::Null),
        ("gemma-3", Value::Null),
    ] {
        let mut conversation = in_dialect(Dialect::Gemini);
        conversation.target.model = model.into();
        called_after(&mut conversation, "no JSON");
        let body = encoded(&conversation);
        let signature = &body["contents"][1]["parts"][1]["thoughtSignature"];
        assert_eq!(*signature, expected, "{model}");
    }
}

#[test]
fn only_a_router_gets_the_details_of_reasoning_back() {
    for (provider, expected) in [
        (
            "openrouter",
            json!([{"type": "reasoning.text", "signature": "s"}]),
        ),
        ("vllm", Value::Null),
    ] {
        let mut conversation = Conversation::with(provider, endpoint_of(provider));
        called_after(&mut conversation, own_signature(Dialect::Chat));
        let body = encoded(&conversation);
        assert_eq!(
            body["messages"][2]["reasoning_details"], expected,
            "{provider}"
        );
    }
}

#[test]
fn cached_tools_give_the_same_bytes() {
    let cache = ToolsCache::default();
    for _ in 0..2 {
        for (dialect, name) in DIALECTS {
            for offer in [
                Offer::All,
                Offer::WithoutTerminal,
                Offer::TerminalOnly,
                Offer::None,
            ] {
                for caching in [false, true] {
                    let mut conversation = in_dialect(dialect);
                    conversation.offer = offer;
                    conversation.target.sampling.caching = caching;
                    let request = conversation.request();
                    let tools = cache.tools(&request);
                    let bytes = dialect::encode_with_tools(&request, &tools);
                    assert_eq!(
                        bytes,
                        dialect::encode(&request),
                        "{name} {offer:?} {caching}"
                    );
                }
            }
        }
    }
}
