//! The last turn: when it comes, that it goes on while attempts are left, and that what a text of it says is better than no
//! report.

use super::{Run, RunPhase};
use crate::event::ContextGuarded;
use crate::model::{FailureClass, Message};
use crate::report::{Report, ReportSource};

/// The turn that must end the run: the limit, or sooner if the context is full or a report failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTurn {
    pub(crate) turn: u32,
    /// Whether the context is full.
    pub(crate) is_forced: bool,
    /// Whether it was recorded that the last turn does not fit either.
    pub(crate) is_over: bool,
}

impl LastTurn {
    pub(super) fn new(turns_max: u32) -> Self {
        Self {
            turn: turns_max,
            is_forced: false,
            is_over: false,
        }
    }

    /// Makes a turn the last because the context is full.
    pub(super) fn force(&mut self, turn: u32) {
        self.is_forced = true;
        self.no_later_than(turn);
    }

    pub(super) fn no_later_than(&mut self, turn: u32) {
        self.turn = self.turn.min(turn);
    }

    /// Notes whether the guard found that the last turn does not fit either.
    pub(super) fn guarded(&mut self, guarded: &ContextGuarded) {
        self.is_over |= !guarded.still_over.is_empty();
    }
}

impl Run {
    /// Whether a turn must end the run with its terminal call.
    pub(crate) fn is_last(&self, turn: u32) -> bool {
        let last = self.last_turn;
        (last.is_forced || self.profile().conduct().reports) && turn >= last.turn
    }

    /// Makes a turn the last because the context is full.
    pub(crate) fn force(&mut self, turn: u32) {
        self.last_turn.force(turn);
    }

    /// Whether a decision of the turn under way that does not end the run is one of its attempts.
    pub(super) fn stays_in_last_turn(&self) -> bool {
        let keeps = self.config().edition.keeps_attempts_in_last_turn();
        keeps && self.is_last(self.turn) && self.converses()
    }

    /// Whether the last turn, whose calls are all answered, has another attempt.
    pub(crate) fn goes_on_in_last_turn(&self) -> bool {
        let left = self.targets.attempts.counted() < self.config().limits.attempts_per_turn_max;
        self.stays_in_last_turn() && self.dialogue.has_exchange() && left
    }

    /// Whether the run ends when a turn came to nothing because its providers failed, with their words. One without a
    /// report goes on where one of them answered.
    pub(crate) fn ends_with_its_providers(&self) -> bool {
        let attempts = &self.targets.attempts;
        let is_read = attempts.failed_as() != Some(FailureClass::Malformed);
        let only_failed = attempts.rejections() == 0 && is_read;
        let reports = self.profile().conduct().reports;
        reports || self.config().edition.backs_off() && only_failed
    }

    /// A conversation ends with what was delivered.
    pub(super) fn say_fallback(&mut self) {
        let is_text = |it: &Report| it.source == ReportSource::Text;
        // Calls that nobody answers any more stand last.
        if matches!(self.phase, RunPhase::Acting { .. }) {
            return;
        }
        if self.config().edition.takes_prose() && self.report().as_ref().is_some_and(is_text) {
            self.take_back();
            let text = self.standing.fallback_text().cloned();
            let said = Message::Assistant {
                text: text.unwrap_or_default(),
                reasoning: Default::default(),
                signed: None,
                calls: vec![],
            };
            self.push(said, None);
        }
    }
}
