//! The turns of a run that works in loops: when one begins, what the kernel itself carries out, what ends the run.

use super::Stepper;
use crate::event::{Call, Event, Outcome, RejectReason, ToolFinished};
use crate::looping::{
    CONTEXT_OVERFLOW, LLM_TIMEOUT, LLM_UNAVAILABLE, LoopOp, RATE_LIMITED, REPAIRS_MAX, RETRIES_MAX,
    XML_PARSE_ERROR,
};
use crate::memory::MemoryEdit;
use crate::model::FailureClass;
use crate::termination::{Termination, TerminationKind};

impl Stepper<'_> {
    /// Ends a run whose work is done, whose turns are used up, or that went beyond its scope; else lets it rest
    /// before its next turn. Says whether the turn does not begin now.
    pub(super) fn ends_or_rests(&mut self) -> bool {
        let Some(looping) = &self.run.looping else {
            return false;
        };
        if self.run.turn == 0 {
            return false;
        }
        if looping.memory.is_idle() && looping.memory.has_no_steps() {
            let reason = format!("idle with no steps left after {} loops", self.run.turn);
            self.end(TerminationKind::Done, reason);
            return true;
        }
        if self.run.turn >= self.run.last_turn {
            let reason = format!("{} loops were used and work is left", self.run.turn);
            self.end(TerminationKind::TurnsExhausted, reason);
            return true;
        }
        // The host takes in what a person changed while the run rests, however short that is.
        !self.woke || self.now < looping.rest_until
    }

    /// Ends a run that went beyond its scope where that is not borne.
    pub(super) fn is_denied(&mut self) -> bool {
        let violation = self
            .run
            .looping
            .as_ref()
            .and_then(|it| it.violation.clone());
        let Some(code) = violation else {
            return false;
        };
        let reason = format!("{code}: a call went beyond the scope of the run");
        let termination = Termination::new(TerminationKind::Denied, reason).with_code(&code);
        self.end_as(termination);
        true
    }

    /// Carries out an instruction that changes the memory.
    pub(super) fn remember(&mut self, at: usize, call: &Call, op: LoopOp) {
        let (Some(looping), Some(rules)) = (&self.run.looping, self.run.loop_rules(at)) else {
            return;
        };
        let mut tried = looping.memory.clone();
        let (outcome, text, code) = match op.perform(&mut tried, &call.arguments, rules) {
            Ok(told) => (Outcome::Ok, told.to_owned(), None),
            Err(fault) => (
                Outcome::Failed,
                format!("(tool failed: {fault})"),
                fault.code(),
            ),
        };
        let tool = call.tool.clone();
        let mut finished = ToolFinished::unexecuted(at as u32, tool, outcome, text.into());
        finished.code = code.map(Into::into);
        self.emit(Event::ToolFinished(Box::new(finished)));
        self.advance();
    }

    /// What a person changed in the memory is taken in at any time, and seen by the next turn.
    pub(super) fn memory_edited(&mut self, edit: MemoryEdit) {
        if self.run.is_looping() && !edit.is_empty() {
            self.emit(Event::MemoryEdited(Box::new(edit)));
        }
    }

    /// Ends a run whose turn came to nothing as often as it may. Says whether it did.
    pub(super) fn gives_up(&mut self) -> bool {
        let Some(looping) = &self.run.looping else {
            return false;
        };
        let attempts = &self.run.attempts;
        let counted = attempts.counted();
        let may_go_on = attempts.rejections() <= REPAIRS_MAX
            && attempts.failures() <= RETRIES_MAX
            && counted < self.run.config().limits.attempts_per_turn_max;
        if may_go_on {
            return false;
        }
        let (code, reason) = match (attempts.fault(), attempts.failed_as()) {
            (None, _) if looping.rejected == Some(RejectReason::Filtered) => {
                (LLM_UNAVAILABLE, "replies were withheld")
            }
            (None, _) => (XML_PARSE_ERROR, "replies could not be read"),
            (_, Some(FailureClass::Timeout)) => {
                (LLM_TIMEOUT, "the provider did not answer in time")
            }
            (_, Some(FailureClass::RateLimit)) => (RATE_LIMITED, "the provider limits its rate"),
            _ => (LLM_UNAVAILABLE, "the provider failed"),
        };
        let fault = attempts.fault().map(|fault| format!(": {fault}"));
        let reason = format!(
            "{code}: {reason} in {counted} attempts{}",
            fault.unwrap_or_default()
        );
        self.emit(Event::TurnFailed {
            attempts: counted,
            reason: reason.as_str().into(),
        });
        let termination = Termination::new(TerminationKind::Fatal, reason).with_code(code);
        self.end_as(termination);
        true
    }

    /// Ends a run whose request no model can take in.
    pub(super) fn overflows(&mut self) {
        let reason = "the prompt, the memory and the request together are larger than the window of every target: \
             shorten the prompt or the memory";
        let termination = Termination::new(TerminationKind::Fatal, reason);
        self.end_as(termination.with_code(CONTEXT_OVERFLOW));
    }

    /// Ends a run that a provider refuses for good.
    pub(super) fn refused_for_good(&mut self, reason: String) {
        let termination = Termination::new(TerminationKind::Fatal, reason);
        match self.run.is_looping() {
            true => self.end_as(termination.with_code(LLM_UNAVAILABLE)),
            false => self.end_as(termination),
        }
    }
}
