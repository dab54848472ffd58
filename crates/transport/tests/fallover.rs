//! Conversations that fall over from one provider to the next in mid-turn: whoever is asked can take what the others said.
//!
//! The judge of the strict provider, which knows the SDKs' types and what services refuse, sees every request.

mod common;

use std::collections::BTreeSet;

use bonded_kernel::{Accepts, CallIds, Dialect, Message, Reasoning, Target, ToolChoice};
use bonded_transport::dialect::known;
use common::{Conversation, DIALECTS, decoded, said, sdk, tool, unchecked, user};
use serde_json::{Value, json};

/// Somebody who is asked: the dialect, the service as the judge calls it, its address, and a model.
type Asked = (Dialect, &'static str, &'static str, &'static str);

const OWN: &str = "http://localhost/v1";
const ASKED: [Asked; 14] = [
    (
        Dialect::Chat,
        "openai",
        "https://api.openai.com/v1",
        "gpt-4o",
    ),
    (
        Dialect::Chat,
        "mistral",
        "https://api.mistral.ai/v1",
        "mistral-large-latest",
    ),
    (
        Dialect::Chat,
        "deepseek",
        "https://api.deepseek.com",
        "deepseek-v4-pro",
    ),
    (
        Dialect::Chat,
        "moonshot",
        "https://api.moonshot.ai/v1",
        "kimi-k2.6",
    ),
    (
        Dialect::Chat,
        "openrouter",
        "https://openrouter.ai/api/v1",
        "google/gemini-3-flash-preview",
    ),
    (
        Dialect::Chat,
        "openrouter",
        "https://openrouter.ai/api/v1",
        "mistralai/devstral-medium",
    ),
    (Dialect::Chat, "vllm", OWN, "mistral-small-latest"),
    (Dialect::Chat, "llamacpp", OWN, "devstral-small"),
    (
        Dialect::Responses,
        "openai",
        "https://api.openai.com/v1",
        "gpt-6-sol",
    ),
    (
        Dialect::Responses,
        "openai",
        "https://api.openai.com/v1",
        "gpt-4o",
    ),
    (
        Dialect::Messages,
        "anthropic",
        "https://api.anthropic.com/v1",
        "claude-sonnet-4-5",
    ),
    (
        Dialect::Messages,
        "anthropic",
        "https://api.anthropic.com/v1",
        "claude-opus-5",
    ),
    (
        Dialect::Gemini,
        "google",
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-2.5-pro",
    ),
    (
        Dialect::Gemini,
        "google",
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-3-pro-preview",
    ),
];

/// How many turns the judge's own script has; each provider in a chain says one.
const TURNS: usize = 3;

/// What the script says in a turn: the kinds of its blocks.
const SCRIPT: [&[&str]; TURNS] = [
    &["thought", "call"],
    &["thought", "text", "thought", "call", "call"],
    &["text", "call"],
];

/// How the judge's own words begin: only those are held against the script.
const OURS: &str = "t";

/// A turn of the judge's script as a provider says it.
fn whole(dialect: Dialect, turn: usize, mark: &str, shows: bool) -> Value {
    let blocks = SCRIPT[turn].iter().enumerate();
    let thought = |at: usize| format!("I think {turn}.{at}.");
    let speaker = if mark == OURS { "I" } else { "They" };
    let text = |at: usize| format!("{speaker} say {turn}.{at}.");
    let arguments = |at: usize| json!({ "text": format!("{mark}{turn}c{at}") });
    match dialect {
        Dialect::Chat => {
            let (mut thoughts, mut texts, mut calls) = (String::new(), String::new(), vec![]);
            for (at, kind) in blocks {
                match *kind {
                    "thought" => thoughts += &thought(at),
                    "text" => texts += &text(at),
                    _ => calls.push(json!({ "id": chat_id(turn, at), "type": "function",
                        "function": { "name": "echo", "arguments": arguments(at).to_string() } })),
                }
            }
            let mut message = json!({ "content": texts, "tool_calls": calls });
            if !thoughts.is_empty() {
                message["reasoning_content"] = thoughts.clone().into();
                message["reasoning_details"] =
                    json!([{ "type": "reasoning.text", "text": thoughts, "signature": "sig" }]);
            }
            json!({ "choices": [{ "finish_reason": "tool_calls", "message": message }] })
        }
        Dialect::Responses => {
            let item = |(at, kind): (usize, &&str)| match *kind {
                "thought" => json!({ "type": "reasoning", "id": format!("rs_{turn}_{at}"),
                    "summary": [{ "type": "summary_text", "text": thought(at) }], "encrypted_content": "gA=" }),
                "text" => {
                    json!({ "type": "message", "id": format!("msg_{turn}_{at}"), "role": "assistant",
                    "phase": "commentary", "content": [{ "type": "output_text", "text": text(at) }] })
                }
                _ => json!({ "type": "function_call", "id": format!("fc_{turn}_{at}"),
                    "call_id": format!("call_{turn}_{at}_Zq0fypS1hVXq3rTn8"), "name": "echo",
                    "arguments": arguments(at).to_string() }),
            };
            json!({ "status": "completed", "output": blocks.map(item).collect::<Vec<_>>() })
        }
        Dialect::Messages => {
            let block = |(at, kind): (usize, &&str)| match *kind {
                "thought" => {
                    json!({ "type": "thinking", "thinking": if shows { thought(at) } else { String::new() },
                    "signature": format!("c2ln{turn}{at}==") })
                }
                "text" => json!({ "type": "text", "text": text(at) }),
                _ => {
                    json!({ "type": "tool_use", "id": format!("toolu_{turn}_{at}"), "name": "echo", "input": arguments(at) })
                }
            };
            json!({ "content": blocks.map(block).collect::<Vec<_>>(), "stop_reason": "tool_use" })
        }
        Dialect::Gemini => {
            let part = |(at, kind): (usize, &&str)| match *kind {
                "thought" => json!({ "text": thought(at), "thought": true }),
                "text" => json!({ "text": text(at), "thoughtSignature": "c2ln" }),
                _ => {
                    json!({ "functionCall": { "name": "echo", "args": arguments(at) }, "thoughtSignature": "c2ln" })
                }
            };
            let parts: Vec<Value> = blocks.map(part).collect();
            json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] })
        }
    }
}

/// Ids as servers of chat completions are known to give them: with other characters, and with a signature inside.
fn chat_id(turn: usize, at: usize) -> String {
    match at % 2 {
        0 => format!("functions.echo:{turn}{at}"),
        _ => format!("call_{turn}_{at}__thought__{}", "Eq0B".repeat(300)),
    }
}

/// A conversation in which these providers spoke one after the other, each in mid-turn, and which another one goes on.
fn conversation(chain: &[Dialect], (dialect, _, endpoint, model): Asked) -> Conversation {
    let mut it = Conversation::with("asked", endpoint);
    it.target = Target {
        dialect,
        ..Target::new("asked", endpoint, model)
    };
    it.target.accepts = Some(Box::new(known(&it.target)));
    it.target.sampling.reasoning = Some(Reasoning::High);
    it.target.sampling.tool_choice = Some(ToolChoice::Required);
    it.temperature = Some(0.4);
    it.output_tokens_max = 32_768;
    it.messages = vec![user("Look at both.")];
    for (turn, origin) in chain.iter().enumerate() {
        // Of those that speak one dialect, it is the very one that is asked.
        let (mark, name, by) = if *origin == dialect {
            (OURS, "asked", model)
        } else {
            ("x", "other", "other")
        };
        let mut reply = decoded(
            *origin,
            &whole(*origin, turn, mark, model == "claude-sonnet-4-5"),
        );
        let rest = reply.signed.as_deref().and_then(|it| it.strip_prefix('{'));
        reply.signed =
            rest.map(|rest| format!("{{\"provider\":\"{name}\",\"model\":\"{by}\",{rest}"));
        for (nth, call) in reply.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("call_{turn}_{nth}");
            }
        }
        let answers = ["see\n[image, image/png, 5 bytes]", "(tool failed: gone)"];
        let results: Vec<Message> = reply
            .calls
            .iter()
            .enumerate()
            .map(|(nth, call)| tool(&call.id, answers[nth % 2]))
            .collect();
        it.messages.push(said(reply));
        it.messages.extend(results);
    }
    it
}

/// All chains of so many providers.
fn chains(length: usize) -> Vec<Vec<Dialect>> {
    let mut chains = vec![vec![]];
    for _ in 0..length {
        let longer = chains.iter().flat_map(|chain: &Vec<Dialect>| {
            DIALECTS.map(|(dialect, _)| [chain.clone(), vec![dialect]].concat())
        });
        chains = longer.collect();
    }
    chains
}

fn line(name: &str, (dialect, service, _, model): Asked, body: &Value) -> String {
    let (_, dialect) = DIALECTS
        .iter()
        .find(|(it, _)| *it == dialect)
        .expect("a dialect");
    json!({ "name": name, "dialect": dialect, "service": service, "model": model, "body": body })
        .to_string()
}

#[test]
fn whoever_spoke_before_the_next_one_can_take_it() {
    let mut lines = vec![];
    for chain in (1..=TURNS).flat_map(chains) {
        for asked in ASKED {
            for notice in [false, true] {
                let mut it = conversation(&chain, asked);
                if notice {
                    it.notices = vec!["A notice.".into()];
                    it.target.sampling.reasoning = None;
                }
                let name = format!("{chain:?}, then {} {}, notice {notice}", asked.1, asked.3);
                lines.push(line(&name, asked, &unchecked(&it)));
            }
        }
    }
    let Some((is_good, words)) = sdk::check(&lines) else {
        return;
    };
    assert!(
        is_good,
        "{}",
        words.lines().take(40).collect::<Vec<_>>().join("\n")
    );
    assert!(
        words.contains(&format!("{} requests were held", lines.len())),
        "{words}"
    );
}

/// The ids of calls in a body of chat completions, and those of the answers.
fn ids(body: &Value) -> (Vec<String>, Vec<String>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let messages = list(&body["messages"]);
    let calls = messages.iter().flat_map(|it| list(&it["tool_calls"]));
    let calls = calls.map(|call| text(&call["id"])).collect();
    let answers = messages.iter().filter(|it| it["role"] == "tool");
    (calls, answers.map(|it| text(&it["tool_call_id"])).collect())
}

/// A conversation of one turn with calls under these ids.
fn called(given: &[&str], form: CallIds) -> Conversation {
    let mut it = Conversation::with("p", OWN);
    it.target.accepts = Some(Box::new(Accepts {
        call_ids: form,
        ..Accepts::default()
    }));
    let calls: Vec<(&str, &str, &str)> = given.iter().map(|id| (*id, "read", "{}")).collect();
    it.messages = vec![user("Go."), common::assistant("", &calls)];
    it.messages.extend(given.iter().map(|id| tool(id, "done")));
    it
}

#[test]
fn an_id_that_fits_stays_and_any_other_is_made_once_for_the_call_and_its_answer() {
    let long = "x".repeat(41);
    let given = [
        "abcDEF123",
        "call_1",
        "toolu_01",
        "functions.read:0",
        "functions:read.0",
        &long,
        "é",
    ];
    for (form, fits) in [
        (CallIds::AsGiven, given.len()),
        (CallIds::Short, given.len() - 1),
        (CallIds::Nine, 1),
    ] {
        let (calls, answers) = ids(&unchecked(&called(&given, form)));
        assert_eq!(calls, answers, "{form:?}");
        let distinct: BTreeSet<&String> = calls.iter().collect();
        assert_eq!(distinct.len(), given.len(), "{form:?}: {calls:?}");
        let kept = calls
            .iter()
            .zip(given)
            .filter(|(sent, given)| sent == given);
        assert_eq!(kept.count(), fits, "{form:?}: {calls:?}");
        let is_good = |id: &String| match form {
            CallIds::AsGiven => true,
            CallIds::Short => id.len() <= 40,
            CallIds::Nine => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        assert!(calls.iter().all(is_good), "{form:?}: {calls:?}");
        // What comes later changes nothing.
        let more = [&given[..], &["later"]].concat();
        let (again, _) = ids(&unchecked(&called(&more, form)));
        assert_eq!(again[..given.len()], calls);
    }
}

#[test]
fn an_id_that_was_made_is_never_that_of_another_call() {
    let (made, _) = ids(&unchecked(&called(&["call_1"], CallIds::Nine)));
    let (calls, answers) = ids(&unchecked(&called(&["call_1", &made[0]], CallIds::Nine)));
    assert_eq!(calls, answers);
    assert_eq!(calls[1], made[0]);
    assert_ne!(calls[0], made[0]);
}
