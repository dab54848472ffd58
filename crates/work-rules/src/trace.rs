//! The tool trace: the calls of a run that did something, as its log tells of them.

use std::collections::BTreeMap;

use bonded_kernel::{Call, Entry, Event, Hash, Millis, Outcome, OwnTools, RunId, ToolFinished};
use serde::{Deserialize, Serialize};

use super::canonical::hash_of_text;

/// A call that was begun. Arguments and output lie in the log; here are their hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCall {
    /// The item's own run, or one that it called.
    pub run: RunId,
    /// The turn of that run.
    pub turn: u32,
    /// The call's place in its reply, from 0.
    pub call: u32,
    /// The tool.
    pub name: String,
    /// Of the arguments as canonical JSON, their texts composed.
    pub arguments_hash: Hash,
    /// How it ended.
    pub status: CallStatus,
    /// Over what the tool gave back; absent where it gave nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<Hash>,
    /// The first words of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was begun.
    pub started_at: Millis,
    /// Absent while nothing says that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The tool did what was asked.
    Success,
    /// The tool failed.
    Error,
    /// It took longer than a call may.
    Timeout,
    /// The process died or the run was stopped while the call was under way.
    Interrupted,
    /// The log does not say how it ended.
    Pending,
}

impl From<Outcome> for CallStatus {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Success,
            Outcome::Failed => Self::Error,
            Outcome::TimedOut => Self::Timeout,
            Outcome::Interrupted => Self::Interrupted,
        }
    }
}

/// The calls of a run's log, in the order in which they began. What ends a run is none of them, nor what only
/// says something or holds other calls together.
pub fn tool_trace(log: &[Entry]) -> Vec<TracedCall> {
    let own = own_tools(log);
    let mut calls: &[Call] = &[];
    let mut trace: Vec<TracedCall> = vec![];
    let mut places: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for entry in log {
        // Of all that a log tells, calls are decided, begun and ended; the rest is not about them.
        if let Event::DecisionMade(decision) = &entry.event {
            calls = &decision.calls;
        }
        if let Event::ToolInvoked { call, tool, .. } = &entry.event
            && own.acts(tool)
        {
            let begun = begun(entry, *call, tool, calls);
            // A call that is made again after a crash is still the same call.
            if let std::collections::btree_map::Entry::Vacant(place) =
                places.entry((entry.turn, *call))
            {
                place.insert(trace.len());
                trace.push(begun);
            }
        }
        if let Event::ToolFinished(finished) = &entry.event {
            let place = places.get(&(entry.turn, finished.call));
            if let Some(begun) = place.and_then(|place| trace.get_mut(*place)) {
                end(begun, finished, entry.at);
            }
        }
    }
    trace
}

fn own_tools(log: &[Entry]) -> OwnTools {
    let Some(Event::RunStarted(started)) = log.first().map(|entry| &entry.event) else {
        return OwnTools::default();
    };
    started.config.own_tools
}

fn begun(entry: &Entry, call: u32, tool: &str, calls: &[Call]) -> TracedCall {
    let made = calls.get(call as usize);
    TracedCall {
        run: entry.run.clone(),
        turn: entry.turn,
        call,
        name: tool.into(),
        arguments_hash: hash_of_text(made.map_or("", |made| made.arguments.as_str())),
        status: CallStatus::Pending,
        output_hash: None,
        error: None,
        started_at: entry.at,
        ended_at: None,
    }
}

fn end(begun: &mut TracedCall, finished: &ToolFinished, at: Millis) {
    const ERROR_LETTERS_MAX: usize = 200;
    begun.status = finished.outcome.into();
    begun.output_hash = Some(Hash::of(finished.output.as_bytes()));
    // A clock may go back.
    begun.ended_at = Some(at.max(begun.started_at));
    let is_ok = finished.outcome == Outcome::Ok;
    let error = || finished.output.chars().take(ERROR_LETTERS_MAX).collect();
    begun.error = (!is_ok).then(error);
}
