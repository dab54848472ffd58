//! What an order is made of: a plan, and everything that one process needs to work it off.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use bonded_host::{Clock, Confinement};
use bonded_state::Store;
use bonded_work_rules::{ItemId, WorkPlan};
use tokio_util::sync::CancellationToken;

use super::assignment::Assigner;
use super::id::PlanId;
use super::news::WorkNews;
use super::workshop::Workshop;
use crate::tree::{Checkpoints, Isolation, Writers};

/// Where the runs of items wait for workers on other machines.
#[derive(Clone, Debug)]
pub struct ItemQueue {
    /// Its name.
    pub name: String,
    /// The labels that a worker must have.
    pub needs: Vec<String>,
    /// Whose runs they are.
    pub submitter: String,
}

/// What is to be worked off, on what, by whom.
pub struct WorkOrder<'a> {
    /// Names this execution of the plan.
    pub id: PlanId,
    /// The tree's root, absolute and without links.
    pub root: PathBuf,
    /// The items.
    pub plan: WorkPlan,
    /// Where all that is kept of the items lies.
    pub workshop: Workshop,
    /// Keeps the states of the tree.
    pub checkpoints: &'a Checkpoints,
    /// For the scripts that replay items.
    pub program: PathBuf,
    /// The store's file, for the same scripts.
    pub store_file: PathBuf,
    /// Holds the logs of the items' runs.
    pub store: Arc<dyn Store>,
    /// Tells the time of receipts, and how long items take.
    pub clock: Arc<dyn Clock>,
    /// Finds somebody for each item.
    pub assigner: &'a dyn Assigner,
    /// What the commands of tests are confined to.
    pub confinement: Confinement,
    /// How copies are kept apart from the tree.
    pub isolation: Isolation,
    /// Who has files of the tree open.
    pub writers: &'a dyn Writers,
    /// Where items are worked on; nothing where that is this process.
    pub queue: Option<ItemQueue>,
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
    /// Called with each piece of news as it happens, for whoever renders it to a person while the plan runs. Nothing
    /// that the plan does depends on it.
    pub watch: &'a (dyn Fn(WorkNews<'_>) + Sync),
}

impl std::fmt::Debug for WorkOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WorkOrder").field(&self.id).finish()
    }
}

impl WorkOrder<'_> {
    pub(crate) fn item_dir(&self, item: &ItemId) -> PathBuf {
        self.workshop.item_dir(&self.id, item)
    }

    /// The common state of a level.
    pub(crate) fn level_tree(&self, level: usize) -> PathBuf {
        self.workshop.level_tree(&self.id, level)
    }

    /// Its presence means that every item of the level is sealed.
    pub(crate) fn level_receipt(&self, level: usize) -> PathBuf {
        let name = format!("LEVEL-{level}.RECEIPT.json");
        self.workshop.plan_dir(&self.id).join(name)
    }

    /// One for the tree and not for the plan: whoever works on the tree next finds it.
    pub(crate) fn journal(&self) -> PathBuf {
        self.workshop.journal(&self.root)
    }
}
