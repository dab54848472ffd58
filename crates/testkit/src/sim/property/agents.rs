//! What holds for agents besides: their windows, their last turn, and what they deliver.

use std::collections::BTreeMap;

use bonded_kernel::{
    Answer, BATCH, Event, FINAL_REPORT, GuardPoint, Report, ReportSource, ReportStatus, RunEnded,
    TerminationKind, Usage,
};

use super::tools::is_terminal;
use crate::sim::history::History;
use crate::sim::ledger::Sent;
use crate::sim::pursued::Pursued;

/// Where a provider counts honestly, no request is larger than its window; and if one is, it was said.
pub(super) fn no_request_exceeds_a_window(history: &History) -> Result<(), String> {
    if history.provider_lies {
        return Ok(());
    }
    for sent in &history.requests {
        let Some(room) = sent.room_tokens else {
            continue;
        };
        let was_said = history.entries.iter().any(|entry| {
            let is_said =
                matches!(&entry.event, Event::ContextGuarded(it) if !it.still_over.is_empty());
            is_said && entry.seq <= sent.log_seq
        });
        let (turn, held) = (sent.turn, sent.held_tokens);
        if held > room && !was_said {
            return Err(format!(
                "{held} tokens in turn {turn}, there is room for {room}"
            ));
        }
    }
    Ok(())
}

/// The turn that must end the pursuit of a goal, as far as the limit and the guard say.
fn last_turn(history: &History, goal: &Pursued<'_>) -> u32 {
    let guarded = goal.entries.iter().filter_map(|entry| match &entry.event {
        Event::ContextGuarded(guarded) => Some(match guarded.at {
            GuardPoint::TurnPreflight => entry.turn,
            GuardPoint::ToolPreflight => entry.turn + 1,
        }),
        _ => None,
    });
    let max = goal.turn_max(history).max(goal.turns_before);
    guarded.fold(max, u32::min)
}

pub(super) fn the_last_turn_is_for_the_report(history: &History) -> Result<(), String> {
    if history.config.agent.is_none() {
        return Ok(());
    }
    let goals = history.pursued();
    goals
        .iter()
        .try_for_each(|goal| reports_last(history, goal))
}

fn reports_last(history: &History, goal: &Pursued<'_>) -> Result<(), String> {
    let last = last_turn(history, goal);
    if let Some(entry) = goal.entries.iter().find(|entry| entry.turn > last) {
        return Err(format!("turn {} comes after the last, {last}", entry.turn));
    }
    if goal.turns_before == last || goal.last_turn() < last {
        // There was no turn left for it, or it ended before.
        return Ok(());
    }
    // A reply that was rejected may be what fills the context: then only what is sent after that is of the last turn.
    let guarded = goal
        .entries
        .iter()
        .find(|entry| entry.turn == last && matches!(entry.event, Event::ContextGuarded(_)));
    let since = guarded.map_or(0, |entry| entry.seq);
    let of_last = |sent: &&Sent| sent.turn == last && sent.log_seq > since;
    for sent in history.requests.iter().filter(of_last) {
        if let Some(tool) = sent.offered.iter().find(|tool| !is_terminal(tool)) {
            return Err(format!("{tool} is offered in the last turn, {last}"));
        }
    }
    match history.executions.iter().find(|one| one.turn == last) {
        Some(one) => Err(format!("{} is executed in the last turn, {last}", one.key)),
        None => Ok(()),
    }
}

/// After the context was found full nothing but the report begins.
pub(super) fn nothing_starts_in_a_full_context(history: &History) -> Result<(), String> {
    let mut is_full = false;
    for entry in &history.entries {
        match &entry.event {
            Event::ContextGuarded(_) => is_full = true,
            // It is looked at anew.
            Event::GoalGiven(_) => is_full = false,
            // A batch is answered with what its members left.
            Event::ToolInvoked { tool, .. }
                if is_full && !is_terminal(tool) && **tool != *BATCH =>
            {
                return Err(format!("entry {} invokes {tool}", entry.seq));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn skipped_calls_are_never_executed(history: &History) -> Result<(), String> {
    for entry in &history.entries {
        let Event::CallSkipped { call, .. } = &entry.event else {
            continue;
        };
        let is_same = |turn, at| turn == entry.turn && at == *call;
        let mut executions = history.executions.iter();
        if let Some(one) = executions.find(|one| is_same(one.turn, one.call)) {
            return Err(format!("{} was skipped and executed", one.key));
        }
    }
    Ok(())
}

/// What says how to read on in an output of which a part is shown.
const READ_ON_BYTES_MAX: u64 = 512;

/// What stands in place of an output that did not fit is a failure, and only that; or the part that has room.
pub(super) fn a_dropped_output_is_never_shown(history: &History) -> Result<(), String> {
    for entry in &history.entries {
        let Event::ToolFinished(finished) = &entry.event else {
            continue;
        };
        let Some(dropped) = &finished.dropped else {
            continue;
        };
        let output = finished.output.as_str();
        let is_hidden = match dropped.shown_bytes {
            None => output == "(tool failed: context window budget exceeded)",
            Some(bytes) => (output.len() as u64) <= bytes.saturating_add(READ_ON_BYTES_MAX),
        };
        if !is_hidden {
            return Err(format!("entry {} shows what was dropped", entry.seq));
        }
    }
    Ok(())
}

fn ended(history: &History) -> impl Iterator<Item = &RunEnded> {
    history.entries.iter().filter_map(|it| it.event.ended())
}

fn delivered(ended: &RunEnded) -> Result<Option<Report>, String> {
    let Some(text) = &ended.report else {
        return Ok(None);
    };
    serde_json::from_str(text).map_err(|error| format!("the report is none: {error}"))
}

/// An agent that was not stopped delivers a report of the format that was asked for; nobody else does.
pub(super) fn an_agent_delivers_one_report(history: &History) -> Result<(), String> {
    ended(history).try_for_each(|ended| delivers(history, ended))
}

fn delivers(history: &History, ended: &RunEnded) -> Result<(), String> {
    let kind = ended.termination.kind;
    let report = delivered(ended)?;
    let is_stopped = matches!(kind, TerminationKind::Cancelled | TerminationKind::Fatal);
    match (&history.config.agent, report) {
        (Some(agent), Some(report)) if report.format == agent.report.format && !is_stopped => {
            Ok(())
        }
        (Some(_), None) if is_stopped => Ok(()),
        (None, None) => Ok(()),
        (_, report) => Err(format!("{kind:?} with {report:?}")),
    }
}

/// A model's report is a success, one of the run's own is a failure, and the end says the same.
pub(super) fn the_status_follows_the_source(history: &History) -> Result<(), String> {
    ended(history).try_for_each(follows_source)
}

fn follows_source(ended: &RunEnded) -> Result<(), String> {
    let Some(report) = delivered(ended)? else {
        return Ok(());
    };
    let is_ours = report.source == ReportSource::Synthetic;
    let is_success = report.status == ReportStatus::Success;
    let is_done = ended.termination.kind == TerminationKind::Done;
    if is_success == is_ours || is_done != is_success {
        let kind = ended.termination.kind;
        return Err(format!(
            "{:?} of {:?} with {kind:?}",
            report.status, report.source
        ));
    }
    Ok(())
}

/// What the log says of a request is what its provider said, token by token.
pub(super) fn what_was_booked_is_what_providers_reported(history: &History) -> Result<(), String> {
    let reported: BTreeMap<(u32, u32), Option<Usage>> = history
        .requests
        .iter()
        .map(|sent| ((sent.turn, sent.attempt), sent.usage))
        .collect();
    let mut asked = (0, 0);
    for entry in &history.entries {
        let answer: &Answer = match &entry.event {
            Event::AttemptStarted { attempt, .. } => {
                asked = (entry.turn, *attempt);
                continue;
            }
            Event::DecisionMade(decision) => &decision.answer,
            Event::ContextSummarised(made) => &made.answer,
            Event::ReplyRejected { answer, .. } => answer,
            _ => continue,
        };
        let said = reported.get(&asked).copied().flatten();
        if said != answer.usage {
            let seq = entry.seq;
            return Err(format!(
                "entry {seq} books {:?}, the provider said {said:?}",
                answer.usage
            ));
        }
    }
    Ok(())
}

/// The report is the kernel's own call: no registry ever sees it.
pub(super) fn a_rejected_reply_executes_nothing(history: &History) -> Result<(), String> {
    let decided = |turn| {
        let mut entries = history.entries.iter();
        entries.any(|entry| entry.turn == turn && matches!(entry.event, Event::DecisionMade(_)))
    };
    match history
        .executions
        .iter()
        .find(|one| !decided(one.turn) || one.tool == FINAL_REPORT)
    {
        Some(one) => Err(format!("{} was executed without a decision", one.key)),
        None => Ok(()),
    }
}
