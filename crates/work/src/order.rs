//! A plan, worked off level by level.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bonded_kernel::{Hash, RunId};
use bonded_state::Store;
use bonded_work_rules::{ItemId, RunResult, TreePath, WorkItem, WorkPlan, WorkStatus};
use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::error::WorkError;
use super::history::History;
use super::item::{Worked, work_item};
use super::late::Late;
use super::level::Level;
use super::outcome::Outcome;
use super::plan_id::PlanId;
use super::plan_record::PlanRecord;
use super::publish::{CommitPlan, Writers};
use super::recover::Recovered;
use super::seal::Sealer;
use super::staff::Staff;
use super::tree::{Checkpoints, Copies, Isolation};
use super::workshop::Workshop;
use bonded_host::Clock;
use bonded_host::Confinement;

/// What is to be worked off, on what, by whom.
pub struct WorkOrder<'a> {
    pub id: PlanId,
    /// The tree's root, absolute and without links.
    pub root: PathBuf,
    pub plan: WorkPlan,
    pub workshop: Workshop,
    pub checkpoints: &'a Checkpoints,
    /// For the scripts that replay items.
    pub program: PathBuf,
    pub store_file: PathBuf,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub staff: &'a dyn Staff,
    pub confinement: Confinement,
    pub isolation: Isolation,
    /// Who has files of the tree open.
    pub writers: &'a dyn Writers,
    /// How many items of a level at a time.
    pub jobs: usize,
    /// Whether each item that succeeds becomes a git commit.
    pub commit: bool,
    /// Whether what was admitted before is admitted again.
    pub again: bool,
    /// Dependencies of other plans that were not ready in time.
    pub missing: BTreeSet<ItemId>,
    /// Cancelled where the process is about to end: the plan can be resumed.
    pub interrupt: CancellationToken,
    /// Told what happens, as it happens.
    pub watch: &'a (dyn Fn(WorkNews<'_>) + Sync),
}

impl std::fmt::Debug for WorkOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WorkOrder").field(&self.id).finish()
    }
}

impl WorkOrder<'_> {
    pub(super) fn item_dir(&self, item: &ItemId) -> PathBuf {
        self.workshop.item_dir(&self.id, item)
    }

    /// The common state of a level.
    pub(super) fn level_tree(&self, level: usize) -> PathBuf {
        self.workshop.level_tree(&self.id, level)
    }

    pub(super) fn level_receipt(&self, level: usize) -> PathBuf {
        let name = format!("LEVEL-{level}.RECEIPT.json");
        self.workshop.plan_dir(&self.id).join(name)
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.workshop.journal(&self.root)
    }
}

/// What somebody who watches a plan is told.
#[derive(Debug)]
pub enum WorkNews<'a> {
    Recovered(&'a Recovered),
    /// Lines of the tree's history were gone; they are back, from the receipts.
    HistoryRestored(&'a History),
    LevelBegun {
        level: usize,
        items: usize,
        before: Hash,
    },
    ItemBegun(&'a WorkItem),
    /// It failed or took too long, so many times by now, and is begun again.
    ItemAgain(&'a WorkItem, u64, &'a str),
    /// What an item came to in its copy; publishing comes when all of its level have.
    ItemEnded(&'a WorkItem, WorkStatus),
    ItemSealed(&'a WorkItem, &'a RunResult),
    /// Published, but in no commit: git ignores it, it lies in a repository of its own, or it needs a filter that only
    /// the repository's configuration names.
    NotCommitted(&'a WorkItem, &'a TreePath),
    /// The same, because the user has changed it too and not committed that, and the two changes meet.
    Uncommitted(&'a WorkItem, &'a TreePath),
    /// Somebody had a file open when it was replaced, and wrote to it.
    Late(&'a Late),
}

/// How far a plan came.
#[derive(Debug)]
pub enum WorkEnd {
    /// The results, as the plan has its items.
    Done(Vec<RunResult>),
    /// Calls of these runs wait for a person; the plan goes on when it is resumed.
    Waits(Vec<RunId>),
}

/// Works a plan off. Whoever calls it holds the tree's lock. An
/// error leaves the tree as it was or as the next recovery makes it, and the plan can be resumed.
pub async fn work(order: &WorkOrder<'_>, cancel: &CancellationToken) -> Result<WorkEnd, WorkError> {
    let mut sealer = Sealer::open(order)?;
    if let Some(recovered) = sealer.recover()? {
        (order.watch)(WorkNews::Recovered(&recovered));
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
    for late in sealer.keep_late()? {
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

enum LevelEnd {
    Sealed(BTreeMap<ItemId, RunResult>),
    Waits(Vec<RunId>),
}

async fn work_level(
    order: &WorkOrder<'_>,
    copies: &Copies,
    sealer: &mut Sealer<'_>,
    earlier: &BTreeMap<ItemId, RunResult>,
    (number, items): (usize, &[&WorkItem]),
    cancel: &CancellationToken,
) -> Result<LevelEnd, WorkError> {
    if let Some(sealed) = sealer.sealed_before(number, items)? {
        return Ok(LevelEnd::Sealed(sealed));
    }
    if order.interrupt.is_cancelled() {
        return Err(WorkError::Interrupted);
    }
    let frozen = sealer.freeze(number)?;
    (order.watch)(WorkNews::LevelBegun {
        level: number,
        items: items.len(),
        before: frozen.tree.hash(),
    });
    let ended = earlier.iter().map(|(id, it)| (id.clone(), it.status));
    let ended = ended.collect();
    let level = Level {
        order,
        frozen: &frozen,
        copies,
        history: sealer.history(),
        ended: &ended,
    };
    let (outcomes, waiting) = work_items(&level, items, cancel).await?;
    if !waiting.is_empty() {
        return Ok(LevelEnd::Waits(waiting));
    }
    sealer
        .seal_level(number, &frozen, items, outcomes)
        .map(LevelEnd::Sealed)
}

/// Works the items of a level off, some at a time.
async fn work_items(
    level: &Level<'_>,
    items: &[&WorkItem],
    cancel: &CancellationToken,
) -> Result<(BTreeMap<ItemId, Outcome>, Vec<RunId>), WorkError> {
    let working = items.iter().map(|item| async move {
        (level.order.watch)(WorkNews::ItemBegun(item));
        let worked = work_item(level, item, cancel).await?;
        if let Worked::Ended(outcome) = &worked {
            (level.order.watch)(WorkNews::ItemEnded(item, outcome.status));
        }
        Ok::<_, WorkError>((item.id.clone(), worked))
    });
    let mut working = std::pin::pin!(stream::iter(working).buffer_unordered(level.order.jobs));
    let (mut outcomes, mut waiting, mut fault) = (BTreeMap::new(), vec![], None);
    while let Some(worked) = working.next().await {
        match worked {
            Ok((id, Worked::Ended(outcome))) => drop(outcomes.insert(id, *outcome)),
            Ok((_, Worked::Waits(run))) => waiting.push(run),
            // The others are driven to their end first: what they did is kept.
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    match fault {
        None => Ok((outcomes, waiting)),
        Some(error) => Err(error),
    }
}
