//! A run without an agent's report: it ends when the model calls `done`, or says the answer twice.

use std::sync::Arc;

use serde_json::json;

use super::{Begin, Conduct, TurnView};
use crate::edition::Edition;
use crate::event::{DecisionMade, RejectReason};
use crate::model::Offer;
use crate::prompt::Brief;
use crate::termination::{FROM_TEXT, Termination, TerminationKind};
use crate::text::Text;
use crate::tool::{DONE, ToolEffect, ToolSpec};

pub(super) const CONDUCT: Conduct = Conduct {
    converses: true,
    hears: false,
    reports: false,
    pools_keys: false,
    backs_off: true,
    retry_after_ms_min: 0,
    shortens_replies: true,
    is_parallel: true,
    keeps_codes: false,
};

const NO_CALL: &str = "Your last message called no tool, so nothing was done. Call a tool to go on. \
     If the goal is reached, call `done` with the answer as `reason`.";
const IS_IT_THE_ANSWER: &str = "Your last message called no tool, so nothing was done. If it is your answer, call \
     `done` with it as `reason`, or write the whole answer once more. If not, call a tool to go on.";
const EMPTY_REPLY: &str = "Your last reply was empty. Call a tool, or call `done`.";
const FILTERED: &str =
    "Your last reply was withheld by the provider. Go on in another way, or call `done`.";
const LAST_TURN: &str =
    "This is the last turn. Call `done` now with the answer, or with `blocked:` and the reason.";

/// The tool that ends the run.
pub(crate) fn done_spec() -> ToolSpec {
    ToolSpec::closed(
        DONE,
        ToolEffect::Read,
        "Ends the run. `reason` is the answer shown to the person: what was done and how it was \
         verified. Begin it with `blocked:` if the goal cannot be reached, and say why.",
        &json!({ "reason": { "type": "string", "minLength": 1 } }),
        &["reason"],
    )
}

pub(super) fn brief(asked: &TurnView<'_>, mut notices: Vec<Arc<str>>) -> Brief {
    if asked.turn == asked.config.limits.turns_max || asked.is_last {
        notices.push(LAST_TURN.into());
    }
    let offer = match asked.is_last {
        true => Offer::TerminalOnly,
        false => Offer::All,
    };
    Brief { notices, offer }
}

/// What is said of a decision that does nothing.
pub(super) fn nothing_done(decision: &DecisionMade, edition: Edition) -> Option<&'static str> {
    let notice = match edition.takes_text() {
        true => IS_IT_THE_ANSWER,
        false => NO_CALL,
    };
    decision.calls.is_empty().then_some(notice)
}

/// What is said of a rejected reply besides what is said to everybody.
pub(super) fn rejection(reason: RejectReason) -> Option<&'static str> {
    match reason {
        RejectReason::Filtered => Some(FILTERED),
        RejectReason::Empty => Some(EMPTY_REPLY),
        RejectReason::NoCall | RejectReason::Malformed | RejectReason::CutOff => None,
    }
}

/// What a plain run has heard besides calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    /// Replies in a row that were text alone.
    texts: u32,
    /// The one that is the answer, if the next is text alone too.
    answer: Text,
}

impl Plain {
    /// Hears a decision, and says whether it is a text that may be the answer.
    pub(super) fn decided(&mut self, decision: &DecisionMade, edition: Edition) -> bool {
        let is_text = decision.calls.is_empty() && !decision.answer.text.trim().is_empty();
        let may_be_the_answer = is_text && edition.takes_text();
        *self = match may_be_the_answer {
            true => Self {
                texts: self.texts + 1,
                answer: self.better(&decision.answer.text, edition).clone(),
            },
            false => Self::default(),
        };
        may_be_the_answer
    }

    /// Of the text that was asked about and the one that came then. That the model is blocked counts whenever it says so.
    fn better<'a>(&'a self, text: &'a Text, edition: Edition) -> &'a Text {
        let is_blocked = TerminationKind::of_answer(text) == TerminationKind::Blocked;
        let is_longer = text.trim().chars().count() >= self.answer.trim().chars().count();
        match edition.keeps_longest_text() && !is_blocked && !is_longer {
            true => &self.answer,
            false => text,
        }
    }

    /// Ends the run of a model that was asked whether its text is the answer, and has said a text again.
    pub(super) fn begins(&self) -> Begin {
        if self.texts < 2 {
            return Begin::Now;
        }
        let kind = TerminationKind::of_answer(&self.answer);
        let termination = Termination::new(kind, self.answer.clone());
        Begin::End(termination.with_code(FROM_TEXT))
    }
}
