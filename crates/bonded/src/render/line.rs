//! An entry as a line for people.
//!
//! Texts of models, tools and servers are cut and put on one line. Each line begins with the turn and a word that
//! says what happened, so that a column of them can be read at a glance.

use bonded_kernel::{
    Call, CallReviewed, ContextCompacted, ContextGuarded, DecisionMade, Entry, Event, Finish,
    Outcome, RejectReason, RunEnded, RunStarted, SkipReason, ToolFinished, Verdict,
};

use serde_json::Value;

use bonded_host::shapes::text::{brief, cost, duration, grouped, held, tokens};
use bonded_host::shapes::waiting::executed;

/// The most characters of a text within a line.
const DETAIL_CHARS: usize = 100;

/// The line of an entry; `None` for entries that only matter in detail.
pub(crate) fn of(entry: &Entry) -> Option<String> {
    let text = match &entry.event {
        Event::RunStarted(started) => started_line(started),
        Event::RunResumed {} => "resumed".into(),
        Event::AttemptStarted {
            attempt,
            target,
            summary,
            ..
        } => asking_line(*attempt, *target, *summary)?,
        Event::AttemptFailed(failed) => {
            let why = brief(&failed.message, DETAIL_CHARS);
            format!("failed   {}: {why}", failed.class.as_str())
        }
        Event::TargetLearned { target, lesson } => {
            format!("learned  target {target} from now on: {lesson}")
        }
        Event::ReplyRejected { reason, answer, .. } => rejected_line(*reason, &answer.text),
        Event::DecisionMade(decision) => decision_line(decision),
        Event::CallRepaired { tool, steps, .. } => {
            let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
            format!("mended   the arguments of {tool}: {}", steps.join(", "))
        }
        Event::ContextGuarded(guarded) => guarded_line(guarded),
        Event::ContextCompacted(compacted) => compacted_line(compacted),
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
        Event::CallSkipped { tool, reason, .. } => skipped_line(tool, *reason),
        Event::ReviewAsked { call, tool, why } => {
            let why = brief(why, DETAIL_CHARS);
            format!("waits    {tool} (call {call}): {why}")
        }
        Event::CallReviewed(reviewed) => reviewed_line(reviewed),
        Event::MemoryEdited(edit) => {
            let keys = edit.set.keys().chain(&edit.removed).map(String::as_str);
            let keys = keys.collect::<Vec<_>>().join(", ");
            format!(
                "edited   the memory by hand: {}",
                brief(&keys, DETAIL_CHARS)
            )
        }
        Event::RunEnded(ended) => ended_line(ended),
    };
    Some(format!("{:>3}  {text}", entry.turn))
}

fn started_line(started: &RunStarted) -> String {
    let targets = started.config.targets.iter();
    let models: Vec<String> = targets
        .map(|target| format!("{}/{}", target.provider, target.model))
        .collect();
    let from = started
        .forked_from
        .as_ref()
        .map(|origin| format!(", forked from {} at turn {}", origin.run, origin.turn));
    let (models, from) = (models.join(", "), from.unwrap_or_default());
    format!("started  {models} in {}{from}", started.config.dir)
}

/// The first attempt of a turn goes without saying.
fn asking_line(attempt: u32, target: u32, summary: Option<u32>) -> Option<String> {
    match (summary, attempt) {
        (Some(until), _) => {
            let messages = until.saturating_sub(1);
            let summary = format!("asking the model to sum up {messages} messages");
            Some(format!("summary  there is no room left: {summary}"))
        }
        (None, 1) => None,
        (None, attempt) => Some(format!("asking   attempt {attempt}, target {target}")),
    }
}

/// A refusal is shown in the model's own words.
fn rejected_line(reason: RejectReason, text: &str) -> String {
    if reason == RejectReason::Filtered && !text.is_empty() {
        return format!("rejected the reply: refused: {}", brief(text, DETAIL_CHARS));
    }
    format!("rejected the reply: {}", reason.as_str())
}

fn compacted_line(compacted: &ContextCompacted) -> String {
    let outputs = match compacted.messages.len() {
        1 => "an old output".to_owned(),
        many => format!("{many} old outputs"),
    };
    let (before, after) = (compacted.before, compacted.after);
    format!("took out {outputs} to make room: from {before} to about {after} tokens")
}

fn skipped_line(tool: &str, reason: SkipReason) -> String {
    match reason {
        SkipReason::AfterTheEnd => format!("skipped  {tool}: it came after the end"),
        SkipReason::BesideTheReport => {
            format!("skipped  {tool}: the report of the same reply ended the run")
        }
        SkipReason::ContextBudget => format!("skipped  {tool}: the context is full"),
        SkipReason::Untrusted => format!("denied   {tool}: untrusted data has entered the run"),
        SkipReason::SecretNotKept => {
            format!("skipped  {tool}: its arguments held a secret, which is not kept")
        }
    }
}

/// The tightest of the targets that have no room.
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

/// The calls where there are some; what the model said beside them is in the details.
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

/// The arguments as they are executed, and not as the model wrote them, where these differ.
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

/// Of a failure the exit code where the output says one, else its beginning.
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

/// As far as providers counted; what is held for requests of unknown cost stands last.
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
