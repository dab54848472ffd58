//! An entry as a line for people.

use bonded_kernel::{
    Call, CallReviewed, ContextGuarded, DecisionMade, Entry, Event, Finish, Outcome, RejectReason,
    RunEnded, SkipReason, ToolFinished, Verdict,
};

use serde_json::Value;

use bonded_host::shapes::text::{brief, cost, duration, grouped, held, tokens};
use bonded_host::shapes::waiting::executed;

const DETAIL_CHARS: usize = 100;

/// The line of an entry; `None` for entries that only matter in detail.
pub(crate) fn of(entry: &Entry) -> Option<String> {
    let text = match &entry.event {
        Event::RunStarted(started) => {
            let models: Vec<String> = started
                .config
                .targets
                .iter()
                .map(|target| format!("{}/{}", target.provider, target.model))
                .collect();
            let from = started
                .forked_from
                .as_ref()
                .map(|origin| format!(", forked from {} at turn {}", origin.run, origin.turn));
            format!(
                "started  {} in {}{}",
                models.join(", "),
                started.config.dir,
                from.unwrap_or_default()
            )
        }
        Event::RunResumed {} => "resumed".into(),
        Event::AttemptStarted {
            summary: Some(until),
            ..
        } => {
            let messages = until.saturating_sub(1);
            format!(
                "summary  there is no room left: asking the model to sum up {messages} messages"
            )
        }
        Event::AttemptStarted { attempt: 1, .. } => return None,
        Event::AttemptStarted {
            attempt, target, ..
        } => format!("asking   attempt {attempt}, target {target}"),
        Event::AttemptFailed(failed) => format!(
            "failed   {}: {}",
            failed.class.as_str(),
            brief(&failed.message, DETAIL_CHARS)
        ),
        Event::TargetLearned { target, lesson } => {
            format!("learned  target {target} from now on: {lesson}")
        }
        Event::ReplyRejected {
            reason: RejectReason::Filtered,
            answer,
            ..
        } if !answer.text.is_empty() => {
            format!(
                "rejected the reply: refused: {}",
                brief(&answer.text, DETAIL_CHARS)
            )
        }
        Event::ReplyRejected { reason, .. } => {
            format!("rejected the reply: {}", reason.as_str())
        }
        Event::DecisionMade(decision) => decision_line(decision),
        Event::CallRepaired { tool, steps, .. } => {
            let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
            format!("mended   the arguments of {tool}: {}", steps.join(", "))
        }
        Event::ContextGuarded(guarded) => guarded_line(guarded),
        Event::ContextCompacted(compacted) => {
            let outputs = match compacted.messages.len() {
                1 => "an old output".to_owned(),
                many => format!("{many} old outputs"),
            };
            let (before, after) = (compacted.before, compacted.after);
            format!("took out {outputs} to make room: from {before} to about {after} tokens")
        }
        Event::ContextSummarised(made) => {
            let messages = made.until.saturating_sub(1);
            let summary = brief(&made.answer.text, DETAIL_CHARS);
            format!("summed up {messages} messages to make room: {summary}")
        }
        Event::TurnFailed { reason, .. } => format!("turn failed: {reason}"),
        Event::ToolInvoked { .. } => return None,
        Event::ToolFinished(finished) => finished_line(finished),
        Event::ProgressReported { progress, .. } => {
            format!("progress {}", brief(progress, DETAIL_CHARS))
        }
        Event::CallSkipped { tool, reason, .. } => match reason {
            SkipReason::AfterTheEnd => format!("skipped  {tool}: it came after the end"),
            SkipReason::BesideTheReport => {
                format!("skipped  {tool}: the report of the same reply ended the run")
            }
            SkipReason::ContextBudget => format!("skipped  {tool}: the context is full"),
            SkipReason::Untrusted => format!("denied   {tool}: untrusted data has entered the run"),
            SkipReason::SecretNotKept => {
                format!("skipped  {tool}: its arguments held a secret, which is not kept")
            }
        },
        Event::ReviewAsked { call, tool, why } => {
            format!(
                "waits    {tool} (call {call}): {}",
                brief(why, DETAIL_CHARS)
            )
        }
        Event::CallReviewed(reviewed) => reviewed_line(reviewed),
        Event::MemoryEdited(edit) => {
            let keys: Vec<&str> = edit
                .set
                .keys()
                .chain(&edit.removed)
                .map(String::as_str)
                .collect();
            format!(
                "edited   the memory by hand: {}",
                brief(&keys.join(", "), DETAIL_CHARS)
            )
        }
        Event::RunEnded(ended) => ended_line(ended),
    };
    Some(format!("{:>3}  {text}", entry.turn))
}

fn guarded_line(guarded: &ContextGuarded) -> String {
    let worst = guarded.blocked.iter().min_by_key(|blocked| blocked.limit);
    let figures = worst.map(|it| format!(": {} tokens, room for {}", it.projected, it.limit));
    let still = if guarded.still_over.is_empty() {
        ""
    } else {
        "; even the report alone may not fit"
    };
    format!(
        "guarded  the context is full{}{still}",
        figures.unwrap_or_default()
    )
}

fn decision_line(decision: &DecisionMade) -> String {
    let what = match decision.calls.as_slice() {
        [] => format!("said     {}", brief(&decision.answer.text, DETAIL_CHARS)),
        calls => {
            let calls: Vec<String> = calls.iter().map(call_text).collect();
            format!("decided  {}", calls.join("; "))
        }
    };
    let usage = decision
        .answer
        .usage
        .map(|usage| format!("  ({})", tokens(&usage)));
    let usage = usage.unwrap_or_default();
    format!("{what}{usage}{}", unclosed_warning(decision))
}

/// A report without its end is whole if the model stopped by itself. Where nobody knows, a person should.
fn unclosed_warning(decision: &DecisionMade) -> &'static str {
    let is_open = |call: &Call| call.tag.as_ref().is_some_and(|tag| tag.unclosed);
    let nobody_knows = decision.answer.finish == Some(Finish::Unknown);
    if nobody_knows && decision.calls.iter().any(is_open) {
        "\n     warning: the report was not closed, and the provider does not say why the model stopped"
    } else {
        ""
    }
}

fn call_text(call: &Call) -> String {
    match &call.refused {
        None => {
            let arguments = brief(&executed(&call.arguments), DETAIL_CHARS);
            format!("{} {arguments}", call.tool)
        }
        Some(refusal) => format!(
            "{} refused: {}",
            brief(&call.tool, 40),
            brief(&refusal.message, DETAIL_CHARS)
        ),
    }
}

fn reviewed_line(reviewed: &CallReviewed) -> String {
    let by = brief(&reviewed.by, 40);
    match &reviewed.verdict {
        Verdict::Approved => format!("approved {} by {by}", reviewed.tool),
        Verdict::Denied { reason } => {
            let reason = brief(reason, DETAIL_CHARS);
            format!("denied   {} by {by}: {reason}", reviewed.tool)
        }
    }
}

fn finished_line(finished: &ToolFinished) -> String {
    let how = match finished.outcome {
        Outcome::Ok => format!("ok, {} bytes", grouped(finished.output.len() as u64)),
        Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => {
            exit_of(finished).unwrap_or_else(|| brief(&finished.output, DETAIL_CHARS))
        }
    };
    let cut = finished
        .cut_from_bytes
        .map(|bytes| format!(", cut from {}", grouped(bytes)));
    format!(
        "ran      {}: {how}{}, {}",
        finished.tool,
        cut.unwrap_or_default(),
        duration(finished.latency_ms)
    )
}

/// How a command ended that said so.
fn exit_of(finished: &ToolFinished) -> Option<String> {
    let output: Value = serde_json::from_str(&finished.output).ok()?;
    let how = match (output["exit"].as_i64(), output["signal"].as_i64()) {
        (Some(exit), _) => format!("exit {exit}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => return None,
    };
    let why = output["stderr"]
        .as_str()
        .and_then(|it| it.trim_end().lines().last());
    let why = why.map(|line| format!(": {}", brief(line, DETAIL_CHARS)));
    Some(how + &why.unwrap_or_default())
}

fn ended_line(ended: &RunEnded) -> String {
    let (used, paid) = ended.used();
    let paid = cost(paid).map(|cost| format!(", {cost}"));
    format!(
        "ended    {} after {} turns, {}, {}{}{}",
        ended.termination.kind.as_str(),
        ended.turns,
        duration(ended.elapsed_ms),
        tokens(&used),
        paid.unwrap_or_default(),
        held(&ended.held)
    )
}
