//! The last turn: it goes on while attempts are left, and what a text of it says is better than no report.

use super::{Phase, Run};
use crate::event::{Answer, RejectReason};
use crate::model::{Finish, Message};
use crate::prompt;
use crate::report::{self, ReportSource, ReportSpec};

/// Where what was said in the last turn begins. It stands in the next request alone: the next reply takes its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    first: usize,
}

impl Run {
    /// Whether a decision of the turn under way that does not end the run is one of its attempts.
    pub(super) fn stays_in_last_turn(&self) -> bool {
        let keeps = self.config().edition.keeps_attempts_in_last_turn();
        keeps && self.is_last(self.turn) && !self.is_looping()
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

    /// Keeps the report that stands in the text of a rejected reply.
    pub(super) fn look_for_report(
        &mut self,
        spec: &ReportSpec,
        reason: RejectReason,
        answer: &Answer,
    ) {
        let found = report::from_text(spec, &answer.text).map(|(found, _)| found);
        let found = found.or_else(|| self.prose(spec, reason, answer));
        if let Some(found) = found {
            self.reporting.fallback = Some(Box::new(found));
            self.reporting.fallback_text = answer.text.clone();
        }
    }

    /// What a text of the last turn says, where it was said to its end. A report that was written as one is not given up
    /// for it.
    fn prose(
        &mut self,
        spec: &ReportSpec,
        reason: RejectReason,
        answer: &Answer,
    ) -> Option<report::Report> {
        let takes = self.config().edition.takes_prose() && self.is_last(self.turn);
        let is_whole = reason == RejectReason::NoCall && answer.finish != Some(Finish::Length);
        let is_free = self.reporting.fallback.is_none() || self.reporting.prose > 0;
        if !takes || !is_whole || !is_free {
            return None;
        }
        let found = report::from_prose(spec, &answer.text)?;
        self.reporting.prose += 1;
        Some(found)
    }

    /// Whether the model, told that texts are ignored, has written one again: it is the report.
    pub(crate) fn said_prose_again(&self) -> bool {
        self.reporting.prose > 1
    }

    /// A conversation ends with what was delivered.
    pub(super) fn say_fallback(&mut self) {
        let is_text = |it: &report::Report| it.source == ReportSource::Text;
        // Calls that nobody answers any more stand last.
        if matches!(self.phase, Phase::Acting { .. }) {
            return;
        }
        if self.config().edition.takes_prose() && self.report().as_ref().is_some_and(is_text) {
            self.take_back();
            self.conversation.push(Message::Assistant {
                text: self.reporting.fallback_text.clone(),
                reasoning: Default::default(),
                signed: None,
                calls: vec![],
            });
        }
    }
}
