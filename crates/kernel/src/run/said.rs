//! What is left of a run that ended without an answer: what its model said last, and what its provider failed with last.
//! Nothing is decided by it.

use super::Run;
use crate::decode::xml::TAG;
use crate::event::{Answer, AttemptFailed, Call};
use crate::model::FailureClass;
use crate::text::Text;

/// A text of so many characters says something, though calls stand beside it.
const SUBSTANTIAL_CHARS: usize = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    text: Text,
    is_substantial: bool,
    failure: Option<Text>,
}

impl Said {
    /// A text beside calls is mostly a preamble to them, and does not take the place of one that stood by itself.
    fn hear(&mut self, text: &Text, stands_alone: bool) {
        let is_long = || text.chars().nth(SUBSTANTIAL_CHARS - 1).is_some();
        let is_substantial = stands_alone || is_long();
        if !text.trim().is_empty() && (is_substantial || !self.is_substantial) {
            self.text = text.clone();
            self.is_substantial = is_substantial;
        }
    }
}

impl Run {
    /// The last text of the model that stood without calls or is long, else the last at all.
    pub fn last_text(&self) -> Option<&str> {
        let text = self.said.text.as_str();
        (!text.is_empty()).then_some(text)
    }

    /// What a provider failed with last, where it has not answered since.
    pub fn last_failure(&self) -> Option<&str> {
        self.said.failure.as_ref().map(Text::as_str)
    }

    pub(super) fn hear(&mut self, answer: &Answer, calls: &[Call]) {
        self.said.failure = None;
        // Where calls are tags, the text that holds them is no text for people; neither are instructions.
        if !answer.text.contains(TAG) && self.converses() {
            self.said.hear(&answer.text, calls.is_empty());
        }
    }

    pub(super) fn hear_failure(&mut self, failed: &AttemptFailed) {
        if failed.class != FailureClass::Interrupted {
            let said = format!("{}: {}", failed.class.as_str(), failed.message);
            self.said.failure = Some(said.into());
        }
    }
}
