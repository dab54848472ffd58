//! One step: what came from outside goes in, what is to be made durable and then done comes out.
//!
//! A step goes on until something is needed from outside. Each event that it makes is applied at once, so that the next
//! decision is made from the state that a replay would have. The host makes the entries durable, and only then is it given the
//! effect: what was done and is not in the log cannot happen.

mod ask;
mod attempt;
mod effect;
mod end;
mod fork;
mod guard;
mod input;
mod invoke;
mod masked;
mod own;
mod report;
mod review;
mod summary;
mod wave;

use crate::entry::{Entry, Head, Header};
use crate::event::{Event, FORMAT, GoalGiven, RunStarted};
use crate::id::{GoalId, RunId};
use crate::run::{Run, RunPhase, apply, replay};
use crate::termination::{Termination, TerminationKind};
use crate::time::Millis;

pub use effect::{Effect, NotDurable, Step, beside, handed_out, next};
pub use fork::fork;
pub use input::Input;
pub use invoke::Invocation;

/// Begins a run: its first step records it and starts the first attempt.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// let (run, step) = start(RunId::new("run-1")?, Millis(0), started);
/// let kinds: Vec<&str> = step.entries().iter().map(|it| it.event.kind()).collect();
/// assert_eq!(kinds, ["run_started", "attempt_started"]);
/// assert_eq!(step.after(), run.head());
/// # Ok(())
/// # }
/// ```
pub fn start(id: RunId, now: Millis, started: RunStarted) -> (Run, Step) {
    start_as(FORMAT, id, now, started)
}

/// Begins a run as a build of that format does. The hashes of its entries have the format in them, and the time for which
/// a run waits has a hash in it.
pub(crate) fn start_as(format: u16, id: RunId, now: Millis, started: RunStarted) -> (Run, Step) {
    let (goal, is_queued) = (GoalId::of(&started.goal), started.queued);
    let header = Header {
        format,
        run: id,
        goal,
        seq: 1,
        at: now,
        turn: 0,
        prev: Head::EMPTY.hash,
    };
    let first = Entry::seal(header, Event::RunStarted(Box::new(started)));
    let mut run = replay(std::slice::from_ref(&first))
        .expect("an entry that was just sealed as run_started begins a log");
    let mut stepper = Stepper {
        run: &mut run,
        format,
        now,
        entries: vec![first],
        woke: false,
        used_ms: None,
    };
    if !is_queued {
        stepper.advance();
    }
    let entries = stepper.entries;
    let step = Step {
        entries: entries.into(),
        before: Head::EMPTY,
        effect: next(&run),
    };
    (run, step)
}

/// Takes an input in: the run is changed by the entries that the step holds, and by nothing else.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// use bonded_kernel::{Effect, Failure, FailureClass, Input, step};
///
/// let (mut run, _first) = start(RunId::new("run-1")?, Millis(0), started);
/// let failure = Failure::new(FailureClass::Network, "connection refused");
/// let failed = Input::Failed { turn: 1, attempt: 1, failure: Box::new(failure) };
/// let step = step(&mut run, Millis(10), failed);
/// assert_eq!(step.entries().len(), 1);
///
/// // The target is left alone for a while: the host is told until when.
/// let durable = step.after();
/// let Effect::Wait { until } = step.release(durable)? else {
///     unreachable!("the only target has just failed");
/// };
/// assert!(until > Millis(10));
/// # Ok(())
/// # }
/// ```
pub fn step(run: &mut Run, now: Millis, input: Input) -> Step {
    step_as(FORMAT, run, now, input)
}

/// Takes an input in as a build of that format does: see [`start_as`].
pub(crate) fn step_as(format: u16, run: &mut Run, now: Millis, input: Input) -> Step {
    let before = run.head;
    // A clock that ran backwards would make the log's times fall.
    let now = now.max(run.tally.watch.last_at);
    let mut stepper = Stepper {
        run,
        format,
        now,
        entries: vec![],
        woke: matches!(input, Input::Woke),
        used_ms: None,
    };
    if let Input::Goal(given) = input {
        stepper.pursue(given);
    } else if stepper.run.termination().is_none() {
        stepper.take(input);
    }
    let entries = stepper.entries;
    Step {
        entries: entries.into(),
        before,
        effect: next(run),
    }
}

/// A step in the making: emits events and applies each at once.
struct Stepper<'a> {
    run: &'a mut Run,
    format: u16,
    now: Millis,
    entries: Vec<Entry>,
    /// Whether the time that the run waited for has come.
    woke: bool,
    /// The time that the run has used, where it did not use that up to now.
    used_ms: Option<u64>,
}

impl Stepper<'_> {
    fn emit(&mut self, event: Event) {
        self.emit_in(self.run.turn, event);
    }

    fn emit_in(&mut self, turn: u32, event: Event) {
        let header = Header {
            format: self.format,
            run: self.run.setup.id.clone(),
            goal: self.run.setup.goal_id.clone(),
            seq: self.run.head.seq + 1,
            at: self.now,
            turn,
            prev: self.run.head.hash,
        };
        let entry = Entry::seal(header, event);
        apply(self.run, &entry);
        self.entries.push(entry);
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Reply {
                turn,
                attempt,
                reply,
            } if self.is_asking(turn, attempt) => self.replied(*reply),
            Input::SecretReply {
                turn,
                attempt,
                reply,
                mask,
            } if self.is_asking(turn, attempt) => self.replied_with_secrets(*reply, &mask),
            Input::Failed {
                turn,
                attempt,
                failure,
            } if self.is_asking(turn, attempt) => self.failed(*failure),
            Input::ToolReturned { turn, call, output } if self.is_acting(turn, call) => {
                self.returned(call, *output);
            }
            Input::Recorded {
                turn,
                attempt,
                reply,
            } if self.is_asking(turn, attempt) => self.replied_as(*reply),
            Input::Reply { .. }
            | Input::SecretReply { .. }
            | Input::Recorded { .. }
            | Input::Failed { .. }
            | Input::ToolReturned { .. } => {}
            // What a person changed in the memory is taken in at any time, and seen by the next turn.
            Input::MemoryEdited(edit) if self.run.memory().is_some() && !edit.is_empty() => {
                self.emit(Event::MemoryEdited(Box::new(edit)));
            }
            Input::MemoryEdited(_) | Input::Goal(_) => {}
            Input::Said { text } if self.run.hears() && !text.trim().is_empty() => {
                self.emit(Event::PersonSpoke { text });
            }
            Input::Said { .. } => {}
            Input::HostFailed { code, message } => {
                let termination = Termination::new(TerminationKind::Fatal, message);
                self.end_as(termination.with_code(&code));
            }
            Input::Reviewed {
                turn,
                call,
                digest,
                verdict,
                by,
            } => self.reviewed((turn, call), digest, verdict, by),
            Input::Woke => self.advance(),
            Input::Resumed => self.resumed(),
            Input::Cancel { reason } => {
                self.used_ms = self.used_at_most_ms();
                self.end(TerminationKind::Cancelled, reason);
            }
            Input::CancelLeft { reason } => {
                self.used_ms = Some(self.run.elapsed_ms());
                self.end(TerminationKind::Cancelled, reason);
            }
            Input::DeadlineReached => self.end_if_out_of_time(),
            Input::Panicked { message } => {
                self.end(TerminationKind::Fatal, format!("panic: {message}"));
            }
        }
    }

    fn is_asking(&self, turn: u32, attempt: u32) -> bool {
        matches!(self.run.phase, RunPhase::Asking { attempt: current, .. } if current == attempt)
            && self.run.turn == turn
    }

    fn is_acting(&self, turn: u32, call: u32) -> bool {
        let is_up = matches!(self.run.phase, RunPhase::Acting { at, .. } if at == call as usize);
        is_up && self.run.phase.is_under_way(call as usize) && self.run.turn == turn
    }

    /// Goes on from wherever the run stands until an effect is needed.
    fn advance(&mut self) {
        if self.run.phase.has_calls_under_way() {
            // Nothing else is decided while others are at work: it might end the run.
            if !self.is_out_of_time() {
                self.pass_lost();
            }
            return;
        }
        if self.is_denied() || self.is_stuck() || self.is_out_of_time() {
            return;
        }
        match &self.run.phase {
            RunPhase::Acting { .. } => self.invoke(),
            RunPhase::Between => self.begin_turn(),
            RunPhase::Retrying => self.retry(),
            RunPhase::Asking { .. } | RunPhase::Ended(_) => {}
        }
    }

    /// Goes on from the end with another goal.
    fn pursue(&mut self, given: Box<GoalGiven>) {
        if self.run.takes(&given).is_ok() {
            self.emit(Event::GoalGiven(given));
            self.advance();
        }
    }

    fn resumed(&mut self) {
        self.emit(Event::RunResumed {});
        if self.run.phase.asked().is_some() {
            self.interrupt_attempt();
        }
        self.advance();
    }
}
