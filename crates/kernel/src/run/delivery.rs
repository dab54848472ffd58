//! What a run leaves to whoever asked: the report that it delivered; where it ended without one, what its model said last
//! and what its provider failed with last. Nothing is decided by it.

use crate::decode::xml::TAG;
use crate::event::{Answer, AttemptFailed};
use crate::model::FailureClass;
use crate::profile::ProfileState;
use crate::report::Report;
use crate::termination::Termination;
use crate::text::Text;

/// A text of so many characters says something, though calls stand beside it.
const SUBSTANTIAL_CHARS: usize = 200;

/// What a run leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// What the agent delivered at the end, as JSON.
    pub(super) report: Option<Text>,
    /// The last text of the model that stood without calls or is long, else the last at all.
    text: Text,
    is_substantial: bool,
    /// What a provider failed with last, where it has not answered since.
    failure: Option<Text>,
}

impl Delivery {
    /// The last text of the model, where there is one.
    pub(super) fn last_text(&self) -> Option<&str> {
        let text = self.text.as_str();
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn last_failure(&self) -> Option<&str> {
        self.failure.as_ref().map(Text::as_str)
    }

    /// A provider answered. A text beside calls is mostly a preamble to them, and does not take the place of one that stood
    /// by itself.
    pub(super) fn hear(&mut self, answer: &Answer, stands_alone: bool, converses: bool) {
        self.failure = None;
        let text = &answer.text;
        // Where calls are tags, the text that holds them is no text for people; neither are instructions.
        if text.contains(TAG) || !converses {
            return;
        }
        let is_long = || text.chars().nth(SUBSTANTIAL_CHARS - 1).is_some();
        let is_substantial = stands_alone || is_long();
        if !text.trim().is_empty() && (is_substantial || !self.is_substantial) {
            self.text = text.clone();
            self.is_substantial = is_substantial;
        }
    }

    pub(super) fn hear_failure(&mut self, failed: &AttemptFailed) {
        if failed.class != FailureClass::Interrupted {
            let message = format!("{}: {}", failed.class.as_str(), failed.message);
            self.failure = Some(message.into());
        }
    }

    /// The report with its content. A long text is only named in it: it is what the run ended with, or what was kept for
    /// that. What a run says itself is its reason and some words.
    pub(super) fn report(
        &self,
        termination: Option<&Termination>,
        standing: &ProfileState,
    ) -> Option<Report> {
        let mut report: Report = serde_json::from_str(self.report.as_ref()?).ok()?;
        if let Some(content) = report.content.as_mut().filter(|it| !it.is_resolved()) {
            let reason = termination.map(Termination::reason);
            let fallback = standing.fallback();
            let fallback = fallback.and_then(|it| it.content.as_ref());
            let mut texts = [reason, fallback].into_iter().flatten();
            let whole = texts.find(|it| **it == *content).or(reason);
            *content = whole.cloned().unwrap_or_default();
        }
        Some(report)
    }
}
