//! One step: what came from outside goes in, what is to be made durable and then done comes out.

mod ask;
mod end;
mod fork;
mod guard;
mod invoke;
mod looping;
mod own;
mod report;
mod review;

use std::sync::Arc;

use crate::decode::looped::RecordedReply;
use crate::entry::{Entry, Head, Header};
use crate::event::{Event, FORMAT, Outcome, RunStarted};
use crate::id::{GoalId, RunId};
use crate::memory::MemoryEdit;
use crate::model::{Failure, Reply};
use crate::policy::{Verdict, WaitingCall};
use crate::retry::Pick;
use crate::run::{Phase, Run, apply, replay};
use crate::termination::{Termination, TerminationKind};
use crate::time::Millis;

pub use fork::fork;
pub(crate) use guard::exceeded;
pub use invoke::{Invocation, ToolOutput};

/// What came of an effect, or from outside. Unchecked.
#[derive(Clone, Debug)]
pub enum Input {
    /// The reply to the attempt that `turn` and `attempt` name; a late one is ignored.
    Reply {
        turn: u32,
        attempt: u32,
        reply: Box<Reply>,
    },
    Failed {
        turn: u32,
        attempt: u32,
        failure: Box<Failure>,
    },
    /// What the call that `turn` and `call` name returned; a late one is ignored.
    ToolReturned {
        turn: u32,
        call: u32,
        output: Box<ToolOutput>,
    },
    /// What a person said of the call that `turn` and `call` name; ignored where it does not wait.
    Reviewed {
        turn: u32,
        call: u32,
        verdict: Verdict,
        by: String,
    },
    /// A person changed the memory of a run that works in loops.
    MemoryEdited(MemoryEdit),
    /// A reply as a log has it that keeps no replies: only an audit has one.
    Recorded {
        turn: u32,
        attempt: u32,
        reply: Box<RecordedReply>,
    },
    /// What the host must do for the run and cannot; the code is stable.
    HostFailed {
        code: String,
        message: String,
    },
    /// The time of an [`Effect::Wait`] has come.
    Woke,
    /// A process takes the run up that another left: whatever was under way then is not any more.
    Resumed,
    Cancel {
        reason: String,
    },
    /// [`Run::deadline`] has passed.
    DeadlineReached,
    /// The code that drove the run, or a tool, panicked.
    Panicked {
        message: String,
    },
}

/// What the host must do now.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send [`crate::request`] of the run.
    Ask {
        turn: u32,
        attempt: u32,
    },
    Wait {
        until: Millis,
    },
    Invoke(Invocation),
    /// Nothing, until a person says whether the call may be executed: see [`Input::Reviewed`].
    Review(WaitingCall),
    /// Nothing: the run has ended.
    Stop(Arc<Termination>),
}

/// Entries to make durable as one append, and the effect that may be performed only then.
#[derive(Debug)]
#[must_use = "a step that is not made durable has not happened"]
pub struct Step {
    entries: Arc<[Entry]>,
    before: Head,
    effect: Effect,
}

/// The head that was shown is not that of the step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the step is not durable: the log ends at entry {found}, the step at entry {expected}")]
pub struct NotDurable {
    pub expected: u64,
    pub found: u64,
}

impl Step {
    pub fn entries(&self) -> &Arc<[Entry]> {
        &self.entries
    }

    /// The head that the entries follow.
    pub fn before(&self) -> Head {
        self.before
    }

    /// The head once the entries are durable.
    pub fn after(&self) -> Head {
        self.entries.last().map_or(self.before, Entry::head)
    }

    /// Gives the effect out, against the head that the store acknowledged.
    pub fn release(self, durable: Head) -> Result<Effect, NotDurable> {
        let expected = self.after();
        if durable == expected {
            Ok(self.effect)
        } else {
            Err(NotDurable {
                expected: expected.seq,
                found: durable.seq,
            })
        }
    }
}

/// Begins a run: its first step records it and starts the first attempt.
pub fn start(id: RunId, now: Millis, started: RunStarted) -> (Run, Step) {
    let goal = GoalId::of(&started.goal);
    let header = Header {
        format: FORMAT,
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
        now,
        entries: vec![first],
        woke: false,
    };
    stepper.advance();
    let entries = stepper.entries;
    let step = Step {
        entries: entries.into(),
        before: Head::EMPTY,
        effect: next(&run),
    };
    (run, step)
}

/// What the host must do now. Total, and a function of the run alone: a restart needs nothing else.
pub fn next(run: &Run) -> Effect {
    match &run.phase {
        Phase::Ended(termination) => Effect::Stop(termination.clone()),
        Phase::Asking { attempt, .. } => Effect::Ask {
            turn: run.turn,
            attempt: *attempt,
        },
        Phase::Acting { calls, at, invoked } => match calls.get(*at).filter(|_| *invoked) {
            Some(call) => Effect::Invoke(Invocation::new(run, *at, call)),
            None => run
                .waiting_call()
                .map_or_else(|| wake_at_once(run), Effect::Review),
        },
        Phase::Retrying | Phase::Between => {
            let blocked = guard::blocked_targets(run);
            let fits = |target: usize| !blocked.contains(&target);
            let rest_until = match (&run.phase, &run.looping) {
                (Phase::Between, Some(looping)) => looping.rest_until,
                _ => run.watch.last_at,
            };
            match run.attempts.pick(rest_until.max(run.watch.last_at), fits) {
                Pick::After(until) => Effect::Wait { until },
                Pick::Now(_) | Pick::Never => Effect::Wait {
                    until: rest_until.max(run.watch.last_at),
                },
            }
        }
    }
}

/// A run stands so after a verdict, and where a log was cut inside a step: waking up goes on.
fn wake_at_once(run: &Run) -> Effect {
    Effect::Wait {
        until: run.watch.last_at,
    }
}

/// Takes an input in: the run is changed by the entries that the step holds, and by nothing else.
pub fn step(run: &mut Run, now: Millis, input: Input) -> Step {
    let before = run.head;
    // A clock that ran backwards would make the log's times fall.
    let now = now.max(run.watch.last_at);
    let mut stepper = Stepper {
        run,
        now,
        entries: vec![],
        woke: matches!(input, Input::Woke),
    };
    if stepper.run.termination().is_none() {
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
    now: Millis,
    entries: Vec<Entry>,
    /// Whether the time that the run waited for has come.
    woke: bool,
}

impl Stepper<'_> {
    fn emit(&mut self, event: Event) {
        self.emit_in(self.run.turn, event);
    }

    fn emit_in(&mut self, turn: u32, event: Event) {
        let header = Header {
            format: FORMAT,
            run: self.run.id.clone(),
            goal: self.run.goal_id.clone(),
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
            | Input::Recorded { .. }
            | Input::Failed { .. }
            | Input::ToolReturned { .. } => {}
            Input::MemoryEdited(edit) => self.memory_edited(edit),
            Input::HostFailed { code, message } => {
                let termination = Termination::new(TerminationKind::Fatal, message);
                self.end_as(termination.with_code(&code));
            }
            Input::Reviewed {
                turn,
                call,
                verdict,
                by,
            } => self.reviewed(turn, call, verdict, by),
            Input::Woke => self.advance(),
            Input::Resumed => self.resumed(),
            Input::Cancel { reason } => self.end(TerminationKind::Cancelled, reason),
            Input::DeadlineReached => self.end_if_out_of_time(),
            Input::Panicked { message } => {
                self.end(TerminationKind::Fatal, format!("panic: {message}"));
            }
        }
    }

    fn is_asking(&self, turn: u32, attempt: u32) -> bool {
        matches!(self.run.phase, Phase::Asking { attempt: current, .. } if current == attempt)
            && self.run.turn == turn
    }

    fn is_acting(&self, turn: u32, call: u32) -> bool {
        matches!(self.run.phase, Phase::Acting { at, invoked: true, .. } if at == call as usize)
            && self.run.turn == turn
    }

    /// Goes on from wherever the run stands until an effect is needed.
    fn advance(&mut self) {
        if self.is_denied() || self.is_stuck() || self.is_out_of_time() {
            return;
        }
        match &self.run.phase {
            Phase::Acting { invoked: false, .. } => self.invoke(),
            Phase::Between => self.begin_turn(),
            Phase::Retrying => self.retry(),
            Phase::Acting { .. } | Phase::Asking { .. } | Phase::Ended(_) => {}
        }
    }

    fn resumed(&mut self) {
        self.emit(Event::RunResumed {});
        match &self.run.phase {
            Phase::Asking { .. } => {
                self.interrupt_attempt();
                self.advance();
            }
            Phase::Acting {
                calls,
                at,
                invoked: true,
            } => {
                let may_repeat = calls
                    .get(*at)
                    .and_then(|call| self.run.catalog.spec(&call.tool))
                    .is_some_and(|spec| spec.effect.may_repeat());
                if !may_repeat {
                    self.interrupt_call(Outcome::Interrupted);
                    self.advance();
                }
            }
            _ => self.advance(),
        }
    }
}
