//! What a model writes where the kernel itself answers: batches, progress reports, pages.

use bonded_kernel::{
    BATCH, FIND_TOOLS, Message, PROGRESS_REPORT, Reply, ReplyCall, Request, RunConfig, TOOL_OUTPUT,
};
use serde_json::{Value, json};

use crate::rng::Rng;

/// Puts the run's own tools into a reply, well and badly. Draws nothing where the run offers none.
pub(crate) fn add_own_calls(
    rng: &mut Rng,
    config: &RunConfig,
    request: &Request<'_>,
    reply: &mut Reply,
) {
    let own = config.own_tools;
    if own.batch && rng.chance(400) && !reply.calls.is_empty() {
        gather(rng, reply);
    }
    if own.progress && rng.chance(250) && !reply.calls.is_empty() {
        let arguments = rng.pick(&[r#"{"progress":"on it"}"#, r#"{"progress":"on it"}"#, "{}"]);
        let many = rng.weighted(&[(8, 1), (1, 40)]);
        let said = (0..many).map(|nth| call(format!("p{nth}"), PROGRESS_REPORT, arguments.into()));
        reply.calls.splice(0..0, said);
    }
    if own.output_kept_bytes_max.is_some() && rng.chance(250) && !reply.calls.is_empty() {
        let handle = told_handle(request.messages).unwrap_or("out-1-0");
        let arguments = match rng.below(6) {
            0 => json!({ "handle": handle, "offset": 1.5 }),
            1 => json!({ "handle": "gone", "offset": 0 }),
            2 => json!({ "handle": handle, "offset": u64::MAX }),
            _ => {
                json!({ "handle": handle, "offset": rng.below(900), "bytes": rng.between(1, 400) })
            }
        };
        reply
            .calls
            .push(call("page".into(), TOOL_OUTPUT, arguments.to_string()));
    }
    add_searches(rng, request, reply);
}

/// Searches, well and badly, for tools that may be sent already. Draws nothing where the request offers no search.
fn add_searches(rng: &mut Rng, request: &Request<'_>, reply: &mut Reply) {
    if !request.tools().any(|spec| spec.name == FIND_TOOLS) || reply.calls.is_empty() {
        return;
    }
    if rng.chance(250) {
        let arguments = match rng.below(5) {
            0 => json!({ "query": "weather" }),
            1 => json!({ "query": "", "max": 0 }),
            2 => json!({ "query": "a e i", "max": 1 }),
            _ => {
                json!({ "query": request.catalog.specs().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" ") })
            }
        };
        let id = format!("f{}", reply.calls.len());
        reply
            .calls
            .push(call(id, FIND_TOOLS, arguments.to_string()));
    }
}

/// The handle that the latest output which was cut names.
fn told_handle(messages: &[Message]) -> Option<&str> {
    messages.iter().rev().find_map(|message| {
        let (Message::User { text, .. } | Message::Tool { text, .. }) = message else {
            return None;
        };
        // In a batch the notice stands in JSON, with its quotes escaped.
        let from = text.find("out-").filter(|_| text.contains(TOOL_OUTPUT))?;
        let rest = text.get(from..)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let end = rest.find(|c| !is_part(c))?;
        rest.get(..end)
    })
}

fn call(id: String, tool: &str, arguments: String) -> ReplyCall {
    ReplyCall {
        id,
        tool: tool.into(),
        arguments,
    }
}

/// Makes the first calls of a reply the members of a batch.
fn gather(rng: &mut Rng, reply: &mut Reply) {
    let many = rng.between(1, reply.calls.len() as u64) as usize;
    let mut members: Vec<Value> = reply
        .calls
        .drain(..many)
        .map(|it| member(rng, it))
        .collect();
    match rng.below(12) {
        0 => members.clear(),
        1 => members.push(json!({ "id": "", "tool": "look" })),
        2 => members.push(json!({ "id": "n", "tool": BATCH, "parameters": { "calls": [] } })),
        3 => members.push(json!("no call")),
        _ => {}
    }
    let calls = match rng.chance(100) {
        true => Value::String(json!(members).to_string()),
        false => json!(members),
    };
    let arguments = json!({ "calls": calls }).to_string();
    let id = rng.weighted(&[(9, "batch"), (1, "")]);
    reply.calls.insert(0, call(id.into(), BATCH, arguments));
}

fn member(rng: &mut Rng, call: ReplyCall) -> Value {
    let parsed: Option<Value> = serde_json::from_str(&call.arguments).ok();
    let parameters = match parsed {
        Some(value) if rng.chance(800) => value,
        _ => Value::String(call.arguments),
    };
    let tool = match call.tool.is_empty() {
        true => "nameless".into(),
        false => call.tool,
    };
    json!({ "id": rng.below(5).to_string(), "tool": tool, "parameters": parameters })
}
