//! The last turn: it goes on while attempts are left, and what a text of it says is better than no report.

use super::{Phase, Run};
use crate::model::{FailureClass, Message};
use crate::prompt;
use crate::report::{Report, ReportSource};

/// Where what was said in the last turn begins. It stands in the next request alone: the next reply takes its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    first: usize,
}

impl Run {
    /// Whether a decision of the turn under way that does not end the run is one of its attempts.
    pub(super) fn stays_in_last_turn(&self) -> bool {
        let keeps = self.config().edition.keeps_attempts_in_last_turn();
        keeps && self.is_last(self.turn) && self.converses()
    }

    /// Whether the last turn, whose calls are all answered, has another attempt.
    pub(crate) fn goes_on_in_last_turn(&self) -> bool {
        let left = self.attempts.counted() < self.config().limits.attempts_per_turn_max;
        self.stays_in_last_turn() && self.exchange.is_some() && left
    }

    pub(super) fn begin_exchange(&mut self) {
        let first = self.conversation.messages().len();
        self.exchange = Some(Exchange { first });
    }

    /// Takes out what the reply before this one left in the last turn.
    pub(super) fn take_back(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            let out = self.conversation.truncate(exchange.first);
            out.iter().for_each(|message| self.unsay(message));
        }
    }

    /// Notes that a reply was of no use. The request after it is another one, though the same notice goes with it.
    pub(super) fn notice_again(&mut self) {
        self.useless = self.useless.saturating_add(1);
        if self.useless > 1 && self.config().edition.varies_requests() {
            self.notices.push(prompt::again(self.useless));
        }
    }

    /// Whether the run ends when a turn came to nothing because its providers failed, with their words. One without a
    /// report goes on where one of them answered.
    pub(crate) fn ends_with_its_providers(&self) -> bool {
        let is_read = self.attempts.failed_as() != Some(FailureClass::Malformed);
        let only_failed = self.attempts.rejections() == 0 && is_read;
        let reports = self.profile().conduct().reports;
        reports || self.config().edition.backs_off() && only_failed
    }

    /// A conversation ends with what was delivered.
    pub(super) fn say_fallback(&mut self) {
        let is_text = |it: &Report| it.source == ReportSource::Text;
        // Calls that nobody answers any more stand last.
        if matches!(self.phase, Phase::Acting { .. }) {
            return;
        }
        if self.config().edition.takes_prose() && self.report().as_ref().is_some_and(is_text) {
            self.take_back();
            let text = self.standing.fallback_text().cloned();
            self.conversation.push(Message::Assistant {
                text: text.unwrap_or_default(),
                reasoning: Default::default(),
                signed: None,
                calls: vec![],
            });
        }
    }
}
