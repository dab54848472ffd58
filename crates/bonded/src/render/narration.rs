//! The narration of a run: what it did, entry by entry, as people read it. It is the same in `run`, in `show` and in the
//! log of a machine.
//!
//! A call is one line when it has ended; what a model says is prose; all else is a remark. Entries that only matter in
//! detail say nothing. How it looks is decided where it is drawn.

use bonded_kernel::{
    Call, CallReviewed, ContextCompacted, ContextGuarded, DONE, DecisionMade, Encoding, Entry,
    Event, FINAL_REPORT, Finish, RejectReason, RunStarted, SkipReason, StreamFilter, ToolFinished,
    Verdict,
};

use super::call::{self, CallResult};
use super::live::CallAsked;
use crate::style::{Paint, Symbol};
use bonded_host::shapes::text::{brief, counted, grouped, image};

/// The most characters of a text within a remark.
const DETAIL_CHARS: usize = 200;

/// A part of the narration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// What the model said, with its line breaks.
    Prose(String),
    /// What a person asked or said after the run had begun, with its line breaks.
    Asked(String),
    /// A call that has ended.
    Call(EndedCall),
    /// Anything else, in one line.
    Remark(Remark),
}

impl Passage {
    /// Whether the same happened again, however long it took.
    pub(crate) fn is_same_but_for_time(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Call(one), Self::Call(other)) => {
                (&one.what, &one.result) == (&other.what, &other.result)
            }
            (one, other) => one == other,
        }
    }
}

/// A call that is over, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub(crate) what: String,
    pub(crate) result: CallResult,
    /// Nothing where it was not made.
    pub(crate) took_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) symbol: Symbol,
    pub(crate) text: String,
}

impl Remark {
    /// A colour that fits what the symbol says.
    pub(crate) fn paint(&self) -> Paint {
        paint_of(self.symbol)
    }
}

/// An entry that is narrated as one remark.
fn remark(symbol: Symbol, text: impl Into<String>) -> Vec<Passage> {
    let text = text.into();
    vec![Passage::Remark(Remark { symbol, text })]
}

/// What a symbol is drawn in.
pub(crate) fn paint_of(symbol: Symbol) -> Paint {
    match symbol {
        Symbol::Good => Paint::Green,
        Symbol::Bad => Paint::Red,
        Symbol::Stopped | Symbol::Ask | Symbol::Warning => Paint::Yellow,
        Symbol::Spinner(_) => Paint::Cyan,
        Symbol::Dot | Symbol::Times | Symbol::Ellipsis => Paint::Dim,
    }
}

/// Reads the entries of a run in order. The arguments of a call stand in the decision and not in the entry that ends
/// it, so that the last decision is kept.
#[derive(Debug, Default)]
pub(crate) struct Narrator {
    calls: Vec<Call>,
    /// Where an agent writes its report as a tag: what is not the report is not prose.
    nonce: Option<String>,
}

impl Narrator {
    /// What this entry adds to the narration. Failures of providers are counted by [`super::failures`].
    pub(crate) fn narrate(&mut self, entry: &Entry) -> Vec<Passage> {
        match &entry.event {
            Event::RunStarted(started) => self.begin(started),
            Event::RunResumed {} => remark(Symbol::Dot, "resumed"),
            Event::AttemptStarted { summary, .. } => asked_for_summary(*summary),
            Event::AttemptFailed(_) | Event::ToolInvoked { .. } | Event::RunEnded(_) => vec![],
            Event::GoalGiven(given) => vec![Passage::Asked(given.goal.trim().to_owned())],
            Event::PersonSpoke { text } => vec![Passage::Asked(text.trim().to_owned())],
            Event::TargetLearned { lesson, .. } => {
                remark(Symbol::Dot, format!("learned from the provider: {lesson}"))
            }
            Event::ReplyRejected { reason, answer, .. } => {
                remark(Symbol::Warning, rejected(*reason, &answer.text))
            }
            Event::DecisionMade(decision) => self.decided(decision),
            Event::CallRepaired { tool, steps, .. } => {
                let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
                let steps = steps.join(", ");
                remark(
                    Symbol::Dot,
                    format!("repaired the arguments of {tool}: {steps}"),
                )
            }
            Event::ContextGuarded(guarded) => remark(Symbol::Warning, context_full(guarded)),
            Event::ContextCompacted(compacted) => remark(Symbol::Dot, room_made(compacted)),
            Event::ContextSummarised(made) => {
                let messages = messages_until(made.until);
                let summary = brief(&made.answer.text, DETAIL_CHARS);
                remark(Symbol::Dot, format!("summed up {messages}: {summary}"))
            }
            Event::TurnFailed { reason, .. } => {
                let reason = brief(reason, DETAIL_CHARS);
                remark(Symbol::Bad, format!("turn failed: {reason}"))
            }
            Event::ToolFinished(finished) => self.finished(finished),
            Event::ProgressReported { progress, .. } => {
                let progress = brief(progress, DETAIL_CHARS);
                remark(Symbol::Dot, format!("progress: {progress}"))
            }
            Event::CallSkipped { call, tool, reason } => {
                let what = self.what(*call, tool);
                remark(Symbol::Warning, skipped(&what, *reason))
            }
            Event::ReviewAsked { call, tool, why } => {
                let (what, why) = (self.what(*call, tool), brief(why, DETAIL_CHARS));
                remark(Symbol::Ask, format!("{what} needs your approval: {why}"))
            }
            Event::CallReviewed(reviewed) => self.reviewed(reviewed),
            Event::MemoryEdited(edit) => {
                let keys = edit.set.keys().chain(&edit.removed).map(String::as_str);
                let keys = brief(&keys.collect::<Vec<_>>().join(", "), DETAIL_CHARS);
                remark(Symbol::Dot, format!("memory edited by hand: {keys}"))
            }
        }
    }

    /// Says what was forked and what was sent with the goal; else the beginning is in the heading.
    fn begin(&mut self, started: &RunStarted) -> Vec<Passage> {
        let agent = started.config.agent.as_ref();
        let tagged = agent.filter(|agent| agent.encoding != Encoding::Native);
        self.nonce = tagged.map(|agent| agent.nonce.to_string());
        let forked = started.forked_from.as_ref().map(|origin| {
            let (run, turn) = (&origin.run, origin.turn);
            format!("forked from {run} at turn {turn}")
        });
        let images = started.images.iter();
        let images = images.map(|it| format!("sent with the goal: {}", image(it)));
        let remarks = forked.into_iter().chain(images);
        remarks.flat_map(|text| remark(Symbol::Dot, text)).collect()
    }

    /// The call that is begun, in words.
    pub(crate) fn what(&self, call: u32, tool: &str) -> String {
        let known = self.calls.get(call as usize);
        let known = known.filter(|call| *call.tool == *tool);
        call::called(tool, known.map_or("", |call| &call.arguments))
    }

    /// The calls of the last reply that are to be made. Those that end a run are told by its end.
    pub(crate) fn asked(&self) -> Vec<CallAsked> {
        let asked = self.calls.iter().enumerate();
        let asked = asked.filter(|(_, call)| call.refused.is_none() && !ends(&call.tool));
        let asked = asked.map(|(place, call)| CallAsked {
            place: u32::try_from(place).unwrap_or(u32::MAX),
            what: call::called(&call.tool, &call.arguments),
            limit_ms: call::own_limit_ms(&call.tool, &call.arguments),
        });
        asked.collect()
    }

    /// What the model said, and the calls that are not made.
    fn decided(&mut self, decision: &DecisionMade) -> Vec<Passage> {
        self.calls.clone_from(&decision.calls);
        let text = self.prose(&decision.answer.text);
        let mut passages = vec![];
        if !text.trim().is_empty() {
            passages.push(Passage::Prose(text));
        }
        for call in &decision.calls {
            if let Some(refusal) = &call.refused {
                passages.push(Passage::Call(EndedCall {
                    what: call::called(&call.tool, &call.arguments),
                    result: CallResult {
                        is_good: false,
                        how: "refused".into(),
                        output: vec![brief(&refusal.message, DETAIL_CHARS)],
                    },
                    took_ms: None,
                }));
            }
        }
        if is_unclosed(decision) {
            let text =
                "the report was not closed, and the provider does not say why the model stopped";
            passages.extend(remark(Symbol::Warning, text));
        }
        passages
    }

    /// Where calls are tags, only the report is for people.
    fn prose(&self, text: &str) -> String {
        match &self.nonce {
            None => text.to_owned(),
            Some(nonce) => {
                let mut filter = StreamFilter::new(nonce);
                let mut shown = filter.push(text);
                shown.push_str(&filter.finish());
                shown
            }
        }
    }

    /// The call that ends a run is told by its end.
    fn finished(&self, finished: &ToolFinished) -> Vec<Passage> {
        let result = self.result(finished);
        if ends(&finished.tool) && result.is_good {
            return vec![];
        }
        vec![Passage::Call(EndedCall {
            what: self.what(finished.call, &finished.tool),
            result,
            took_ms: Some(finished.latency_ms),
        })]
    }

    fn result(&self, finished: &ToolFinished) -> CallResult {
        let call = self.calls.get(finished.call as usize);
        call::result(finished, call.map_or("", |call| &call.arguments))
    }

    fn reviewed(&self, reviewed: &CallReviewed) -> Vec<Passage> {
        let by = brief(&reviewed.by, 40);
        let what = self.what(reviewed.call, &reviewed.tool);
        match &reviewed.verdict {
            Verdict::Approved => remark(Symbol::Good, format!("{what} approved by {by}")),
            Verdict::Denied { reason } => {
                let reason = brief(reason, DETAIL_CHARS);
                remark(Symbol::Bad, format!("{what} denied by {by}: {reason}"))
            }
        }
    }
}

/// Whether a call ends its run.
fn ends(tool: &str) -> bool {
    [DONE, FINAL_REPORT].contains(&tool)
}

fn asked_for_summary(summary: Option<u32>) -> Vec<Passage> {
    match summary {
        Some(until) => remark(Symbol::Dot, asking_for_summary(until)),
        None => vec![],
    }
}

pub(super) fn asking_for_summary(until: u32) -> String {
    let messages = messages_until(until);
    format!("context full: asking the model to sum up {messages}")
}

/// How many messages a summary replaces. The first one is kept.
pub(super) fn messages_until(until: u32) -> String {
    counted(until.saturating_sub(1) as usize, "message")
}

/// A refusal is shown in the model's own words.
pub(crate) fn rejected(reason: RejectReason, text: &str) -> String {
    let why = match reason {
        RejectReason::Empty => "the model's reply was empty",
        RejectReason::Filtered if text.is_empty() => "the provider withheld the reply",
        RejectReason::Filtered => {
            let text = brief(text, DETAIL_CHARS);
            return format!("the model refused: {text}");
        }
        RejectReason::NoCall => "the model's reply had no tool call",
        RejectReason::Malformed => "the model's tool call could not be read",
        RejectReason::CutOff => "the model's report was cut off at its output limit",
    };
    why.to_owned()
}

pub(super) fn context_full(guarded: &ContextGuarded) -> String {
    let worst = guarded.blocked.iter().min_by_key(|blocked| blocked.limit);
    let figures = worst.map(|it| {
        let projected = grouped(it.projected);
        let limit = grouped(u64::try_from(it.limit).unwrap_or(0));
        format!(" ({projected} tokens, room for {limit})")
    });
    let figures = figures.unwrap_or_default();
    let still = match guarded.still_over.is_empty() {
        true => "",
        false => "; even the report alone may not fit",
    };
    format!("context full{figures}: asking for the final answer{still}")
}

pub(super) fn room_made(compacted: &ContextCompacted) -> String {
    let outputs = counted(compacted.messages.len(), "old output");
    let before = grouped(compacted.before);
    let after = grouped(compacted.after);
    format!("removed {outputs} to make room: {before} tokens, now about {after}")
}

pub(super) fn skipped(what: &str, reason: SkipReason) -> String {
    match reason {
        SkipReason::AfterTheEnd => format!("skipped {what}: the run had already finished"),
        SkipReason::BesideTheReport => {
            format!("skipped {what}: the report of the same reply ended the run")
        }
        SkipReason::ContextBudget => format!("skipped {what}: the context is full"),
        SkipReason::Untrusted => format!("denied {what}: untrusted data has entered the run"),
        SkipReason::SecretNotKept => {
            format!("skipped {what}: its arguments held a secret, which is not kept")
        }
    }
}

/// A report without its end is whole if the model stopped by itself. Where the provider does not say so, a person
/// should look.
fn is_unclosed(decision: &DecisionMade) -> bool {
    let is_open = |call: &Call| call.tag.as_ref().is_some_and(|tag| tag.unclosed);
    let is_unknown = decision.answer.finish == Some(Finish::Unknown);
    is_unknown && decision.calls.iter().any(is_open)
}
