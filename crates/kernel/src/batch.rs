//! A batch: several calls in one. It is expanded when its reply is decoded: each member is a call of the
//! decision and goes the way of any call; the batch itself comes after them and holds their results.

use serde_json::{Map, Value, json};

use crate::check;
use crate::context::DROPPED;
use crate::edition::Edition;
use crate::event::{Call, Outcome, Refusal, RefusalCode};
use crate::repair::parse_arguments;

/// Ids come back in the results, which must stay small where the context is full.
const ID_BYTES_MAX: usize = 64;

const NO_CALLS: &str = "empty_batch: calls holds no call";

/// A call as a batch holds it; nothing in it is checked but that it names itself and a tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemberCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) parameters: String,
}

/// The members of a batch, or why it is none.
pub(crate) fn members(arguments: &str, edition: Edition) -> Result<Vec<MemberCall>, Refusal> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let calls = match arguments.get("calls") {
        Some(Value::Array(calls)) => calls.clone(),
        Some(Value::String(text)) if text.trim().is_empty() && edition.takes_blank_batches() => {
            vec![]
        }
        Some(Value::String(text)) => calls_in(text)?,
        Some(call @ Value::Object(_)) => vec![call.clone()],
        None | Some(Value::Null) => vec![],
        Some(_) => return Err(invalid("calls is not an array")),
    };
    if calls.is_empty() {
        return Err(check::refusal(RefusalCode::EmptyBatch, NO_CALLS.into()));
    }
    calls.iter().enumerate().map(member).collect()
}

/// Some models write the array as a text that holds one.
fn calls_in(text: &str) -> Result<Vec<Value>, Refusal> {
    let within = text.rfind(']').map_or(text, |end| &text[..=end]);
    let parsed = parse_arguments(&format!("{{\"calls\":{within}}}"));
    match parsed.map(|mut parsed| parsed.value["calls"].take()) {
        Ok(Value::Array(calls)) => Ok(calls),
        _ => Err(invalid("calls is a text that holds no array")),
    }
}

fn member((index, call): (usize, &Value)) -> Result<MemberCall, Refusal> {
    let nth = index + 1;
    let Value::Object(call) = call else {
        return Err(invalid(&format!("call {nth} is not an object")));
    };
    let id = match call.get("id") {
        None | Some(Value::Null) => format!("call_{nth}"),
        Some(Value::String(id)) => id.trim().to_owned(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) => String::new(),
    };
    // What JSON escapes would grow on its way back.
    let grows = |c: char| c.is_control() || c == '"' || c == '\\';
    if id.is_empty() || id.len() > ID_BYTES_MAX || id.contains(grows) {
        let why = format!("call {nth} has no usable id: 1 to {ID_BYTES_MAX} bytes without quotes");
        return Err(invalid(&why));
    }
    let tool = either(call, "tool", "name").and_then(Value::as_str);
    let Some(tool) = tool.map(str::trim).filter(|tool| !tool.is_empty()) else {
        return Err(invalid(&format!("call {nth} names no tool")));
    };
    let parameters = match either(call, "parameters", "arguments") {
        None | Some(Value::Null) => "{}".into(),
        Some(Value::String(text)) => text.clone(),
        Some(parameters) => parameters.to_string(),
    };
    Ok(MemberCall {
        id,
        tool: tool.into(),
        parameters,
    })
}

fn either<'a>(call: &'a Map<String, Value>, name: &str, alias: &str) -> Option<&'a Value> {
    call.get(name).or_else(|| call.get(alias))
}

fn invalid(why: &str) -> Refusal {
    check::refusal(
        RefusalCode::InvalidBatch,
        format!("invalid_batch_input: {why}"),
    )
}

/// The results of a batch while its members run.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchResults {
    results: Vec<String>,
    /// What they add to the next request, already counted.
    pub(crate) tokens: u64,
}

impl BatchResults {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    pub(crate) fn push(&mut self, result: String, tokens: u64) {
        self.results.push(result);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// What the model is shown of the batch.
    pub(crate) fn text(&self) -> String {
        format!("{{\"results\":[{}]}}", self.results.join(","))
    }
}

/// What came of one member, as JSON. `tool` is a name that can be sent back.
pub(crate) fn result(
    call: &Call,
    tool: &str,
    text: &str,
    outcome: Outcome,
    latency_ms: u64,
) -> String {
    let id = call.member.as_ref().map_or(&call.id, |member| &member.id);
    let ok = outcome == Outcome::Ok;
    let mut result = json!({ "id": id, "tool": tool, "ok": ok, "elapsedMs": latency_ms });
    if ok {
        result["output"] = text.into();
        return result.to_string();
    }
    let dropped = text == DROPPED;
    let code = match &call.refused {
        Some(refusal) => error_code(refusal.code),
        None if dropped => "CONTEXT_BUDGET_EXCEEDED".into(),
        None => "EXECUTION_ERROR".into(),
    };
    if dropped {
        result["dropped"] = true.into();
    }
    result["error"] = json!({ "code": code, "message": text });
    result.to_string()
}

fn error_code(code: RefusalCode) -> String {
    match code == RefusalCode::NotInBatch {
        true => "INTERNAL_NOT_ALLOWED".into(),
        false => code.as_str().to_ascii_uppercase(),
    }
}

/// What a member takes at most of which only a stub is shown.
pub(crate) fn longest_stub() -> String {
    let name = "_".repeat(ID_BYTES_MAX);
    let error = json!({ "code": "CONTEXT_BUDGET_EXCEEDED", "message": DROPPED });
    let stub = json!({
        "id": name, "tool": name, "ok": false, "elapsedMs": u32::MAX, "dropped": true, "error": error
    });
    let mut gathered = BatchResults::default();
    gathered.push(stub.to_string(), 0);
    gathered.text()
}
