//! The end of a run.

use super::Stepper;
use crate::event::{Event, Held, RunEnded};
use crate::run::RunPhase;
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;

impl Stepper<'_> {
    /// Ends the run. Whatever is under way is recorded as interrupted first, so that nothing stays open.
    pub(super) fn end(&mut self, kind: TerminationKind, reason: String) {
        self.end_as(Termination::new(kind, reason));
    }

    /// Ends the run with a termination that may have a code.
    pub(super) fn end_as(&mut self, termination: Termination) {
        match self.run.phase {
            RunPhase::Ended(_) => return,
            RunPhase::Asking { .. } => self.interrupt_attempt(),
            RunPhase::Acting { .. } => self.interrupt_calls(),
            RunPhase::Between | RunPhase::Retrying => {}
        }
        let (kind, reason) = (termination.kind, termination.reason());
        if let Some(report) = self.rescued(kind, reason) {
            return self.end_with(&report, TerminationKind::Done);
        }
        let report = self.report_of_limit(kind, reason);
        self.end_quietly(termination, report);
    }

    pub(super) fn end_quietly(&mut self, termination: Termination, report: Option<Text>) {
        let spend = self.run.spend();
        let used_ms = self.used_ms;
        self.emit(Event::RunEnded(Box::new(RunEnded {
            termination,
            turns: self.run.turn,
            usage: spend.usage,
            cost: spend.cost,
            held: match self.run.config().edition.tells_held() {
                true => spend.held,
                false => Held::default(),
            },
            elapsed_ms: used_ms.unwrap_or_else(|| self.run.tally.watch.elapsed_ms(self.now)),
            report,
        })));
    }

    /// What a run has used that is cancelled: whoever drives one lets it use no more than it may, so what is beyond that
    /// is time in which nobody did.
    pub(super) fn used_at_most_ms(&self) -> Option<u64> {
        let config = self.run.config();
        let max = config.limits.elapsed_ms_max;
        let max = max.filter(|_| config.edition.caps_cancelled())?;
        let until_now = self.run.tally.watch.elapsed_ms(self.now);
        Some(until_now.min(max.max(self.run.elapsed_ms())))
    }

    /// Ends a run that did what is not borne. Says whether it did.
    pub(super) fn is_denied(&mut self) -> bool {
        match self.run.standing.denial() {
            Some(termination) => {
                self.end_as(termination);
                true
            }
            None => false,
        }
    }

    pub(super) fn is_stuck(&mut self) -> bool {
        let max = self.run.config().limits.repeats_max;
        match self.run.tally.progress.stuck(max) {
            Some(reason) => {
                self.end(TerminationKind::NoProgress, reason);
                true
            }
            None => false,
        }
    }

    pub(super) fn is_out_of_time(&mut self) -> bool {
        self.end_if_out_of_time();
        self.run.termination().is_some()
    }

    pub(super) fn end_if_out_of_time(&mut self) {
        let Some(max) = self.run.config().limits.elapsed_ms_max else {
            return;
        };
        let elapsed_ms = self.run.tally.watch.elapsed_ms(self.now);
        if elapsed_ms >= max {
            let reason = self.run.pursuit.out_of_time(elapsed_ms, max);
            self.end(TerminationKind::TimedOut, reason);
        }
    }
}
