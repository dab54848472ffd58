//! A level: items that do not wait for each other, each in its own copy of one common state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::work::{Change, ItemId, Tree, WorkItem, WorkStatus, blocked};
use bonded_kernel::{Entry, Hash, Millis, RunConfig, RunId};
use bonded_tools::Sandbox;

use super::error::WorkError;
use super::history::History;
use super::logs;
use super::order::WorkOrder;
use super::staff::Assigned;
use super::tree::{Copy, Frozen};

/// What the items of a level have in common while they run. Nothing here writes to the tree.
pub(super) struct Level<'a> {
    pub(super) order: &'a WorkOrder<'a>,
    pub(super) frozen: &'a Frozen,
    pub(super) history: &'a History,
    /// How the items of earlier levels ended.
    pub(super) ended: &'a BTreeMap<ItemId, WorkStatus>,
}

impl Level<'_> {
    pub(super) fn before(&self) -> &Tree {
        &self.frozen.tree
    }

    pub(super) fn after(&self, changes: &[Change]) -> Result<Tree, WorkError> {
        let after = self.before().with_changes(changes);
        after.map_err(|clashes| WorkError::CopyDiffers {
            path: clashes.into_iter().next().map(|clash| clash.path),
        })
    }

    pub(super) fn now(&self) -> Millis {
        self.order.clock.now()
    }

    pub(super) fn item_dir(&self, item: &WorkItem) -> PathBuf {
        self.order.workshop.item_dir(&self.order.id, &item.id)
    }

    pub(super) fn blocked(&self, item: &WorkItem) -> Option<String> {
        let missing = |id: &&ItemId| self.order.missing.contains(*id);
        if let Some(id) = item.dependencies.iter().find(missing) {
            return Some(format!("Blocked by dependency {id}: not ready in time"));
        }
        blocked(item, |id| self.ended.get(id).copied())
    }

    pub(super) fn admitted_before(&self, content: &Hash) -> Option<String> {
        if self.order.again {
            return None;
        }
        self.history.admitted(content).map(str::to_owned)
    }

    pub(super) fn assign(&self, item: &WorkItem, dir: &Path) -> Result<Assigned, String> {
        self.order.staff.assign(item, dir)
    }

    pub(super) fn sandbox(&self, config: &RunConfig) -> Result<Arc<Sandbox>, WorkError> {
        let sandbox = self.order.confinement.of_commands(config);
        sandbox.map_err(|source| WorkError::Sandbox { source })
    }

    pub(super) async fn logs(&self, run: &RunId) -> Result<Vec<Vec<Entry>>, WorkError> {
        Ok(logs::logs(&*self.order.store, run).await?)
    }

    pub(super) fn copy_for(&self, item: &WorkItem) -> Result<Copy, WorkError> {
        todo!("{item:?}")
    }

    pub(super) fn run_of(&self, item: &WorkItem) -> Result<RunId, WorkError> {
        todo!("{item:?}")
    }

    pub(super) fn keep(&self, copy: &Copy, changes: &[Change]) -> Result<(), WorkError> {
        todo!("{copy:?} {changes:?}")
    }
}
