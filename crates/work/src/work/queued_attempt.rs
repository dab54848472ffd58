//! One attempt at an item that a worker on another machine makes.
//!
//! The ids of its runs follow from plan, item and attempt, so that a process that goes on after another finds the run
//! that was queued and queues none again. The run is followed through its log; what it left comes from the store, and is
//! judged as if it had been left here.

use bonded_host::{Host, Queueing};
use bonded_kernel::{Entry, Event, Hash, Run, RunId, ToolEffect};
use bonded_work_rules::{WorkItem, tool_trace};
use tokio_util::sync::CancellationToken;

use super::attempt::{AttemptEnd, assign, failed};
use super::guard::ListedTools;
use crate::exchange::{CopySeen, Exchange, ItemOrder};
use crate::plan::{Assignment, EarlierAttempts, ItemQueue, Level};
use crate::publish::{Admission, LeftCopy, WorkError};
use crate::tree::Changed;

/// How often an item is begun again because the copies that it had were lost with their workers.
const LOST_MAX: usize = 5;

/// Has the item's run driven by a worker, and decides what it came to.
///
/// A run whose copy is lost is followed by a new one, under the next number, unless it made a call with effects beyond
/// the copy: that is never made again. It is none of the item's retries, since the item did nothing wrong.
pub(super) async fn queued_attempt(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
    queue: (&ItemQueue, Hash),
    cancel: &CancellationToken,
) -> Result<AttemptEnd, WorkError> {
    let (mut last, mut next) = last_run(level, item, earlier).await?;
    loop {
        let is_new = last.is_none();
        let id = last.take().unwrap_or_else(|| {
            next += 1;
            level.order.id.run_of(&item.id, next - 1)
        });
        let driven = match drive(level, item, earlier, queue, (&id, is_new), cancel).await? {
            Ok(driven) => driven,
            Err(why) => return Ok(failed(why)),
        };
        if driven.run.termination().is_none() {
            return Ok(AttemptEnd::Waits(id));
        }
        if let Some(end) = judge(level, item, &driven).await? {
            return Ok(end);
        }
        let logs = level.logs(&id).await?;
        if let Some(tool) = acted_outside(&logs) {
            let why = format!("{LOST}; {tool} was called, which is not done twice");
            return Ok(failed(why));
        }
        if next as usize > earlier.attempts.len() + LOST_MAX {
            return Ok(failed(format!("{LOST}, {LOST_MAX} times")));
        }
    }
}

/// What a run that has ended came to. Nothing where its copy is lost.
async fn judge(
    level: &Level<'_>,
    item: &WorkItem,
    driven: &DrivenElsewhere,
) -> Result<Option<AttemptEnd>, WorkError> {
    let exchange = Exchange::new(level.order.store.clone(), level.order.id.clone());
    let DrivenElsewhere { run, host } = driven;
    let changed = match exchange.left(run.id(), level.before().hash()).await? {
        CopySeen::Changed { changes, git } => Changed { changes, git },
        CopySeen::Unsent { why } => return Ok(Some(failed(why))),
        // It was ended while calls overlapped: by a person, or by a limit of its own.
        CopySeen::UnderWay => Changed::default(),
        CopySeen::Lost => return Ok(None),
    };
    let now = level.now();
    let config = run.config().clone();
    let left = LeftCopy::Sent {
        exchange: &exchange,
        changed,
    };
    let admission = Admission {
        level,
        item,
        left,
        run,
        mask: host.secrets.mask_of(&config),
        // The time in the queue is not the item's; that of its run is in the log.
        started: now,
        ended: now,
        spent_before_ms: 0,
        is_out_of_time: false,
        interrupt: host.interrupt.clone(),
    };
    let outcome = admission.decide(None, &config).await?;
    Ok(Some(AttemptEnd::Ended(Box::new(outcome))))
}

/// Why an item whose copies are lost is not begun again.
const LOST: &str = "The worker that had the item's copy is gone, and the copy with it";

/// A run that a worker has driven as far as it goes, and a host of this process that follows it.
struct DrivenElsewhere {
    run: Run,
    host: Host,
}

/// The last run of the item that has a log, unless its attempt has ended, and the number of the next one.
async fn last_run(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
) -> Result<(Option<RunId>, u32), WorkError> {
    let (mut last, mut number) = (None, 1);
    loop {
        let run = level.order.id.run_of(&item.id, number);
        if level.order.store.head(&run).await?.is_none() {
            break;
        }
        last = Some(run);
        number += 1;
    }
    Ok((last.filter(|last| !earlier.has(last)), number))
}

/// Queues the run, if it is new, and follows it until it has ended or waits for a person. An error within is why nobody
/// can work on the item.
async fn drive(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
    queue: (&ItemQueue, Hash),
    (id, is_new): (&RunId, bool),
    cancel: &CancellationToken,
) -> Result<Result<DrivenElsewhere, String>, WorkError> {
    let order = level.order;
    let host = match is_new {
        false => match assign(level, item, earlier, &level.item_dir(item)) {
            Ok(assignment) => assignment.host,
            Err(why) => return Ok(Err(why)),
        },
        true => {
            // Tools are looked at in a copy: what their servers do there is nobody's change.
            let copies = level.copies;
            let copy = copies.make(order.checkpoints, level.frozen, item.id.as_str())?;
            let assignment = match assign(level, item, earlier, copy.path()) {
                Ok(assignment) => assignment,
                Err(why) => return Ok(Err(why)),
            };
            match submit(level, item, queue, id, assignment).await? {
                Ok(host) => host,
                Err(why) => return Ok(Err(why)),
            }
        }
    };
    let run = Box::pin(host.resume_queued(id, cancel.child_token())).await?;
    Ok(Ok(DrivenElsewhere { run, host }))
}

/// Queues a run under its id. What the worker must know of the item goes before it.
async fn submit(
    level: &Level<'_>,
    item: &WorkItem,
    (queue, tree): (&ItemQueue, Hash),
    id: &RunId,
    assignment: Assignment,
) -> Result<Result<Host, String>, WorkError> {
    let Assignment {
        mut host,
        mut goal,
        tools,
    } = assignment;
    let exchange = Exchange::new(level.order.store.clone(), level.order.id.clone());
    let order = ItemOrder {
        item: item.clone(),
        tree,
    };
    let hash = order.send(&exchange).await?;
    if let Some(item) = &mut goal.config.item {
        item.order = Some(hash);
    }
    let own = host.tools.clone();
    host.tools = std::sync::Arc::new(ListedTools { tools: own });
    let queueing = Queueing {
        queue: queue.name.clone(),
        needs: queue.needs.clone(),
        tools: tools.clone(),
    };
    let queued = host.queue(&queueing, &queue.submitter, id, goal).await;
    tools.stop().await;
    match queued {
        Ok(_) => Ok(Ok(host)),
        Err(bonded_host::HostError::Store(error)) => Err(error.into()),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// A tool with effects beyond the copy that was called, by the run or by the agents that it called.
///
/// What changes nothing but the copy is declared repeatable in the catalogue that a run of an item begins with.
fn acted_outside(logs: &[Vec<Entry>]) -> Option<String> {
    logs.iter().find_map(|log| {
        let Event::RunStarted(started) = &log.first()?.event else {
            return None;
        };
        let catalog = started.catalog()?;
        let acts = |tool: &str| {
            let effect = catalog.spec(tool).map(|spec| spec.effect);
            effect == Some(ToolEffect::Write)
        };
        let trace = tool_trace(log);
        let acted = trace.into_iter().find(|call| acts(&call.name));
        acted.map(|call| call.name)
    })
}
