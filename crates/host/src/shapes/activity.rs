//! What a run is doing, for whoever watches it: the one place that says which entries of a log such a person is told of.
//!
//! A new event must be thought of here: there is no default arm that would hide it.

use bonded_kernel::{AttemptFailed, Entry, Event, GoalGiven, RunStarted, Usage};

/// What an entry means to somebody who watches.
#[derive(Clone, Copy, Debug)]
pub enum Activity<'a> {
    /// With everything that the run was begun with.
    Started(&'a RunStarted),
    /// A model is asked.
    Asking {
        attempt: u32,
        target: u32,
        /// Not to go on, but to sum up what was said.
        summary: bool,
    },
    /// A model answered, whatever came of it, and may have counted its tokens.
    Answered(Option<Usage>),
    /// An attempt failed; another one may follow.
    Failed(&'a AttemptFailed),
    /// A tool, or an agent, is called.
    Calling {
        /// The call's place in its reply, from 0.
        call: u32,
        /// By its name.
        tool: &'a str,
    },
    /// A call came to its end, or is not made.
    CallOver {
        /// The call's place in its reply, from 0.
        call: u32,
    },
    /// What a model says of its progress for those who watch.
    Progress(&'a str),
    /// Nothing follows but another goal.
    Ended,
    /// It goes on with another goal, and with what came with that.
    Goal(&'a GoalGiven),
    /// What a person says while it works.
    Person(&'a str),
    /// Something that matters in detail only.
    Quiet,
}

impl<'a> Activity<'a> {
    /// Most entries are quiet.
    pub fn of(entry: &'a Entry) -> Self {
        match &entry.event {
            Event::RunStarted(started) => Self::Started(started),
            Event::AttemptStarted {
                attempt,
                target,
                summary,
                ..
            } => Self::Asking {
                attempt: *attempt,
                target: *target,
                summary: summary.is_some(),
            },
            Event::DecisionMade(decision) => Self::Answered(decision.answer.usage),
            Event::ContextSummarised(made) => Self::Answered(made.answer.usage),
            Event::ReplyRejected { answer, .. } => Self::Answered(answer.usage),
            Event::AttemptFailed(failed) => Self::Failed(failed),
            Event::ToolInvoked { call, tool, .. } => Self::Calling { call: *call, tool },
            Event::ToolFinished(finished) => Self::CallOver {
                call: finished.call,
            },
            Event::CallSkipped { call, .. } => Self::CallOver { call: *call },
            Event::ProgressReported { progress, .. } => Self::Progress(progress),
            Event::RunEnded(_) => Self::Ended,
            Event::GoalGiven(given) => Self::Goal(given),
            Event::PersonSpoke { text } => Self::Person(text),
            Event::RunResumed {}
            | Event::TargetLearned { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::ContextCompacted(_)
            | Event::TurnFailed { .. }
            | Event::ReviewAsked { .. }
            | Event::CallReviewed(_)
            | Event::MemoryEdited(_) => Self::Quiet,
        }
    }

    /// Whether nothing more is being said by a model that was asked before.
    pub fn ends_attempt(&self) -> bool {
        matches!(self, Self::Answered(_) | Self::Failed(_) | Self::Ended)
    }
}
