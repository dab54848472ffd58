//! What comes out of a step: entries, and what the host must do once they are durable.

use std::sync::Arc;

use super::Invocation;
use super::wave::is_lost;
use crate::entry::{Entry, Head};
use crate::retry::Pick;
use crate::run::{Run, RunPhase, WaitingCall, guard};
use crate::termination::Termination;
use crate::time::Millis;

/// What the host must do now.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send [`crate::request`] of the run.
    Ask {
        /// To be given back with the reply.
        turn: u32,
        /// To be given back with the reply.
        attempt: u32,
    },
    /// Give [`Input::Woke`](super::Input::Woke) in at that time; other inputs may come before.
    Wait {
        /// May lie in the past: then at once.
        until: Millis,
    },
    /// Execute the call. Those that may be executed at the same time are [`beside`] it; what they return is given in one
    /// after the other, in the order of the calls. Calls of [`ClientTools`](crate::ClientTools) are [`handed_out`] instead.
    Invoke(Invocation),
    /// Nothing, until a person says whether the call may be executed: see [`Input::Reviewed`](super::Input::Reviewed).
    Review(WaitingCall),
    /// Nothing: the run has ended.
    Stop(Arc<Termination>),
}

/// Entries to make durable as one append, and the effect that may be performed only then.
#[derive(Debug)]
#[must_use = "a step that is not made durable has not happened"]
pub struct Step {
    pub(super) entries: Arc<[Entry]>,
    pub(super) before: Head,
    pub(super) effect: Effect,
}

/// The head that was shown is not that of the step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the step is not durable: the log ends at entry {found}, the step at entry {expected}")]
pub struct NotDurable {
    /// The sequence number of the last entry of the step.
    pub expected: u64,
    /// That of the head that was shown.
    pub found: u64,
}

impl Step {
    /// Empty where the input changed nothing; the effect may be performed at once then.
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

/// What the host must do now. Total, and a function of the run alone: a restart needs nothing else.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// use bonded_kernel::{Effect, next, replay};
///
/// let (_, step) = start(RunId::new("run-1")?, Millis(0), started);
/// // The process is gone; its log is not.
/// let run = replay(step.entries())?;
/// assert!(matches!(next(&run), Effect::Ask { turn: 1, attempt: 1 }));
/// # Ok(())
/// # }
/// ```
pub fn next(run: &Run) -> Effect {
    match &run.phase {
        RunPhase::Ended(termination) => Effect::Stop(termination.clone()),
        RunPhase::Asking { attempt, .. } => Effect::Ask {
            turn: run.turn,
            attempt: *attempt,
        },
        RunPhase::Acting { calls, at, .. } => {
            match calls.get(*at).filter(|_| run.phase.is_under_way(*at)) {
                Some(call) => Invocation::new(run, *at, call)
                    .map_or_else(|| wake_at_once(run), Effect::Invoke),
                None => run
                    .waiting_call()
                    .map_or_else(|| wake_at_once(run), Effect::Review),
            }
        }
        RunPhase::Retrying | RunPhase::Between => {
            let blocked = guard::blocked_targets(run);
            let fits = |target: usize| !blocked.contains(&target);
            let is_between = matches!(run.phase, RunPhase::Between);
            let rest_until = run.standing.rest_until().filter(|_| is_between);
            let earliest = run.tally.watch.last_at.max(rest_until.unwrap_or_default());
            match run.targets.attempts.pick(earliest, fits) {
                Pick::After(until) => Effect::Wait { until },
                Pick::Now(_) | Pick::Never => Effect::Wait { until: earliest },
            }
        }
    }
}

/// The calls that are under way besides the one that is up, and may be executed at the same time.
pub fn beside(run: &Run) -> Vec<Invocation> {
    let Some((calls, at)) = run.phase.calls() else {
        return vec![];
    };
    let later = calls.iter().enumerate().skip(at + 1);
    let under_way =
        later.filter(|(at, call)| call.refused.is_none() && run.phase.is_under_way(*at));
    let known = under_way.filter(|(at, call)| !is_lost(run, *at, call));
    known
        .filter_map(|(at, call)| Invocation::new(run, at, call))
        .collect()
}

/// The calls that were handed out to whoever asked for the run, and whose results it waits for; none where it does not.
pub fn handed_out(run: &Run) -> Vec<Invocation> {
    if run.config().client_tools.is_none() {
        return vec![];
    }
    let Effect::Invoke(first) = next(run) else {
        return vec![];
    };
    if !run.is_client_tool(first.tool()) {
        return vec![];
    }
    let mut calls = vec![first];
    calls.extend(beside(run));
    calls
}

/// A run stands so after a verdict, and where a log was cut inside a step: waking up goes on. Where the arguments of
/// the call under way are not known any more, taking the run up does.
fn wake_at_once(run: &Run) -> Effect {
    Effect::Wait {
        until: run.tally.watch.last_at,
    }
}
