//! A conversation: the model works with tools until it answers in text, and the person goes on from there.

use std::sync::Arc;

use super::{Begin, Conduct, TurnView};
use crate::event::{DecisionMade, RejectReason};
use crate::model::Offer;
use crate::prompt::Brief;
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;

pub(super) const CONDUCT: Conduct = Conduct {
    converses: true,
    hears: true,
    reports: false,
    pools_keys: false,
    backs_off: true,
    retry_after_ms_min: 0,
    shortens_replies: true,
    is_parallel: true,
    keeps_codes: false,
};

const THOUGHT: &str =
    "Your last reply held reasoning alone. Call a tool to continue, or write your answer.";
const EMPTY_REPLY: &str = "Your last reply was empty. Call a tool, or write your answer.";
const FILTERED: &str =
    "Your last reply was withheld by the provider. Try another way, or say that you cannot.";
const LAST_TURN: &str = "This is the last turn: tools are no longer available. Write what you have found, and what is left to do.";
const NO_ROOM: &str = "The context is full, so tools are no longer available. Write what you have found, and what is left to do.";

pub(super) fn brief(asked: &TurnView<'_>, mut notices: Vec<Arc<str>>) -> Brief {
    let is_last = asked.is_last || asked.turn >= asked.config.limits.turns_max;
    let offer = match is_last {
        // Nothing has to be called for an answer.
        true => Offer::None,
        false => Offer::All,
    };
    if is_last {
        let why = if asked.is_last { NO_ROOM } else { LAST_TURN };
        notices.push(why.into());
    }
    Brief { notices, offer }
}

/// What is said of a decision that does nothing.
pub(super) fn nothing_done(decision: &DecisionMade) -> Option<&'static str> {
    let is_thought = decision.calls.is_empty() && decision.answer.text.trim().is_empty();
    is_thought.then_some(THOUGHT)
}

/// What is said of a rejected reply besides what is said to everybody.
pub(super) fn rejection(reason: RejectReason) -> Option<&'static str> {
    match reason {
        RejectReason::Filtered => Some(FILTERED),
        RejectReason::Empty => Some(EMPTY_REPLY),
        RejectReason::NoCall | RejectReason::Malformed | RejectReason::CutOff => None,
    }
}

/// What the model has answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversing {
    answer: Option<Text>,
}

impl Conversing {
    /// Hears a decision, and says whether it is the answer.
    pub(super) fn decided(&mut self, decision: &DecisionMade) -> bool {
        let text = &decision.answer.text;
        let is_answer = decision.calls.is_empty() && !text.trim().is_empty();
        self.answer = is_answer.then(|| text.clone());
        is_answer
    }

    /// The person gets the answer.
    pub(super) fn begins(&self) -> Begin {
        match &self.answer {
            Some(answer) => Begin::End(Termination::new(TerminationKind::Done, answer.clone())),
            None => Begin::Now,
        }
    }
}
