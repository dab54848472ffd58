//! One line of a script.
//!
//! What is wrong with a line is found when the script is read and not when it is played: a run shall not fail
//! at its tenth request because of a typing error. So unknown fields are refused, in replies, calls, usage and
//! failures alike.

use bonded_kernel::{Failure, FailureClass, Finish, Money, Reply, ReplyCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::failure::failed;
use crate::money::dollars;

/// A line that was read, with the requests that it answers: from the end of the line before it to its own end.
#[derive(Clone, Debug)]
pub(super) struct ScriptLine {
    /// The ordinal of the first request that this line does not answer any more.
    pub(super) end: u64,
    pub(super) delay_ms: u64,
    pub(super) expect: Vec<String>,
    /// The calls of a reply that were given no id get one when they are played.
    pub(super) answer: Result<Reply, Failure>,
}

/// Looks only whether a line is a failure; what it says besides is read in a second pass, strictly.
#[derive(Deserialize)]
struct Form {
    fail: Option<IgnoredAny>,
}

/// Every field may be absent; a line without any is an empty reply.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReplyLine {
    text: String,
    reasoning: String,
    calls: Vec<CallLine>,
    usage: Option<UsageLine>,
    finish: Option<Finish>,
    stop_reason: Option<String>,
    signed: Option<Box<RawValue>>,
    cost: Option<f64>,
    provider: Option<String>,
    delay_ms: u64,
    expect: Vec<String>,
    repeat: Option<u64>,
}

/// Arguments are kept as they were written, so that a script can play what is no valid JSON: as a text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine {
    tool: String,
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    id: String,
}

/// As a provider counts it, in tokens. `cached` and `written` are parts of `input`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageLine {
    input: u64,
    output: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    written: u64,
}

/// A failure has nothing to expect of the conversation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailLine {
    fail: FailureClass,
    message: Option<String>,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
    #[serde(default)]
    delay_ms: u64,
    repeat: Option<u64>,
}

/// Reads one line; `begin` is the ordinal of the first request that it answers.
pub(super) fn parse_line(text: &str, begin: u64) -> Result<ScriptLine, String> {
    let say = |error: serde_json::Error| error.to_string();
    let form: Form = serde_json::from_str(text).map_err(say)?;
    let (line, repeat) = match form.fail {
        Some(_) => fail_line(serde_json::from_str(text).map_err(say)?)?,
        None => reply_line(serde_json::from_str(text).map_err(say)?)?,
    };
    match repeat {
        Some(0) => Err("repeat must be at least 1".into()),
        times => Ok(ScriptLine {
            end: begin.saturating_add(times.unwrap_or(1)),
            ..line
        }),
    }
}

/// The reason for the end follows from the calls where the line does not state it. The end is filled in by
/// `parse_line`.
fn reply_line(line: ReplyLine) -> Result<(ScriptLine, Option<u64>), String> {
    let calls: Result<Vec<ReplyCall>, String> = line.calls.into_iter().map(reply_call).collect();
    let calls = calls?;
    let natural = if calls.is_empty() {
        Finish::Stop
    } else {
        Finish::ToolCalls
    };
    let reply = Reply {
        text: line.text,
        reasoning: line.reasoning,
        calls,
        usage: line.usage.map(|usage| Usage {
            input: usage.input,
            output: usage.output,
            cached: usage.cached,
            written: usage.written,
        }),
        finish: line.finish.unwrap_or(natural),
        stop_reason: line.stop_reason,
        signed: line.signed.as_deref().map(raw_text).transpose()?,
        cost: line.cost.map(paid).transpose()?,
        provider: line.provider,
        ..Reply::default()
    };
    let line_out = ScriptLine {
        end: 0,
        delay_ms: line.delay_ms,
        expect: line.expect,
        answer: Ok(reply),
    };
    Ok((line_out, line.repeat))
}

/// A call without arguments has an empty object.
fn reply_call(call: CallLine) -> Result<ReplyCall, String> {
    let arguments = call.arguments.as_deref().map(raw_text).transpose()?;
    Ok(ReplyCall {
        id: call.id,
        tool: call.tool,
        arguments: arguments.unwrap_or_else(|| "{}".into()),
    })
}

/// A text is passed on as it is, anything else as it is written.
fn raw_text(raw: &RawValue) -> Result<String, String> {
    match raw.get() {
        text if text.starts_with('"') => {
            serde_json::from_str(text).map_err(|error| error.to_string())
        }
        other => Ok(other.into()),
    }
}

/// An amount that cannot be paid is a mistake in the script.
fn paid(cost: f64) -> Result<Money, String> {
    dollars(cost).ok_or_else(|| format!("cost is an amount of dollars such as 0.25, not {cost}"))
}

/// A run is interrupted from its own side, so that no provider can fail that way.
fn fail_line(line: FailLine) -> Result<(ScriptLine, Option<u64>), String> {
    if line.fail == FailureClass::Interrupted {
        return Err("a provider cannot fail as interrupted".into());
    }
    // As with a real provider: no answer in time, or one that cannot be read, may have cost something.
    let billable = matches!(line.fail, FailureClass::Timeout | FailureClass::Malformed);
    let message = line.message;
    let message = message.unwrap_or_else(|| format!("scripted failure: {}", line.fail.as_str()));
    let failure = Failure {
        status: line.status,
        retry_after_ms: line.retry_after_ms,
        ..failed(line.fail, message, billable)
    };
    let line_out = ScriptLine {
        end: 0,
        delay_ms: line.delay_ms,
        expect: Vec::new(),
        answer: Err(failure),
    };
    Ok((line_out, line.repeat))
}
