//! The way of an item, from its plan to its receipt: levels, the items of a level, the attempts at an item.
//!
//! Each of the parts writes down what it has done before the next relies on it, so that `work` can be called
//! again after any crash and goes on where it stood: a level that is sealed is read, an outcome that is written
//! is not made again, and a run that was interrupted is taken up in its copy. Nothing here writes to the tree;
//! the sealer of `publish` alone does.

mod attempt;
mod attempt_copy;
mod guard;
mod item;
mod item_worker;
mod level;
mod queued_attempt;

mod recording;
mod replay;
mod save_point;
mod sent_state;
mod time_spent;

use std::collections::BTreeMap;

use bonded_kernel::RunId;
use bonded_work_rules::RunResult;
use tokio_util::sync::CancellationToken;

use crate::plan::{PlanId, PlanRecord, WorkNews, WorkOrder};
use crate::publish::{CommitPlan, Sealer, WorkError};
use crate::tree::Copies;
use level::{LevelEnd, work_level};

pub use item_worker::ItemWorker;
pub use recording::Recording;
pub use replay::{ReplayComparison, ReplayError, ReplaySource, replay_item};

/// How far a plan came.
#[derive(Debug)]
pub enum WorkEnd {
    /// The results, as the plan has its items.
    Done(Vec<RunResult>),
    /// Calls of these runs wait for a person; the plan goes on when it is resumed.
    Waits(Vec<RunId>),
}

/// Works a plan off. Whoever calls it holds the tree's lock. An error leaves the tree as it was or as the next recovery makes it, and the plan can be resumed.
///
/// What an earlier process left half published is brought to its end first, because the first level would be
/// frozen in the middle of it. The copies go only when all levels are sealed: until then each of them may be
/// needed again.
pub async fn work(order: &WorkOrder<'_>, cancel: &CancellationToken) -> Result<WorkEnd, WorkError> {
    let mut sealer = Sealer::open(order)?;
    if let Some(recovery) = sealer.recover()? {
        (order.watch)(WorkNews::Recovered(&recovery));
    }
    if order.commit {
        // Whether there could be commits at all is known before anything runs.
        CommitPlan::new(&order.root, "", "", 0)?;
    }
    let copies = open_copies(order)?;
    let mut results = BTreeMap::new();
    for (number, items) in order.plan.levels().into_iter().enumerate() {
        match work_level(
            order,
            &copies,
            &mut sealer,
            &results,
            (number, &items),
            cancel,
        )
        .await?
        {
            LevelEnd::Sealed(sealed) => results.extend(sealed),
            LevelEnd::Waits(runs) => return Ok(WorkEnd::Waits(runs)),
        }
    }
    for late in sealer.keep_late_writes()? {
        (order.watch)(WorkNews::Late(&late));
    }
    copies.remove()?;
    let in_order = order.plan.items().iter();
    let in_order = in_order.filter_map(|item| results.remove(&item.id));
    Ok(WorkEnd::Done(in_order.collect()))
}

/// The copies of the plan, with those that a process left that died. What plans have left that have ended goes.
fn open_copies(order: &WorkOrder<'_>) -> Result<Copies, WorkError> {
    let needed = |name: &str| {
        let record = PlanId::new(name).map(|id| PlanRecord::read(&order.workshop, &id));
        matches!(record, Ok(Ok(Some(record))) if !record.has_ended(&order.workshop))
    };
    let all = order.workshop.copies_dir();
    Ok(Copies::open_to_stay(
        &all,
        order.id.as_str(),
        order.isolation,
        &needed,
    )?)
}
