//! The asking phase: attempts, replies, failures.

use super::Stepper;
use super::attempt::AttemptStart;
use crate::budget::Exhausted;
use crate::check::Decoding;
use crate::config::{Target, Window, WindowSource};
use crate::decode::looped::RecordedReply;
use crate::decode::{self, Decoded, Rejected};
use crate::event::{Answer, AttemptFailed, Event};
use crate::lesson::Lesson;
use crate::model::{Failure, FailureClass, Overflow, Reply};
use crate::money::Money;
use crate::profile::Begin;
use crate::retry::Pick;
use crate::run::guard::Guarded;
use crate::termination::TerminationKind;
use crate::text::Text;

impl Stepper<'_> {
    pub(super) fn begin_turn(&mut self) {
        if let Some(why) = self.run.setup.started.refused.clone() {
            return self.end(TerminationKind::Fatal, why.to_string());
        }
        let run = &*self.run;
        match run
            .standing
            .begins(run.turn, run.last_turn.turn, self.now, self.woke)
        {
            Begin::Now => {}
            Begin::Later => return,
            Begin::End(termination) => return self.end_as(termination),
        }
        if self.run.goes_on_in_last_turn() {
            self.begin_attempt(self.run.turn);
        } else if self.run.turn >= self.run.last_turn.turn {
            self.end_without_report(None);
        } else {
            self.begin_attempt(self.run.turn + 1);
        }
    }

    pub(super) fn retry(&mut self) {
        let (run, max) = (&*self.run, self.run.config().limits.attempts_per_turn_max);
        let counted = run.targets.attempts.counted();
        if let Some(termination) = run.standing.gives_up(&run.targets.attempts, max) {
            self.emit(Event::TurnFailed {
                attempts: counted,
                reason: termination.reason().clone(),
            });
            return self.end_as(termination);
        }
        if run.standing.has_repeated_prose() {
            return self.end_without_report(None);
        }
        if counted < max {
            return self.begin_attempt(self.run.turn);
        }
        let fault = self.run.targets.attempts.fault().cloned();
        let ends = self.run.ends_with_its_providers();
        self.emit(Event::TurnFailed {
            attempts: counted,
            reason: format!("{counted} attempts were used without a usable reply").into(),
        });
        match fault {
            // What the model wrote may be better in the next turn; a provider that fails fails there too.
            Some(fault) if ends => {
                if self.run.is_last(self.run.turn) {
                    self.end_without_report(Some(&fault));
                } else {
                    self.end(TerminationKind::Fatal, fault.to_string());
                }
            }
            _ => self.advance(),
        }
    }

    /// Starts an attempt if a target is free now; else the run waits for one.
    fn begin_attempt(&mut self, turn: u32) {
        if self.asks_for_summary(turn) {
            return;
        }
        let guard = self.preflight(turn);
        if let Some(termination) = self.run.profile().overflow()
            && !(0..self.run.config().targets.len()).any(|it| guard.fits(it))
        {
            return self.end_as(termination);
        }
        if let Some(reason) = self.too_small(&guard) {
            return self.no_window_takes_it(reason);
        }
        let target = match self
            .run
            .targets
            .attempts
            .pick(self.now, |target| guard.fits(target))
        {
            Pick::Now(target) => target,
            Pick::After(_) => return,
            Pick::Never => return self.no_target_takes_it(turn),
        };
        let begun = self.start_attempt(AttemptStart {
            turn,
            target,
            brief: &guard.brief,
            reply_tokens_max: guard.reply_room(target),
            counters: guard.counters(target),
            summary: None,
        });
        if let Err(exhausted) = begun {
            let reason = self.run.pursuit.out_of_budget(&exhausted);
            self.end(TerminationKind::BudgetExhausted, reason);
        }
    }

    /// Ends a run whose request no target takes: too large for its window, or refused and not to be changed by asking.
    fn no_target_takes_it(&mut self, turn: u32) {
        const TOO_LARGE: &str = "the request is larger than the window of every target";
        let backs_off = self.run.config().edition.backs_off();
        let refused = self
            .run
            .targets
            .attempts
            .fault()
            .filter(|_| backs_off)
            .cloned();
        let overflowed = self.run.targets.attempts.some_overflowed();
        let reason = match refused {
            Some(fault) if !overflowed => fault,
            Some(fault) => format!("{TOO_LARGE}: {fault}").into(),
            None => TOO_LARGE.into(),
        };
        let reports = self.run.is_last(turn) || backs_off && overflowed;
        self.end_unsent(&reason, reports);
    }

    /// Why a request is not worth sending, if no window could take it even with half of its tokens.
    fn too_small(&self, guard: &Guarded) -> Option<String> {
        // In a window that a person set the last turn is tried all the same.
        let is_found = |it: &Target| {
            matches!(
                it.window_source,
                Some(WindowSource::Asked | WindowSource::Learned)
            )
        };
        let applies = self.run.config().edition.learns_windows()
            && self.run.converses()
            && self.run.targets().all(is_found);
        let (target, projected) = guard.hopeless().filter(|_| applies)?;
        let target = self.run.target(target)?;
        let window = target.window?.tokens;
        Some(format!(
            "about {projected} tokens would have to be sent, and the window of {}/{} has {window}",
            target.provider, target.model
        ))
    }

    /// Ends a run whose request cannot be made to fit, with the words of the provider that refused it, if one did.
    fn no_window_takes_it(&mut self, reason: String) {
        let fault = self.run.targets.attempts.fault();
        let reason = match fault {
            Some(fault) => format!("{reason}: {fault}"),
            None => reason,
        };
        self.end_unsent(&reason.into(), true);
    }

    /// Ends a run whose request is not sent: with a report where it has one to give and can.
    fn end_unsent(&mut self, reason: &Text, can_report: bool) {
        match self.run.profile().conduct().reports && can_report {
            true => self.end_without_report(Some(reason)),
            false => self.end(TerminationKind::Fatal, reason.to_string()),
        }
    }

    pub(super) fn replied(&mut self, reply: Reply) {
        if let Some(until) = self.run.is_summing_up() {
            let answer = self.answer_of(reply);
            return self.summary_came(answer, until);
        }
        let decoded = self.decode(reply);
        self.decoded(decoded);
    }

    /// What is kept of a reply besides its calls.
    pub(super) fn answer_of(&self, reply: Reply) -> Answer {
        decode::answer_of(reply, self.asked_model())
    }

    /// The model of the request under way.
    fn asked_model(&self) -> &str {
        let target = self.run.phase.asked();
        let target = target.and_then(|it| self.run.config().targets.get(it as usize));
        target.map_or("", |target| &target.model)
    }

    pub(super) fn decode(&self, reply: Reply) -> Result<Decoded, Rejected> {
        let last = self.run.is_last(self.run.turn);
        decode::decode(reply, &self.decoding(last, self.asked_model()))
    }

    fn decoding<'a>(&'a self, last: bool, model: &'a str) -> Decoding<'a> {
        Decoding {
            config: self.run.config(),
            writing: self.run.profile().writing(),
            catalog: &self.run.setup.catalog,
            turn: self.run.turn,
            last,
            model,
        }
    }

    /// What a log has of a reply that it does not keep.
    pub(super) fn replied_as(&mut self, recorded: RecordedReply) {
        if let Some(until) = self.run.is_summing_up() {
            return self.summary_came(recorded.answer, until);
        }
        if recorded.answer.masked {
            return self.replied_with_names(recorded);
        }
        if let Some(decoded) = decode::decode_recorded(recorded, &self.decoding(false, "")) {
            self.decoded(decoded);
        }
    }

    fn decoded(&mut self, decoded: Result<Decoded, Rejected>) {
        self.emit_decoded(decoded);
        self.advance();
    }

    pub(super) fn emit_decoded(&mut self, decoded: Result<Decoded, Rejected>) {
        match decoded {
            Ok(decoded) => {
                self.emit(Event::DecisionMade(Box::new(decoded.decision)));
                decoded.repairs.into_iter().for_each(|it| self.emit(it));
            }
            Err(rejected) => self.emit(Event::ReplyRejected {
                reason: rejected.reason,
                answer: rejected.answer,
                calls: rejected.calls,
            }),
        }
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        // Only the kernel says that an attempt was interrupted: such attempts are not counted.
        let class = match failure.class == FailureClass::Interrupted {
            true => FailureClass::Network,
            false => failure.class,
        };
        // What could not be read may be what the model wrote.
        let is_withheld = class == FailureClass::Malformed && !self.run.keeps_text();
        let message = match is_withheld {
            true => "the provider's answer could not be read".to_owned(),
            false => failure.message,
        };
        let learned = match class == FailureClass::Overflow {
            true => self.window_lesson(failure.overflow),
            false => self.lesson(class, failure.status, &message),
        };
        self.emit(Event::AttemptFailed(Box::new(AttemptFailed {
            class,
            message: message.as_str().into(),
            status: failure.status,
            retry_after_ms: failure.retry_after_ms,
            request_id: failure.request_id.map(Into::into),
            latency_ms: failure.latency_ms,
            billable: failure.billable,
            overflow: failure.overflow,
        })));
        if let Some((target, lesson)) = learned {
            let lesson = Box::new(lesson);
            self.emit(Event::TargetLearned { target, lesson });
        }
        if matches!(class, FailureClass::Auth | FailureClass::Quota) {
            let reason = format!("{}: {message}", class.as_str());
            return self.end_as(self.run.profile().refused_for_good(reason));
        }
        self.advance();
    }

    /// What a refusal teaches about the target that was asked, if it says what it does not take.
    fn lesson(
        &self,
        class: FailureClass,
        status: Option<u16>,
        message: &str,
    ) -> Option<(u32, Lesson)> {
        let index = self.run.phase.asked()?;
        let status = status.filter(|_| class == FailureClass::Model)?;
        let target = self.run.target(index)?;
        let temperature = target.sampling.temperature;
        let temperature = temperature.or(self.run.config().temperature);
        let edition = self.run.config().edition;
        let lesson = Lesson::of(message, target, temperature, edition)?;
        if !lesson.is_taught_by(status) {
            return None;
        }
        let is_new = self.run.targets.lessons.takes(index, &lesson);
        is_new.then_some((index, lesson))
    }

    /// What a refusal for its size teaches, where no other target can take the request: then room is made for this one.
    fn window_lesson(&self, overflow: Option<Overflow>) -> Option<(u32, Lesson)> {
        let index = self.run.phase.asked()?;
        let learns = self.run.config().edition.learns_windows() && self.run.converses();
        let reported = overflow.filter(|_| learns && !self.run.targets.attempts.has_others())?;
        let tokens = Window::plausible(reported.window?)?;
        let known = self.run.target(index)?.window;
        let lesson = Lesson::Window {
            tokens: known.map_or(tokens, |known| tokens.min(known.tokens)),
            sent: reported.sent.and_then(Window::plausible),
        };
        let is_new = self.run.targets.lessons.takes(index, &lesson);
        is_new.then_some((index, lesson))
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
            overflow: None,
        })));
    }
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tokens {
                spent,
                held: 0,
                max,
            } => write!(
                f,
                "{spent} of {max} tokens are used, and another request could need more than the rest"
            ),
            Self::Tokens { spent, held, max } => write!(
                f,
                "{} of {max} tokens are used and {held} are held for requests that nobody counted, and another request \
                 could need more than the rest",
                spent.saturating_sub(*held)
            ),
            Self::Cost {
                spent,
                held: Money(0),
                max,
            } => write!(
                f,
                "{spent} of {max} are spent, and another request could cost more than the rest"
            ),
            Self::Cost { spent, held, max } => write!(
                f,
                "{} of {max} are spent and {held} are held for requests that nobody counted, and another request could \
                 cost more than the rest",
                spent.minus(*held)
            ),
        }
    }
}
