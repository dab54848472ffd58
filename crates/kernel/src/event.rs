//! Events: facts in the past tense.
//!
//! An event says what happened and never what is to be done: what follows from it is worked out again by whoever reads the
//! log. Its JSON is the format of the log, so a field that says nothing is left out, and none is ever renamed.

mod answer;
mod attempt;
mod call;
mod context;
mod defaults;
mod digest;
mod end;
mod goal;
mod held;
mod output;
mod repair;
mod start;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, DecisionMade, RejectReason};
pub use attempt::{AttemptFailed, Reserve};
pub use call::{Call, CallReviewed, Member, Refusal, RefusalCode, SkipReason, Tag};
pub use context::{
    Blocked, ContextCompacted, ContextGuarded, ContextSummarised, Counters, GuardPoint,
};
pub use digest::Digest;
pub use end::RunEnded;
pub use goal::GoalGiven;
pub use held::Held;
pub use output::{Dropped, Outcome, Spent, ToolFinished};
pub use repair::RepairStep;
pub use start::{Origin, RunStarted, SeedTokens};

use crate::image::Image;
use crate::lesson::Lesson;
use crate::memory::MemoryEdit;
use crate::sandbox::SandboxLevel;
use crate::text::Text;
use crate::tool::ToolEffect;
use defaults::{first, is_first, is_zero};

/// The version of the log's format. A log of a newer version is refused, never guessed at.
pub const FORMAT: u16 = 10;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A run began: the first event of every log, and the only one of its kind in it.
    RunStarted(Box<RunStarted>),
    /// A process took the run up again after another had stopped driving it.
    RunResumed {},
    /// A request was about to be sent; the worst it can cost was reserved.
    AttemptStarted {
        /// Counted from 1 in each turn.
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        /// Its place among the targets of the run, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        target: u32,
        /// What is set aside for it in the budget until somebody has counted.
        reserved: Reserve,
        /// Identifies the request, so that a replay can tell whether it would send the same.
        request: Digest,
        /// What the context guard expects the request to hold, where it guards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Counters>,
        /// The request asks for a summary of what stands before this message, and for nothing else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<u32>,
    },
    /// The request got no reply.
    AttemptFailed(Box<AttemptFailed>),
    /// What the failure before said of a request taught how its target is spoken to from now on.
    TargetLearned {
        /// Its place among the targets of the run, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        target: u32,
        /// What is done otherwise in requests to it.
        lesson: Box<Lesson>,
    },
    /// The reply held nothing that could be acted upon or kept.
    ReplyRejected {
        /// Why nothing came of it; the next request says so to the model.
        reason: RejectReason,
        /// The reply besides its calls.
        answer: Box<Answer>,
        /// The calls that it held, none of which could be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The reply was decoded and every call in it checked.
    DecisionMade(Box<DecisionMade>),
    /// The arguments of a call of the decision before were no JSON as written, and were mended.
    CallRepaired {
        /// The call's place in its reply, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        /// The tool of the call.
        tool: Arc<str>,
        /// The arguments as the model wrote them.
        original: Text,
        /// What was changed, each kind once.
        steps: Vec<RepairStep>,
        /// The arguments that the call has in the decision.
        result: Text,
    },
    /// The next request would not have fitted; the run goes to its last turn.
    ContextGuarded(Box<ContextGuarded>),
    /// Old outputs made room in the conversation.
    ContextCompacted(Box<ContextCompacted>),
    /// A summary took the place of older messages.
    ContextSummarised(Box<ContextSummarised>),
    /// The attempts of a turn were used up without a decision.
    TurnFailed {
        /// Those that counted against the limit.
        attempts: u32,
        /// A sentence for people; nothing is decided by it.
        reason: Text,
    },
    /// A call was about to be executed.
    ToolInvoked {
        /// The call's place in its reply, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        /// The tool that is executed.
        tool: Arc<str>,
        /// What the tool declares: it decides whether the call is made again after a crash.
        #[serde(default, skip_serializing_if = "ToolEffect::is_read")]
        effect: ToolEffect,
        /// What is demanded for the processes that the call starts, where it starts any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxLevel>,
    },
    /// A call ended, or will not be heard of again.
    ToolFinished(Box<ToolFinished>),
    /// The model said what it does; nothing was executed.
    ProgressReported {
        /// The call's place in its reply, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        /// The sentence, for who watches.
        progress: Text,
    },
    /// A call was held back until a person says whether it may be executed.
    ReviewAsked {
        /// The call's place in its reply, from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        /// The tool that would be executed.
        tool: Arc<str>,
        /// The rule or the mark that demands a person, in words for that person.
        why: Text,
    },
    /// A person said whether a call may be executed.
    CallReviewed(Box<CallReviewed>),
    /// A call was not executed although nothing was wrong with it.
    CallSkipped {
        /// The call's place in its reply, from 0.
        call: u32,
        /// The tool that was not executed.
        tool: Arc<str>,
        /// Why it was passed over.
        #[serde(default, skip_serializing_if = "SkipReason::is_after_the_end")]
        reason: SkipReason,
    },
    /// A person changed the memory of a run that works in loops.
    MemoryEdited(Box<MemoryEdit>),
    /// A person said something while the run was at work: the next turn shows it to the model.
    PersonSpoke {
        /// As it was typed.
        text: Text,
    },
    /// The run ended: nothing follows but another goal.
    RunEnded(Box<RunEnded>),
    /// A run that had ended was given its next goal.
    GoalGiven(Box<GoalGiven>),
}

/// A reply, as an event records it.
#[derive(Clone, Copy)]
pub(crate) struct ReplyRecord<'a> {
    pub(crate) answer: &'a Answer,
    pub(crate) calls: &'a [Call],
    /// Why nothing came of it, where nothing did.
    pub(crate) rejected: Option<RejectReason>,
}

/// What an event records of what came in from outside.
pub(crate) enum InputRecord<'a> {
    Reply(ReplyRecord<'a>),
    Failure(&'a AttemptFailed),
    Output(&'a ToolFinished),
    Edit(&'a MemoryEdit),
    Review(&'a CallReviewed),
    Said(&'a Text),
    Goal(&'a GoalGiven),
    Resumed,
    /// Whatever ended the run: its termination says what that was.
    End,
    /// Nothing: the run did it by itself.
    None,
}

impl Event {
    /// The event's name in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunResumed {} => "run_resumed",
            Self::AttemptStarted { .. } => "attempt_started",
            Self::AttemptFailed(_) => "attempt_failed",
            Self::TargetLearned { .. } => "target_learned",
            Self::ReplyRejected { .. } => "reply_rejected",
            Self::DecisionMade(_) => "decision_made",
            Self::CallRepaired { .. } => "call_repaired",
            Self::ContextGuarded(_) => "context_guarded",
            Self::ContextCompacted(_) => "context_compacted",
            Self::ContextSummarised(_) => "context_summarised",
            Self::TurnFailed { .. } => "turn_failed",
            Self::ToolInvoked { .. } => "tool_invoked",
            Self::ToolFinished(_) => "tool_finished",
            Self::ProgressReported { .. } => "progress_reported",
            Self::ReviewAsked { .. } => "review_asked",
            Self::CallReviewed(_) => "call_reviewed",
            Self::CallSkipped { .. } => "call_skipped",
            Self::MemoryEdited(_) => "memory_edited",
            Self::PersonSpoke { .. } => "person_spoke",
            Self::RunEnded(_) => "run_ended",
            Self::GoalGiven(_) => "goal_given",
        }
    }

    /// How the run began, where this is its beginning.
    pub fn started(&self) -> Option<&RunStarted> {
        if let Self::RunStarted(started) = self {
            Some(started)
        } else {
            None
        }
    }

    /// How the run ended, where this is its end.
    pub fn ended(&self) -> Option<&RunEnded> {
        if let Self::RunEnded(ended) = self {
            Some(ended)
        } else {
            None
        }
    }

    /// The images that it brought.
    pub fn images(&self) -> &[Image] {
        if let Self::RunStarted(started) = self {
            &started.images
        } else if let Self::ToolFinished(finished) = self {
            &finished.images
        } else {
            &[]
        }
    }

    /// The same, to be given their bytes.
    pub fn images_mut(&mut self) -> &mut [Image] {
        if let Self::RunStarted(started) = self {
            &mut started.images
        } else if let Self::ToolFinished(finished) = self {
            &mut finished.images
        } else {
            &mut []
        }
    }

    /// The reply that the event is the record of, where it is of one.
    pub(crate) fn reply(&self) -> Option<ReplyRecord<'_>> {
        if let InputRecord::Reply(reply) = self.input() {
            Some(reply)
        } else {
            None
        }
    }

    /// What came in from outside that the event is the record of. Every kind is named: one that is forgotten here would
    /// be taken for something that the run did by itself, and its log for one that nobody wrote.
    pub(crate) fn input(&self) -> InputRecord<'_> {
        match self {
            Self::DecisionMade(decision) => InputRecord::Reply(ReplyRecord {
                answer: &decision.answer,
                calls: &decision.calls,
                rejected: None,
            }),
            Self::ContextSummarised(made) => InputRecord::Reply(ReplyRecord {
                answer: &made.answer,
                calls: &[],
                rejected: None,
            }),
            Self::ReplyRejected {
                reason,
                answer,
                calls,
            } => InputRecord::Reply(ReplyRecord {
                answer,
                calls,
                rejected: Some(*reason),
            }),
            Self::AttemptFailed(failed) => InputRecord::Failure(failed),
            Self::ToolFinished(finished) => InputRecord::Output(finished),
            Self::MemoryEdited(edit) => InputRecord::Edit(edit),
            Self::CallReviewed(reviewed) => InputRecord::Review(reviewed),
            Self::PersonSpoke { text } => InputRecord::Said(text),
            Self::GoalGiven(given) => InputRecord::Goal(given),
            Self::RunResumed {} => InputRecord::Resumed,
            Self::RunEnded(_) => InputRecord::End,
            Self::RunStarted(_)
            | Self::AttemptStarted { .. }
            | Self::TargetLearned { .. }
            | Self::TurnFailed { .. }
            | Self::CallRepaired { .. }
            | Self::ContextGuarded(_)
            | Self::ContextCompacted(_)
            | Self::ToolInvoked { .. }
            | Self::ProgressReported { .. }
            | Self::ReviewAsked { .. }
            | Self::CallSkipped { .. } => InputRecord::None,
        }
    }

    /// Every text that may lie in a blob.
    pub fn texts_mut(&mut self) -> Vec<&mut Text> {
        match self {
            Self::RunStarted(started) => started.texts_mut().collect(),
            Self::AttemptFailed(failed) => vec![&mut failed.message],
            Self::ReplyRejected { answer, calls, .. } => reply_texts(answer, calls),
            Self::ContextSummarised(made) => reply_texts(&mut made.answer, &mut []),
            Self::DecisionMade(decision) => reply_texts(&mut decision.answer, &mut decision.calls),
            Self::CallRepaired {
                original, result, ..
            } => vec![original, result],
            Self::TurnFailed { reason, .. } => vec![reason],
            Self::ProgressReported { progress, .. } => vec![progress],
            Self::ToolFinished(finished) => finished.texts_mut().collect(),
            Self::RunEnded(ended) => ended.texts_mut().collect(),
            Self::GoalGiven(given) => vec![&mut given.goal],
            Self::PersonSpoke { text } => vec![text],
            Self::ReviewAsked { why, .. } => vec![why],
            Self::CallReviewed(reviewed) => reviewed.texts_mut().collect(),
            Self::RunResumed {}
            | Self::ContextGuarded(_)
            | Self::ContextCompacted(_)
            | Self::AttemptStarted { .. }
            | Self::TargetLearned { .. }
            | Self::ToolInvoked { .. }
            | Self::MemoryEdited(_)
            | Self::CallSkipped { .. } => vec![],
        }
    }
}

fn reply_texts<'a>(answer: &'a mut Answer, calls: &'a mut [Call]) -> Vec<&'a mut Text> {
    let mut texts = vec![&mut answer.text, &mut answer.reasoning];
    texts.extend(&mut answer.signed);
    for call in calls {
        texts.push(&mut call.arguments);
        texts.extend(call.refused.as_mut().map(|refusal| &mut refusal.message));
    }
    texts
}
