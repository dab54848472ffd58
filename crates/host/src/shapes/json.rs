//! The JSON that programs read. Its names are part of the surface and stay; the log's own are not.
//!
//! What the log leaves out to be small is put back, and what it keeps as references is written out, so
//! that a reader needs to know nothing of how logs are stored.

use std::collections::BTreeMap;

use crate::{LivePiece, RunResult, Status};
use bonded_kernel::{Entry, Event, Held};
use bonded_state::{Ends, Listed};
use serde::Serialize;
use serde_json::{Value, json};

/// `answer` is there only for a success, and `last_text` only where there is none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultJson<'a> {
    run_id: &'a str,
    goal_id: &'a str,
    success: bool,
    status: &'static str,
    termination: TerminationJson<'a>,
    answer: Option<&'a str>,
    /// Where it was more than one.
    #[serde(skip_serializing_if = "is_one")]
    goals: u32,
    turns: u32,
    requests: u32,
    usage: UsageJson,
    cost_usd: f64,
    /// What the budget holds besides for requests of unknown usage.
    #[serde(skip_serializing_if = "Value::is_null")]
    held: Value,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_text: Option<&'a str>,
}

#[derive(Serialize)]
struct TerminationJson<'a> {
    kind: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageJson {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(goals: &u32) -> bool {
    *goals == 1
}

/// The result of a run as one line.
pub fn result(result: &RunResult) -> String {
    result_value(result).to_string()
}

/// The same as a value, for whoever adds to it.
pub fn result_value(result: &RunResult) -> Value {
    let (used, paid) = result.spend.used();
    let object = ResultJson {
        run_id: result.run.as_str(),
        goal_id: result.goal.as_str(),
        success: result.is_success(),
        status: result.status.as_str(),
        termination: TerminationJson {
            kind: result.termination.as_str(),
            reason: &result.reason,
        },
        answer: result.is_success().then_some(result.reason.as_str()),
        goals: result.goals,
        turns: result.turns,
        requests: result.spend.requests,
        usage: UsageJson {
            input_tokens: used.input,
            output_tokens: used.output,
            cached_input_tokens: used.cached,
        },
        cost_usd: paid.dollars(),
        held: held_value(&result.spend.held),
        elapsed_ms: result.elapsed_ms,
        last_text: result.last_text.as_deref(),
    };
    serde_json::to_value(&object).expect("plain structs of texts and numbers are JSON")
}

/// What is held for requests of unknown usage; nothing where nothing is.
pub fn held_value(held: &Held) -> Value {
    if held.is_none() {
        return Value::Null;
    }
    json!({
        "requests": held.requests,
        "inputTokens": held.usage.input,
        "outputTokens": held.usage.output,
        "costUsd": held.cost.dollars(),
    })
}

/// A run that could not be driven to a result, in the place of its result.
pub fn no_result(run: &str, code: &str, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    json!({ "runId": run, "success": false, "error": error }).to_string()
}

/// An entry of the log as one line, with every text whole.
pub fn entry(entry: &Entry) -> String {
    let mut body: Value = serde_json::from_slice(&entry.body).unwrap_or_default();
    let mut event = entry.event.clone();
    let mut texts = BTreeMap::new();
    for text in event.texts_mut() {
        if let Some(blob) = text.blob() {
            texts.insert(blob.hash.to_string(), text.to_string());
        }
    }
    put_texts(&mut body, &texts);
    let mut data = body.get_mut(entry.event.kind()).map(Value::take);
    if let Some(Value::Object(fields)) = &mut data {
        let left_out = LEFT_OUT.iter().filter(|it| it.0 == entry.event.kind());
        for (_, name, default) in left_out {
            fields.entry(*name).or_insert_with(|| (*default).into());
        }
        if let Event::AttemptStarted {
            context: Some(counters),
            ..
        } = &entry.event
        {
            let named = json!({
                "current": counters.current,
                "pending": counters.pending,
                "schema": counters.schema,
                "expected": counters.expected(),
                "estimated": counters.estimated,
            });
            fields.insert("context".into(), named);
        }
        if let Event::AttemptStarted { reserved, .. } = &entry.event {
            let cost_usd = reserved.cost.dollars();
            let named =
                json!({ "input": reserved.input, "output": reserved.output, "costUsd": cost_usd });
            fields.insert("reserved".into(), named);
        }
    }
    json!({
        "runId": entry.run.as_str(),
        "goalId": entry.goal.as_str(),
        "seq": entry.seq,
        "at": entry.at.0,
        "turn": entry.turn,
        "kind": entry.event.kind(),
        "data": data,
        "format": entry.format,
        "prev": entry.prev,
        "hash": entry.hash,
    })
    .to_string()
}

/// What a model is saying, as one line.
pub fn live(piece: &LivePiece<'_>) -> String {
    let live = json!({
        "run": piece.run.as_str(),
        "turn": piece.turn,
        "attempt": piece.attempt,
        "text": piece.text,
    });
    json!({ "live": live }).to_string()
}

/// The fields that the log leaves out where they have their default: the event, the field and the default. Who reads
/// this need not know.
const LEFT_OUT: [(&str, &str, Default); 9] = [
    ("attempt_started", "attempt", Default::Number(1)),
    ("attempt_started", "target", Default::Number(0)),
    ("tool_invoked", "call", Default::Number(0)),
    ("tool_invoked", "effect", Default::Word("read")),
    ("tool_finished", "call", Default::Number(0)),
    ("tool_finished", "outcome", Default::Word("ok")),
    ("tool_finished", "latency_ms", Default::Number(0)),
    ("review_asked", "call", Default::Number(0)),
    ("call_reviewed", "call", Default::Number(0)),
];

/// Numbers and words are all that the log leaves out.
#[derive(Clone, Copy)]
enum Default {
    Number(u64),
    Word(&'static str),
}

impl From<Default> for Value {
    fn from(default: Default) -> Self {
        match default {
            Default::Number(number) => number.into(),
            Default::Word(word) => word.into(),
        }
    }
}

/// Puts the texts back that the log keeps as references to blobs.
fn put_texts(value: &mut Value, texts: &BTreeMap<String, String>) {
    let fields = value.as_object();
    let reference = fields.filter(|fields| fields.len() == 2 && fields.contains_key("bytes"));
    let hash = reference.and_then(|fields| fields.get("blob")?.as_str());
    if let Some(content) = hash.and_then(|hash| texts.get(hash)) {
        *value = Value::String(content.clone());
        return;
    }
    match value {
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| put_texts(field, texts)),
        Value::Array(items) => items.iter_mut().for_each(|item| put_texts(item, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A run of a list as one line.
pub fn listed(
    listed: &Listed,
    ends: &Ends,
    status: Status,
    beginning: Option<Value>,
    waits_for: Option<&str>,
) -> String {
    let goal = ends.first.event.started().map_or("", |it| it.goal.as_str());
    let mut object = json!({
        "runId": listed.run.as_str(),
        "goalId": listed.goal.as_str(),
        "status": status.as_str(),
        "goal": goal,
        "startedAt": ends.first.at.0,
        "updatedAt": ends.last.at.0,
        "turns": ends.last.turn,
    });
    if let (Some(beginning), Some(fields)) = (beginning, object.as_object_mut()) {
        fields.insert("from".into(), beginning);
    }
    if let (Some(waits_for), Some(fields)) = (waits_for, object.as_object_mut()) {
        fields.insert("waitsFor".into(), waits_for.into());
    }
    if let (Event::RunEnded(ended), Some(fields)) = (&ends.last.event, object.as_object_mut()) {
        let termination = json!({
            "kind": ended.termination.kind.as_str(),
            "reason": ended.termination.reason().as_str(),
        });
        fields.insert("termination".into(), termination);
        let (used, paid) = ended.used();
        fields.insert("tokens".into(), used.total().into());
        fields.insert("costUsd".into(), paid.dollars().into());
        if !ended.held.is_none() {
            fields.insert("held".into(), held_value(&ended.held));
        }
    }
    object.to_string()
}
