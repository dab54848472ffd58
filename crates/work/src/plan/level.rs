//! A level: items that do not wait for each other, each in its own copy of one common state.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_kernel::{Entry, Hash, Millis, RunId};
use bonded_state::StoreError;
use bonded_work_rules::{Change, ItemId, Tree, WorkItem, WorkStatus, blocked};

use super::ledger::History;
use super::logs::logs;
use super::order::{ItemQueue, WorkOrder};
use crate::tree::{Copies, Frozen, TreeCopy, TreeError};

/// What the items of a level have in common while they run. Nothing here writes to the tree.
pub(crate) struct Level<'a> {
    pub(crate) order: &'a WorkOrder<'a>,
    pub(crate) frozen: &'a Frozen,
    pub(crate) copies: &'a Copies,
    /// Where items wait for workers on other machines, and the content of the plan that lists the common state.
    pub(crate) queue: Option<(&'a ItemQueue, Hash)>,
    pub(crate) history: &'a History,
    /// How the items of earlier levels ended.
    pub(crate) ended: &'a BTreeMap<ItemId, WorkStatus>,
}

impl Level<'_> {
    /// The common state.
    pub(crate) fn before(&self) -> &Tree {
        &self.frozen.tree
    }

    /// By the order's clock, which tests set.
    pub(crate) fn now(&self) -> Millis {
        self.order.clock.now()
    }

    pub(crate) fn item_dir(&self, item: &WorkItem) -> PathBuf {
        self.order.item_dir(&item.id)
    }

    /// Why an item cannot begin, because of what it waits for.
    pub(crate) fn blocked(&self, item: &WorkItem) -> Option<String> {
        let missing = |id: &&ItemId| self.order.missing.contains(*id);
        if let Some(id) = item.dependencies.iter().find(missing) {
            return Some(format!("Blocked by dependency {id}: not ready in time"));
        }
        blocked(item, |id| self.ended.get(id).copied())
    }

    /// The run's own comes first; empty where it has not begun.
    pub(crate) async fn logs(&self, run: &RunId) -> Result<Vec<Vec<Entry>>, StoreError> {
        logs(&*self.order.store, run).await
    }

    /// Whether what a copy shows is what was frozen, with the changes that were made in it, and was so all the time.
    pub(crate) fn stands(&self, copy: &TreeCopy) -> bool {
        !copy.is_live() || self.order.checkpoints.is_as_frozen(self.frozen)
    }

    /// Keeps what a copy ends with, durably.
    ///
    /// After this the changes can be published, or made again in another copy, although the copy itself is
    /// gone.
    pub(crate) fn keep(&self, copy: &TreeCopy, changes: &[Change]) -> Result<(), TreeError> {
        copy.keep(self.order.checkpoints, changes)?;
        self.order.checkpoints.sync()
    }
}
