//! A level: items that do not wait for each other, each in its own copy of one common state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::{Entry, Hash, ItemOfPlan, Millis, RunConfig, RunId};
use bonded_tools::Sandbox;
use bonded_work_rules::{Change, ItemId, Tree, WorkItem, WorkStatus, blocked};

use super::admitted::admitted;
use super::attempt::Attempt;
use super::earlier::Earlier;
use super::error::WorkError;
use super::history::History;
use super::logs;
use super::order::WorkOrder;
use super::saved::Interrupted;
use super::staff::Assigned;
use super::tree::{Copies, Frozen, TreeCopy};

/// What the items of a level have in common while they run. Nothing here writes to the tree.
pub(super) struct Level<'a> {
    pub(super) order: &'a WorkOrder<'a>,
    pub(super) frozen: &'a Frozen,
    pub(super) copies: &'a Copies,
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

    pub(super) fn place_in_plan(&self, item: &WorkItem) -> Box<ItemOfPlan> {
        Box::new(ItemOfPlan {
            plan: self.order.id.to_string(),
            item: item.id.to_string(),
            before_hash: self.before().hash(),
        })
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

    /// The receipt of an admitted run with this content, on whatever tree.
    pub(super) fn admitted_before(&self, content: &Hash) -> Result<Option<String>, WorkError> {
        match self.order.again {
            true => Ok(None),
            false => Ok(admitted(&self.order.workshop, &self.order.root, content)?),
        }
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

    /// The item's copy of the tree and the run that works in it: those that another process left, or new ones.
    pub(super) async fn place_for(
        &self,
        item: &WorkItem,
        earlier: &Earlier,
    ) -> Result<(TreeCopy, RunId), WorkError> {
        let name = item.id.as_str();
        let mut attempt = 1;
        let mut run = self.order.id.run_of(&item.id, attempt);
        let mut last = None;
        while self.order.store.head(&run).await?.is_some() {
            last = Some(run);
            attempt += 1;
            run = self.order.id.run_of(&item.id, attempt);
        }
        let item_dir = self.item_dir(item);
        let known = Attempt::read(&item_dir)?;
        let has_begun_again = known.as_ref().is_some_and(|it| it.run == run);
        if let Some(last) = last.filter(|_| !has_begun_again) {
            let copy = match earlier.has(&last) {
                true => None,
                false => {
                    let logs = self.logs(&last).await?;
                    let interrupted = Interrupted::read(&item_dir, &logs)?;
                    self.copy_of(item, &last, known, interrupted)?
                }
            };
            if let Some(copy) = copy {
                return Ok((copy, last));
            }
            // The copy that is made now must not be taken for that of the run before.
            let again = Attempt {
                run: run.clone(),
                admitted: None,
            };
            again.write(&item_dir)?;
        }
        let copy = self
            .copies
            .make(self.order.checkpoints, self.frozen, name)?;
        Ok((copy, run))
    }

    /// Whether what a copy shows is what was frozen, with the changes that were made in it, and was so all the time.
    pub(super) fn stands(&self, copy: &TreeCopy) -> bool {
        !copy.is_live() || self.order.checkpoints.is_as_frozen(self.frozen)
    }

    /// Keeps what a copy ends with, durably.
    pub(super) fn keep(&self, copy: &TreeCopy, changes: &[Change]) -> Result<(), WorkError> {
        copy.keep(self.order.checkpoints, changes)?;
        Ok(self.order.checkpoints.sync()?)
    }
}
