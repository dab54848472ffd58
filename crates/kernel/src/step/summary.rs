//! The one request that asks for no step but for a summary: sent where the next one has no room, and nothing else makes it.

use super::Stepper;
use super::attempt::AttemptStart;
use crate::event::{Answer, ContextSummarised, Counters, Event, RejectReason};
use crate::model::Finish;
use crate::prompt;
use crate::retry::Pick;
use crate::run::guard::next_excess;

impl Stepper<'_> {
    /// Asks for a summary where the next request has no room. Says whether the turn waits for one.
    pub(super) fn asks_for_summary(&mut self, turn: u32) -> bool {
        let Some(until) = self.run.summary_until().filter(|_| !self.run.is_last(turn)) else {
            return false;
        };
        let is_wanted = self.run.wants_summary();
        if !is_wanted && (self.run.last_turn.is_over || !self.lacks_room(turn)) {
            return false;
        }
        let target = match self.run.targets.attempts.pick(self.now, |_| true) {
            Pick::Now(target) => target,
            Pick::After(_) => return true,
            Pick::Never => return false,
        };
        let estimated = self.run.summary_request_tokens(until);
        let counters = Counters {
            current: 0,
            pending: self.run.meter.gauge.room(target as usize, estimated),
            schema: 0,
            estimated: None,
        };
        // Where there is too little left for it, the run goes on without.
        self.start_attempt(AttemptStart {
            turn,
            target,
            brief: &prompt::summary_brief(),
            reply_tokens_max: self.run.summary_tokens_max(),
            counters: Some(counters),
            summary: Some(until as u32),
        })
        .is_ok()
    }

    /// Whether the next request has no room though old outputs were taken out, and a summary would make it.
    fn lacks_room(&mut self, turn: u32) -> bool {
        let Some(blocked) = next_excess(self.run, turn) else {
            return false;
        };
        if !self.run.summary_makes_room(&blocked) {
            return false;
        }
        self.takes_outputs_out(turn);
        next_excess(self.run, turn).is_some()
    }

    /// A reply came to the request for a summary.
    pub(super) fn summary_came(&mut self, mut answer: Answer, until: usize) {
        answer.signed = None;
        let is_withheld = answer.finish == Some(Finish::ContentFilter);
        if is_withheld || answer.text.trim().is_empty() {
            let reason = match is_withheld {
                true => RejectReason::Filtered,
                false => RejectReason::Empty,
            };
            self.emit(Event::ReplyRejected {
                reason,
                answer: Box::new(answer),
                calls: vec![],
            });
        } else {
            self.emit(Event::ContextSummarised(Box::new(ContextSummarised {
                answer,
                until: until as u32,
            })));
        }
        self.advance();
    }
}
