//! The start of an attempt: what it may use is held for it, and the log says so before anything is sent.

use super::Stepper;
use crate::budget::Exhausted;
use crate::event::{Counters, Event};
use crate::prompt::Brief;

/// One request, as it is about to be sent.
#[derive(Clone, Copy)]
pub(super) struct AttemptStart<'a> {
    pub(super) turn: u32,
    pub(super) target: u32,
    pub(super) brief: &'a Brief,
    pub(super) reply_tokens_max: u64,
    pub(super) counters: Option<Counters>,
    /// Where it asks for a summary, the place of the first message that it leaves out.
    pub(super) summary: Option<u32>,
}

impl Stepper<'_> {
    /// Starts an attempt, if the budget has room for it.
    pub(super) fn start_attempt(&mut self, asked: AttemptStart<'_>) -> Result<(), Exhausted> {
        let (run, target) = (&*self.run, asked.target);
        let notices = asked.brief.notices.iter();
        let notices_bytes = notices.map(|notice| notice.len() as u64).sum();
        let reserved = run.tally.ledger.reserve(
            run.config(),
            target,
            notices_bytes,
            asked.reply_tokens_max,
        )?;
        let started = Event::AttemptStarted {
            attempt: run.targets.attempts.next_number(),
            target,
            reserved,
            request: run.digest(target, reserved.output, asked.brief),
            context: asked.counters,
            summary: asked.summary,
        };
        self.emit_in(asked.turn, started);
        Ok(())
    }
}
