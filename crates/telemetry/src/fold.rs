//! The one fold of a log from which figures and spans are made: what has ended, and when it began.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::WatchedRun;
use bonded_host::accounting::{child_of, cost_of};
use bonded_kernel::{Answer, Call, Entry, Event, Millis, RejectReason, ToolFinished, Usage};

use crate::facts::{EndedCall, EndedPart, EndedRequest, RequestOutcome, RunFacts};
use crate::metrics::Metrics;
use crate::otlp::Exporter;
use crate::spans::Spans;

/// Whether what ends is told, or only remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Now,
    Past,
}

/// One run while it is driven.
#[derive(Debug)]
pub(crate) struct RunFold {
    metrics: Option<Arc<Metrics>>,
    traces: Option<Exporter>,
    spans: Option<Spans>,
    facts: Option<RunFacts>,
    is_driven: bool,
    /// The turn that is under way, and when it began.
    turn: (u32, Millis),
    /// The request that is under way: its entry, when it began, and its target.
    request: Option<(u64, Millis, u32)>,
    /// The ids of the last decision's calls, by their places.
    calls: Vec<Arc<str>>,
    /// When the calls that are under way began, by their places.
    invoked: BTreeMap<u32, Millis>,
}

impl RunFold {
    pub(crate) fn new(metrics: Option<Arc<Metrics>>, traces: Option<Exporter>) -> Self {
        Self {
            metrics,
            traces,
            spans: None,
            facts: None,
            is_driven: false,
            turn: (0, Millis(0)),
            request: None,
            calls: vec![],
            invoked: BTreeMap::new(),
        }
    }

    /// Says that the run is driven, once.
    fn is_taken_up(&mut self, entries: &[Entry]) {
        if std::mem::replace(&mut self.is_driven, true) {
            return;
        }
        if let Some(metrics) = &self.metrics {
            let is_new = entries.iter().any(|entry| entry.event.started().is_some());
            metrics.run_taken_up(is_new);
        }
    }

    fn take(&mut self, entries: &[Entry], telling: Telling) {
        for entry in entries {
            if entry.turn != self.turn.0 {
                self.end_turn(entry.at, telling);
                self.turn = (entry.turn, entry.at);
            }
            self.entry(entry, telling);
        }
    }

    /// A turn ends where the next one begins, or with the run.
    fn end_turn(&mut self, at: Millis, telling: Telling) {
        let (turn, began) = self.turn;
        if turn > 0 {
            let ended = at;
            self.tell(&EndedPart::Turn { turn, began, ended }, telling);
        }
    }

    fn entry(&mut self, entry: &Entry, telling: Telling) {
        match &entry.event {
            Event::RunStarted(started) => self.facts = Some(RunFacts::of(entry, started)),
            Event::AttemptStarted { target, .. } => {
                self.request = Some((entry.seq, entry.at, *target));
            }
            Event::AttemptFailed(failed) => {
                self.end_request(entry, RequestOutcome::Failed(failed), telling);
            }
            Event::ReplyRejected {
                reason,
                answer,
                calls,
            } => self.replied(entry, answer, calls, Some(*reason), telling),
            Event::ContextSummarised(made) => {
                self.replied(entry, &made.answer, &[], None, telling);
            }
            Event::DecisionMade(decision) => {
                self.calls = decision.calls.iter().map(|call| call.id.clone()).collect();
                self.replied(entry, &decision.answer, &decision.calls, None, telling);
            }
            Event::ToolInvoked { call, .. } => {
                self.invoked.insert(*call, entry.at);
            }
            Event::ToolFinished(finished) => self.end_call(entry, finished, telling),
            Event::RunEnded(end) => {
                self.end_turn(entry.at, telling);
                self.turn.0 = 0;
                let ended = entry.at;
                self.tell(&EndedPart::Run { end, ended }, telling);
                if let Some(facts) = &mut self.facts {
                    facts.ended(end);
                }
            }
            Event::GoalGiven(given) => {
                if let Some(facts) = &mut self.facts {
                    facts.goal_given(entry, given);
                }
            }
            // Nothing ends with these, or it ended with an entry beside them.
            Event::RunResumed {}
            | Event::PersonSpoke { .. }
            | Event::TargetLearned { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::ContextCompacted(_)
            | Event::TurnFailed { .. }
            | Event::ProgressReported { .. }
            | Event::ReviewAsked { .. }
            | Event::CallReviewed(_)
            | Event::CallSkipped { .. }
            | Event::MemoryEdited(_) => {}
        }
    }

    fn replied<'e>(
        &mut self,
        entry: &Entry,
        answer: &'e Answer,
        calls: &'e [Call],
        rejected: Option<RejectReason>,
        telling: Telling,
    ) {
        let outcome = RequestOutcome::Replied {
            answer,
            calls,
            rejected,
        };
        self.end_request(entry, outcome, telling);
    }

    fn end_request(&mut self, entry: &Entry, outcome: RequestOutcome<'_>, telling: Telling) {
        let Some((seq, began, target)) = self.request.take() else {
            return;
        };
        let Some(facts) = self.facts.take() else {
            return;
        };
        if let Some(target) = facts.targets.get(target as usize) {
            let (latency_ms, usage, cost) = match &outcome {
                RequestOutcome::Replied { answer, .. } => {
                    let usage = answer.usage.unwrap_or_default();
                    (answer.latency_ms, usage, cost_of(target, answer))
                }
                RequestOutcome::Failed(failed) => (failed.latency_ms, Usage::default(), None),
            };
            let ended = EndedPart::Request(EndedRequest {
                turn: entry.turn,
                seq,
                target,
                began,
                ended: entry.at,
                latency_ms,
                outcome,
                usage,
                cost,
            });
            self.tell_of(&facts, &ended, telling);
        }
        self.facts = Some(facts);
    }

    /// What the kernel answered itself was not executed. One that was under way in another process, and is known to be
    /// interrupted, began there.
    fn end_call(&mut self, entry: &Entry, finished: &ToolFinished, telling: Telling) {
        let Some(began) = self.invoked.remove(&finished.call) else {
            return;
        };
        let Some(facts) = self.facts.take() else {
            return;
        };
        let is_agent = facts.agents.iter().any(|tool| **tool == *finished.tool);
        let id = self.calls.get(finished.call as usize).cloned();
        let ended = EndedPart::Call(EndedCall {
            turn: entry.turn,
            began,
            ended: entry.at,
            id: id.as_deref(),
            finished,
            child: is_agent.then(|| child_of(entry, finished.call)),
        });
        self.tell_of(&facts, &ended, telling);
        self.facts = Some(facts);
    }

    fn tell(&mut self, ended: &EndedPart<'_>, telling: Telling) {
        if let Some(facts) = self.facts.take() {
            self.tell_of(&facts, ended, telling);
            self.facts = Some(facts);
        }
    }

    fn tell_of(&mut self, facts: &RunFacts, ended: &EndedPart<'_>, telling: Telling) {
        if telling == Telling::Past {
            return;
        }
        if let Some(metrics) = &self.metrics {
            metrics.take(facts, ended);
        }
        if let Some(traces) = &self.traces {
            let spans = self.spans.get_or_insert_with(|| Spans::of(facts));
            traces.send(spans.span(facts, ended));
        }
    }
}

impl WatchedRun for RunFold {
    fn past(&mut self, entries: &[Entry]) {
        self.take(entries, Telling::Past);
    }

    fn durable(&mut self, entries: &[Entry], took: Duration) {
        self.is_taken_up(entries);
        if let Some(metrics) = &self.metrics {
            metrics.appended(took);
        }
        self.take(entries, Telling::Now);
    }

    fn heard(&mut self, entries: &[Entry]) {
        self.take(entries, Telling::Now);
    }

    fn not_durable(&mut self) {
        if let Some(metrics) = &self.metrics {
            metrics.append_failed();
        }
    }

    fn lost(&mut self) {
        if let Some(metrics) = &self.metrics {
            metrics.lease_lost();
        }
    }
}

impl Drop for RunFold {
    fn drop(&mut self) {
        if let Some(metrics) = self.metrics.as_ref().filter(|_| self.is_driven) {
            metrics.run_left();
        }
    }
}
