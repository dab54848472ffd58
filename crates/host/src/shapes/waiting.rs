//! A call that waits for a person, for people and for programs.
//!
//! A person decides on what is shown here, so that it is what would be executed and not what the model
//! wrote, with every letter visible. What is cut is said to be cut, and the digest binds the answer to
//! exactly this call.

pub mod change;
pub mod command;
mod twice;

use crate::letters::written_out;
use crate::{PendingReview, Status};
use bonded_kernel::{Run, WaitingCall};
use serde_json::{Value, json};

use super::json::held_value;
use super::text;

/// More than this nobody reads unasked.
const SHOWN_CHARS_MAX: usize = 4_000;
/// So much of the digest is shown, and is enough to approve the call with.
const DIGEST_CHARS: usize = 16;

/// How much of a call is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Everything, however long.
    Whole,
    /// Long arguments are cut, and it is said.
    Cut,
}

/// The tool, its arguments as they would be executed, and why a person is asked.
pub fn described(waiting: &PendingReview, extent: Extent) -> String {
    let call = &waiting.call;
    let mut lines = vec![
        format!("run        {}", waiting.run),
        format!("call       {} of turn {}", call.call, call.turn),
        format!("tool       {}", written_out(&call.tool)),
    ];
    let arguments = executed(&call.arguments);
    let shown = match extent {
        Extent::Whole => arguments.as_str(),
        Extent::Cut => cut(&arguments),
    };
    lines.push(format!("arguments  {shown}"));
    if shown.len() < arguments.len() {
        lines.push(format!(
            "cut        {} of {} characters are shown; see all of them with --full",
            text::grouped(SHOWN_CHARS_MAX as u64),
            text::grouped(arguments.chars().count() as u64)
        ));
    }
    if let Some(note) = note_of(call) {
        lines.push(format!("note       {note}"));
    }
    lines.push(format!("why        {}", written_out(&call.why)));
    lines.push(format!("digest     {}", short_digest(call)));
    lines.join("\n")
}

/// What a person must know of how the arguments were written, if there is something.
pub fn note_of(call: &WaitingCall) -> Option<&'static str> {
    twice::has_key_twice(&call.arguments)
        .then_some("the model wrote a key twice; the last one applies and is shown")
}

/// Whether all of a call is shown where long arguments are cut.
pub fn is_whole(waiting: &PendingReview) -> bool {
    let arguments = executed(&waiting.call.arguments);
    cut(&arguments).len() == arguments.len()
}

/// What a tool is given, with every letter to be seen: not the model's words, but what they say.
pub fn executed(written: &str) -> String {
    match serde_json::from_str::<Value>(written) {
        Ok(arguments) => written_out(&arguments.to_string()),
        Err(_) => written_out(written),
    }
}

/// By characters, so that none is cut in two.
fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARS_MAX);
    end.map_or(text, |(end, _)| &text[..end])
}

fn short_digest(call: &WaitingCall) -> String {
    let digest = call.digest.to_string();
    digest.get(..DIGEST_CHARS).unwrap_or(&digest).to_owned()
}

/// The command that approves exactly this call.
pub fn approval(run: &Run, waiting: &PendingReview) -> String {
    let (id, call) = (text::short_id(run.id()), &waiting.call);
    let (place, digest) = (call.call, short_digest(call));
    format!("bonded approve {id} --call {place} --digest {digest}")
}

/// What a person is told when a run pauses.
pub fn paused(run: &Run, waiting: &PendingReview) -> String {
    let id = text::short_id(run.id());
    let described = described(waiting, Extent::Cut).replace('\n', "\n  ");
    let approval = approval(run, waiting);
    format!(
        "run {id} needs approval\n  {described}\n  approve it: {approval}\n  deny it:    bonded deny {id} --reason TEXT"
    )
}

/// What a person is told of a run that waits for its client.
pub fn at_client(run: &Run) -> String {
    let id = text::short_id(run.id());
    let calls = bonded_kernel::handed_out(run);
    let tools: Vec<String> = calls.iter().map(|call| written_out(call.tool())).collect();
    let tools = tools.join(", ");
    format!("run {id} waits for its client, which executes {tools}; cancel it: bonded cancel {id}")
}

/// A run that waits, in the place of its result.
pub fn result_value(run: &Run, waiting: &PendingReview) -> Value {
    let status = Status::AwaitingReview.as_str();
    let spend = run.spend();
    let (used, paid) = spend.used();
    let mut value = json!({
        "runId": run.id().as_str(),
        "goalId": run.goal_id().as_str(),
        "success": false,
        "status": status,
        "termination": { "kind": status, "reason": waiting.call.why.as_str() },
        "answer": null,
        "turns": run.turn(),
        "requests": spend.requests,
        "usage": {
            "inputTokens": used.input,
            "outputTokens": used.output,
            "cachedInputTokens": used.cached,
        },
        "costUsd": paid.dollars(),
        "elapsedMs": run.elapsed_ms(),
        "waiting": {
            "runId": waiting.run.as_str(),
            "turn": waiting.call.turn,
            "call": waiting.call.call,
            "tool": &*waiting.call.tool,
            "arguments": waiting.call.arguments.as_str(),
            "why": waiting.call.why.as_str(),
            "digest": waiting.call.digest.to_string(),
        },
    });
    if !spend.held.is_none() {
        value["held"] = held_value(&spend.held);
    }
    value
}
