//! The tools: what was executed, against what was decided and logged.

use bonded_kernel::{Call, DONE, Entry, Event, FINAL_REPORT, Outcome, Verdict};

use super::own_tools::is_own;
use crate::sim::history::History;
use crate::sim::ledger::Execution;
use crate::sim::pursued::Pursued;

/// The calls of a turn's decision.
pub(super) fn decision(history: &History, turn: u32) -> Option<&[Call]> {
    history.entries.iter().find_map(|entry| match &entry.event {
        Event::DecisionMade(decision) if entry.turn == turn => Some(&*decision.calls),
        _ => None,
    })
}

fn decided(history: &History, turn: u32, call: u32) -> Option<&Call> {
    decision(history, turn)?.get(call as usize)
}

/// The call that an entry means: one of the last decision before it.
fn decided_before(history: &History, seq: u64, call: u32) -> Option<&Call> {
    let earlier = history.entries.iter().rev().filter(|entry| entry.seq < seq);
    let mut decisions = earlier.filter_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => Some(&decision.calls),
        _ => None,
    });
    decisions.next()?.get(call as usize)
}

pub(super) fn is_terminal(tool: &str) -> bool {
    tool == DONE || tool == FINAL_REPORT
}

/// Where the log says that a call begins.
fn invoked(history: &History, turn: u32, at: u32) -> Option<&Entry> {
    history.entries.iter().find(|entry| {
        entry.turn == turn && matches!(&entry.event, Event::ToolInvoked { call, .. } if *call == at)
    })
}

/// Where the log says what came of a call: its end, or that it was skipped or denied.
fn outcomes(history: &History, turn: u32, at: u32) -> impl Iterator<Item = &Entry> {
    history.entries.iter().filter(move |entry| {
        entry.turn == turn
            && match &entry.event {
                Event::ToolFinished(finished) => finished.call == at,
                Event::ProgressReported { call, .. } => *call == at,
                Event::CallSkipped { call, .. } => *call == at,
                Event::CallReviewed(reviewed) => {
                    reviewed.call == at && reviewed.verdict != Verdict::Approved
                }
                _ => false,
            }
    })
}

fn times(history: &History, key: &str) -> usize {
    let same = history.executions.iter().filter(|one| one.key == key);
    same.count()
}

pub(super) fn every_execution_was_decided(history: &History) -> Result<(), String> {
    for Execution { key, tool, .. } in &history.executions {
        if is_terminal(tool) || is_own(tool) {
            return Err(format!("{key}: {tool} is the kernel's own and no tool"));
        }
    }
    for execution in &history.executions {
        let call = decided(history, execution.turn, execution.call);
        let is_same = call.is_some_and(|call| {
            *call.tool == execution.tool && call.arguments.as_str() == execution.arguments
        });
        if !is_same {
            return Err(format!(
                "{} was executed, the log decided {call:?}",
                execution.key
            ));
        }
    }
    Ok(())
}

pub(super) fn every_execution_was_logged_before(history: &History) -> Result<(), String> {
    for execution in &history.executions {
        let logged = invoked(history, execution.turn, execution.call);
        let (key, log_seq) = (&execution.key, execution.log_seq);
        match logged {
            None => return Err(format!("{key} was executed and never logged")),
            Some(entry) if entry.seq > log_seq => {
                let seq = entry.seq;
                return Err(format!(
                    "{key} ran when the log ended at {log_seq}, before {seq}"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

pub(super) fn refused_calls_are_never_executed(history: &History) -> Result<(), String> {
    for execution in &history.executions {
        let call = decided(history, execution.turn, execution.call);
        if let Some(refusal) = call.and_then(|call| call.refused.as_ref()) {
            return Err(format!("{} was executed: {refusal:?}", execution.key));
        }
    }
    let refused = history.entries.iter().filter_map(|entry| {
        let Event::ToolInvoked { call, .. } = entry.event else {
            return None;
        };
        let is_refused = decided_before(history, entry.seq, call)?.refused.is_some();
        is_refused.then_some(entry.seq)
    });
    match refused.into_iter().next() {
        Some(seq) => Err(format!("entry {seq} invokes a refused call")),
        None => Ok(()),
    }
}

pub(super) fn a_push_is_executed_at_most_once(history: &History) -> Result<(), String> {
    for Execution { key, .. } in history.executions.iter().filter(|one| one.tool == "push") {
        let times = times(history, key);
        if times > 1 {
            return Err(format!("{key} was executed {times} times"));
        }
    }
    Ok(())
}

/// A call is executed once for each process that took it up, and not once more.
pub(super) fn only_a_resume_repeats_a_call(history: &History) -> Result<(), String> {
    for Execution {
        key, turn, call, ..
    } in &history.executions
    {
        let Some(begin) = invoked(history, *turn, *call) else {
            continue;
        };
        let end = outcomes(history, *turn, *call).next();
        let end = end.map_or(u64::MAX, |entry| entry.seq);
        let is_resume = |entry: &&Entry| {
            (begin.seq..end).contains(&entry.seq) && matches!(entry.event, Event::RunResumed {})
        };
        let resumes = history.entries.iter().filter(is_resume).count();
        let times = times(history, key);
        if times > 1 + resumes {
            return Err(format!(
                "{key} was executed {times} times, with {resumes} resumes"
            ));
        }
    }
    Ok(())
}

pub(super) fn every_accepted_call_has_an_outcome(history: &History) -> Result<(), String> {
    let goals = history.pursued();
    let last_turns: Vec<u32> = goals.iter().map(Pursued::last_turn).collect();
    for entry in &history.entries {
        let Event::DecisionMade(decision) = &entry.event else {
            continue;
        };
        let is_decision = |it: &&Entry| matches!(it.event, Event::DecisionMade(_));
        let mut later = history.entries.iter().filter(|it| it.seq > entry.seq);
        let until = later.find(is_decision).map_or(u64::MAX, |it| it.seq);
        for (at, call) in decision.calls.iter().enumerate() {
            let (turn, at) = (entry.turn, at as u32);
            // The last turn may have several decisions.
            let is_own = |it: &&Entry| (entry.seq..until).contains(&it.seq);
            let count = outcomes(history, turn, at).filter(is_own).count();
            // The end of a run leaves calls that had not begun where they are.
            let was_invoked = invoked(history, turn, at).filter(is_own).is_some();
            let was_reached = !last_turns.contains(&turn) || was_invoked;
            let least = usize::from(call.refused.is_none() && was_reached);
            let most = usize::from(call.refused.is_none());
            if !(least..=most).contains(&count) {
                return Err(format!("call {at} of turn {turn} has {count} outcomes"));
            }
        }
    }
    Ok(())
}

/// What the log calls a success was executed to its end, and said just that.
pub(super) fn success_is_never_made_up(history: &History) -> Result<(), String> {
    for entry in &history.entries {
        let Event::ToolFinished(finished) = &entry.event else {
            continue;
        };
        let is_ours = is_terminal(&finished.tool) || is_own(&finished.tool);
        if finished.outcome != Outcome::Ok || is_ours {
            continue;
        }
        let same_call = |one: &&Execution| one.turn == entry.turn && one.call == finished.call;
        let mut said = history
            .executions
            .iter()
            .filter(same_call)
            .filter_map(|one| one.output.as_deref());
        // Of what had no room a part is shown, or none, and the log keeps the whole beside it.
        let whole = finished.dropped.as_ref().map(|it| it.output.as_str());
        let whole = whole.unwrap_or(finished.output.as_str());
        let is_true = match finished.cut_from_bytes {
            None => said.any(|output| output == whole),
            Some(bytes) => said.any(|output| output.len() as u64 == bytes),
        };
        if !is_true {
            return Err(format!(
                "entry {} tells of a success that never was",
                entry.seq
            ));
        }
    }
    Ok(())
}
