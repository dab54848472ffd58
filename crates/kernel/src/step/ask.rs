//! The asking phase: attempts, replies, failures.

use super::Stepper;
use crate::budget::Exhausted;
use crate::decode;
use crate::event::{AttemptFailed, Event};
use crate::model::{Failure, FailureClass, Reply};
use crate::prompt;
use crate::retry::Pick;
use crate::run::Phase;
use crate::termination::TerminationKind;

impl Stepper<'_> {
    pub(super) fn begin_turn(&mut self) {
        let max = self.run.config().limits.turns_max;
        if self.run.turn >= max {
            let reason = format!("{max} turns were used without a call of done");
            self.end(TerminationKind::TurnsExhausted, reason);
        } else {
            self.begin_attempt(self.run.turn + 1);
        }
    }

    pub(super) fn retry(&mut self) {
        let counted = self.run.attempts.counted();
        if counted >= self.run.config().limits.attempts_per_turn_max {
            self.emit(Event::TurnFailed {
                attempts: counted,
                reason: format!("{counted} attempts were used without a usable reply").into(),
            });
            self.advance();
        } else {
            self.begin_attempt(self.run.turn);
        }
    }

    /// Starts an attempt if a target is free now; else the run waits for one.
    fn begin_attempt(&mut self, turn: u32) {
        let target = match self.run.attempts.pick(self.now) {
            Pick::Now(target) => target,
            Pick::After(_) => return,
            Pick::Never => {
                let reason = "the request is larger than the window of every target".to_owned();
                return self.end(TerminationKind::Fatal, reason);
            }
        };
        let mut notices = self.run.notices.clone();
        let is_last = turn == self.run.config().limits.turns_max;
        if is_last && notices.iter().all(|n| &**n != prompt::LAST_TURN) {
            notices.push(prompt::LAST_TURN.into());
        }
        let notices_bytes = notices.iter().map(|notice| notice.len() as u64).sum();
        match self
            .run
            .ledger
            .reserve(self.run.config(), target, notices_bytes)
        {
            Ok(reserved) => {
                let request = prompt::digest(self.run, target, reserved.output, &notices);
                let attempt = self.run.attempts.next_number();
                self.emit_in(
                    turn,
                    Event::AttemptStarted {
                        attempt,
                        target,
                        reserved,
                        request,
                    },
                );
            }
            Err(exhausted) => self.end(TerminationKind::BudgetExhausted, exhausted.to_string()),
        }
    }

    pub(super) fn replied(&mut self, reply: Reply) {
        let config = self.run.config();
        let model = match self.run.phase {
            Phase::Asking { target, .. } => config.targets.get(target as usize),
            _ => None,
        };
        let model = model.map_or("", |target| &target.model);
        match decode::decode(
            reply,
            &self.run.catalog,
            &config.limits,
            self.run.turn,
            model,
        ) {
            Ok(decision) => self.emit(Event::DecisionMade(Box::new(decision))),
            Err(rejected) => self.emit(Event::ReplyRejected {
                reason: rejected.reason,
                answer: rejected.answer,
            }),
        }
        self.advance();
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        // Only the kernel says that an attempt was interrupted: such attempts are not counted.
        let class = match failure.class {
            FailureClass::Interrupted => FailureClass::Network,
            class => class,
        };
        let message = failure.message.clone();
        self.emit(Event::AttemptFailed(Box::new(AttemptFailed {
            class,
            message: failure.message.into(),
            status: failure.status,
            retry_after_ms: failure.retry_after_ms,
            request_id: failure.request_id.map(Into::into),
            latency_ms: failure.latency_ms,
            billable: failure.billable,
        })));
        match class {
            FailureClass::Auth | FailureClass::Quota => {
                let reason = format!("{}: {message}", class.as_str());
                self.end(TerminationKind::Fatal, reason);
            }
            _ => self.advance(),
        }
    }

    /// Books an attempt that will get no answer any more. The provider may bill it.
    pub(super) fn interrupt_attempt(&mut self) {
        self.emit(Event::AttemptFailed(Box::new(AttemptFailed {
            class: FailureClass::Interrupted,
            message: "the request was under way when the run was stopped".into(),
            status: None,
            retry_after_ms: None,
            request_id: None,
            latency_ms: 0,
            billable: true,
        })));
    }
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tokens { spent, max } => write!(
                f,
                "{spent} of {max} tokens are used, and another request could need more than the rest"
            ),
            Self::Cost { spent, max } => write!(
                f,
                "{spent} of {max} are spent, and another request could cost more than the rest"
            ),
        }
    }
}
