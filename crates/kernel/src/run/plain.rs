//! A run without an agent's report: it ends when the model calls `done`, or says the answer twice.

use super::Run;
use crate::event::DecisionMade;
use crate::model::FailureClass;
use crate::text::Text;

/// What a plain run has heard besides calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    /// Replies in a row that were text alone.
    texts: u32,
    last: Text,
}

impl Run {
    fn is_plain(&self) -> bool {
        self.config().agent.is_none() && !self.is_looping()
    }

    /// Whether the run ends when a turn came to nothing because its providers failed, with their words. A plain run goes on
    /// where one of them answered.
    pub(crate) fn ends_with_its_providers(&self) -> bool {
        let is_read = self.attempts.failed_as() != Some(FailureClass::Malformed);
        let only_failed = self.attempts.rejections() == 0 && is_read;
        self.config().agent.is_some() || self.config().edition.backs_off() && only_failed
    }

    /// Whether a decision is a text that may be the answer.
    pub(super) fn may_be_the_answer(&self, decision: &DecisionMade) -> bool {
        let is_text = decision.calls.is_empty() && !decision.answer.text.trim().is_empty();
        is_text && self.is_plain() && self.config().edition.takes_text()
    }

    pub(super) fn heard(&mut self, decision: &DecisionMade) {
        self.plain = match self.may_be_the_answer(decision) {
            true => Plain {
                texts: self.plain.texts + 1,
                last: decision.answer.text.clone(),
            },
            false => Plain::default(),
        };
    }

    /// The answer of a model that was asked whether its text is the answer, and has said a text again.
    pub(crate) fn text_answer(&self) -> Option<Text> {
        (self.plain.texts >= 2).then(|| self.plain.last.clone())
    }
}
