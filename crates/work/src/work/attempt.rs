//! One attempt at an item: somebody is assigned, the run is driven in a copy, and what it left is judged.
//!
//! The order is fixed. The copy is there before somebody is assigned, because the assignment names its
//! directory. The guard is put around the tools before the run begins, so that no call escapes it. The tools
//! are stopped before the copy is judged, so that nothing of theirs writes to it any more.

use std::path::Path;
use std::sync::Arc;

use bonded_host::HostError;
use bonded_kernel::{Entry, ItemOfPlan, Millis, RunId};
use bonded_work_rules::{CallStatus, WorkItem, bind, tool_trace};
use tokio_util::sync::CancellationToken;

use super::attempt_copy::copy_and_run;
use super::guard::{CopyKeeping, Guard, GuardedTools};
use super::queued_attempt::queued_attempt;
use super::save_point::SavePoints;
use super::time_spent::{NOTED_EVERY, TimeSpent};
use crate::plan::{Assignment, AttemptOutcome, EarlierAttempts, Level};
use crate::publish::{Admission, LeftCopy, WorkError};

/// How far an attempt came.
pub(super) enum AttemptEnd {
    Ended(Box<AttemptOutcome>),
    /// A call of its run waits for a person.
    Waits(RunId),
}

/// Drives the item's run in its copy, and decides what it came to.
///
/// A failure of the store or an interrupt is an error and leaves the attempt open, to be taken up again. Every
/// other failure of the driver is the outcome of the attempt.
pub(super) async fn run_attempt(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
    cancel: &CancellationToken,
) -> Result<AttemptEnd, WorkError> {
    if let Some(queue) = level.queue {
        return Box::pin(queued_attempt(level, item, earlier, queue, cancel)).await;
    }
    let started = level.now();
    let (copy, id) = copy_and_run(level, item, earlier).await?;
    let copy = Arc::new(copy);
    let mut assignment = match assign(level, item, earlier, copy.path()) {
        Ok(assignment) => assignment,
        Err(why) => return Ok(failed(why)),
    };
    let stop = cancel.child_token();
    let guard = Arc::new(Guard::new(
        item.clone(),
        ended_ops(&level.logs(&id).await?),
        stop.clone(),
        copy.clone(),
        CopyKeeping::Here(SavePoints::new(level.item_dir(item))),
    ));
    assignment.host.tools = Arc::new(GuardedTools {
        tools: assignment.host.tools.clone(),
        guard: guard.clone(),
        dir: None,
    });
    let config = assignment.goal.config.clone();
    let spent = TimeSpent::read(&level.item_dir(item), &id)?;
    let timing = Timing {
        limit_ms: item.constraints.timeout_ms,
        started,
        spent: &spent,
        stop: stop.clone(),
    };
    let run = assignment.host.run_as(id.clone(), assignment.goal, stop);
    let (driven, is_out_of_time) = Box::pin(timing.of(level, run)).await;
    assignment.tools.stop().await;
    let run = match driven {
        Ok(run) if run.termination().is_none() => return Ok(AttemptEnd::Waits(id)),
        Ok(run) => run,
        Err(error @ (HostError::Store(_) | HostError::Interrupted { .. })) => {
            return Err(error.into());
        }
        Err(error) => return Ok(failed(error.to_string())),
    };
    let admission = Admission {
        level,
        item,
        left: LeftCopy::Here(&copy),
        run: &run,
        mask: assignment.host.secrets.mask_of(run.config()),
        started,
        ended: level.now(),
        spent_before_ms: spent.before_ms,
        is_out_of_time,
        interrupt: assignment.host.interrupt.clone(),
    };
    let outcome = admission.decide(guard.denial(), &config).await?;
    Ok(AttemptEnd::Ended(Box::new(outcome)))
}

/// Somebody who works on the item, held to its limits. An error is why nobody can.
///
/// The limits of the item are put over what the assigner chose. What came of earlier attempts stands at the end
/// of the goal.
pub(super) fn assign(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
    dir: &Path,
) -> Result<Assignment, String> {
    let mut assignment = level.order.assigner.assign(item, dir)?;
    bind(&mut assignment.goal.config, item)?;
    if let Some(message) = earlier.message() {
        let text = format!("{}{message}", assignment.goal.text.as_str());
        assignment.goal.text = text.into();
    }
    assignment.goal.config.item = Some(Box::new(ItemOfPlan {
        plan: level.order.id.to_string(),
        item: item.id.to_string(),
        before_hash: level.before().hash(),
        order: None,
    }));
    Ok(assignment)
}

pub(super) fn failed(why: impl Into<String>) -> AttemptEnd {
    AttemptEnd::Ended(Box::new(AttemptOutcome::failed(why)))
}

/// What the run did before this process took it up counts; a call that is made again counts then.
///
/// Over all logs of the item, those of the agents that it called too.
pub(super) fn ended_ops(logs: &[Vec<Entry>]) -> u64 {
    let calls = logs.iter().flat_map(|log| tool_trace(log));
    let ended = calls.filter(|call| call.status != CallStatus::Pending);
    ended.count() as u64
}

/// Drives a run no longer than the item may take, with what processes before this one took.
struct Timing<'a> {
    limit_ms: u64,
    started: Millis,
    spent: &'a TimeSpent,
    stop: CancellationToken,
}

impl Timing<'_> {
    /// What came of it, and whether it was stopped for its time.
    ///
    /// It wakes up a few times a second to note the time. The run is stopped only for time that was spent
    /// before this process: within one process it has a limit of its own.
    async fn of<T>(&self, level: &Level<'_>, run: impl Future<Output = T>) -> (T, bool) {
        let mut run = std::pin::pin!(run);
        let mut is_out = false;
        loop {
            match tokio::time::timeout(NOTED_EVERY, &mut run).await {
                Ok(ended) => return (ended, is_out),
                Err(_) => {
                    let own_ms = level.now() - self.started;
                    self.spent.note(own_ms);
                    // Within one process the run itself keeps its time.
                    let before_ms = self.spent.before_ms;
                    if before_ms > 0 && before_ms.saturating_add(own_ms) > self.limit_ms {
                        is_out = true;
                        self.stop.cancel();
                    }
                }
            }
        }
    }
}
