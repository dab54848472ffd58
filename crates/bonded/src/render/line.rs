//! An entry as a line for people.
//!
//! Texts of models, tools and servers are cut and put on one line. Each line begins with the turn and a word that
//! says what happened, so that a column of them can be read at a glance.

use bonded_kernel::{
    Call, CallReviewed, DecisionMade, Entry, Event, Finish, GoalGiven, Image, Outcome, RunEnded,
    RunStarted, ToolFinished, Verdict,
};

use serde_json::Value;

use super::narration;
use bonded_host::shapes::text::{self, brief, cost, counted, duration, grouped, held, tokens};
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
            format!("learned  from target {target}: {lesson}")
        }
        Event::ReplyRejected { reason, answer, .. } => {
            format!("rejected: {}", narration::rejected(*reason, &answer.text))
        }
        Event::DecisionMade(decision) => decision_line(decision),
        Event::CallRepaired { tool, steps, .. } => {
            let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
            format!("repaired the arguments of {tool}: {}", steps.join(", "))
        }
        Event::ContextGuarded(guarded) => narration::context_full(guarded),
        Event::ContextCompacted(compacted) => narration::room_made(compacted),
        Event::ContextSummarised(made) => {
            let messages = narration::messages_until(made.until);
            let summary = brief(&made.answer.text, DETAIL_CHARS);
            format!("summed up {messages}: {summary}")
        }
        Event::TurnFailed { reason, .. } => format!("turn failed: {reason}"),
        Event::ToolInvoked { .. } => return None,
        Event::ToolFinished(finished) => finished_line(finished),
        Event::ProgressReported { progress, .. } => {
            format!("progress {}", brief(progress, DETAIL_CHARS))
        }
        Event::CallSkipped { tool, reason, .. } => narration::skipped(tool, *reason),
        Event::ReviewAsked { call, tool, why } => {
            let why = brief(why, DETAIL_CHARS);
            format!("waiting  {tool} (call {call}) needs approval: {why}")
        }
        Event::CallReviewed(reviewed) => reviewed_line(reviewed),
        Event::MemoryEdited(edit) => {
            let keys = edit.set.keys().chain(&edit.removed).map(String::as_str);
            let keys = keys.collect::<Vec<_>>().join(", ");
            format!("memory edited by hand: {}", brief(&keys, DETAIL_CHARS))
        }
        Event::PersonSpoke { text } => format!("told     {}", brief(text, DETAIL_CHARS)),
        Event::RunEnded(ended) => ended_line(ended),
        Event::GoalGiven(given) => goal_line(given),
    };
    Some(format!("{:>3}  {text}", entry.turn))
}

/// What a person said before, and the model has not heard, stands in lines of its own.
fn goal_line(given: &GoalGiven) -> String {
    let models = given.targets.iter().flatten();
    let models: Vec<String> = models
        .map(|target| format!("{}/{}", target.provider, target.model))
        .collect();
    let models = match models.is_empty() {
        true => String::new(),
        false => format!(", now with {}", models.join(", ")),
    };
    format!("asked    {}{models}", brief(&given.goal, DETAIL_CHARS))
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
    let images = with_images(&started.images);
    format!("started  {models} in {}{from}{images}", started.config.dir)
}

/// What came with an entry besides words.
fn with_images(images: &[Image]) -> String {
    let images = images.iter().map(|it| format!(", {}", text::image(it)));
    images.collect()
}

/// The first attempt of a turn goes without saying.
fn asking_line(attempt: u32, target: u32, summary: Option<u32>) -> Option<String> {
    match (summary, attempt) {
        (Some(until), _) => Some(narration::asking_for_summary(until)),
        (None, 1) => None,
        (None, attempt) => Some(format!("retrying attempt {attempt}, target {target}")),
    }
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
        "ran      {}: {how}{}{}, {}",
        finished.tool,
        cut.unwrap_or_default(),
        with_images(&finished.images),
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
        "ended    {} after {}, {}, {}{}{}",
        ended.termination.kind.as_str(),
        counted(ended.turns as usize, "turn"),
        duration(ended.elapsed_ms),
        tokens(&used),
        paid.unwrap_or_default(),
        held(&ended.held)
    )
}
