//! What has ended is published and sealed: one item after the other, in the order of their ids.
//!
//! The order of the ids makes the outcome of a level the same on every machine: of two items that change the
//! same line, the first by id is published and the other denied, however fast each was. An item that is sealed
//! already is read and not sealed again.

use std::collections::BTreeMap;

use bonded_work_rules::{ItemId, LevelReceipt, Receipt, RunResult, Tree, WorkItem, WorkStatus};

use super::error::WorkError;
use super::item::{ReadyItem, publish_item};
use super::item_files::SealedItem;
use super::late_writes::keep_late_writes;
use super::receipts::Receipts;
use super::recovery;
use super::transaction::ReplacedFile;
use crate::files::{read_json, write_durably};
use crate::plan::{AttemptOutcome, History, LateWrite, Recovery, WorkNews, WorkOrder};
use crate::tree::{Frozen, read_tree, write_tree};

/// Publishes and seals what items came to. It alone writes to the tree.
pub(crate) struct Sealer<'a> {
    order: &'a WorkOrder<'a>,
    receipts: Receipts<'a>,
    last_level: Option<LevelReceipt>,
    /// Looked at again when all is published.
    replaced: Vec<ReplacedFile>,
}

impl<'a> Sealer<'a> {
    /// The first thing that a plan does; it fails where the history of the tree is damaged.
    pub(crate) fn open(order: &'a WorkOrder<'a>) -> Result<Self, WorkError> {
        Ok(Self {
            order,
            receipts: Receipts::open(order)?,
            last_level: None,
            replaced: vec![],
        })
    }

    /// Goes on where a process stopped that was publishing to this tree.
    pub(crate) fn recover(&mut self) -> Result<Option<Recovery>, WorkError> {
        recovery::recover(&mut self.receipts)
    }

    /// Keeps what somebody wrote to files after they had been replaced.
    pub(crate) fn keep_late_writes(&mut self) -> Result<Vec<LateWrite>, WorkError> {
        let replaced = std::mem::take(&mut self.replaced);
        let dir = self.order.workshop.tree_dir(&self.order.root).join("kept");
        Ok(keep_late_writes(&replaced, &dir)?)
    }

    pub(crate) fn history(&self) -> &History {
        &self.receipts.history
    }

    /// The common state of a level: the tree as it is, or as it was when the level began.
    pub(crate) fn freeze(&self, level: usize) -> Result<Frozen, WorkError> {
        let checkpoints = self.order.checkpoints;
        let frozen = checkpoints.freeze_for_copies(&self.order.root)?;
        let file = self.order.level_tree(level);
        if file.exists() {
            return Ok(frozen.as_it_was(read_tree(&file)?));
        }
        // A state that is written down can be restored.
        checkpoints.sync()?;
        write_tree(&frozen.tree, &file)?;
        Ok(frozen)
    }

    /// The results of a level that was sealed whole before.
    pub(crate) fn sealed_before(
        &mut self,
        level: usize,
        items: &[&WorkItem],
    ) -> Result<Option<BTreeMap<ItemId, RunResult>>, WorkError> {
        let Some(receipt) = read_json(&self.order.level_receipt(level))? else {
            return Ok(None);
        };
        self.last_level = Some(receipt);
        let mut results = BTreeMap::new();
        for item in items {
            let Some(sealed) = SealedItem::read(&self.order.item_dir(&item.id))? else {
                return Ok(None);
            };
            results.insert(item.id.clone(), sealed.result);
        }
        Ok(Some(results))
    }

    /// Seals the items of a level whatever became of them, then the level.
    pub(crate) fn seal_level(
        &mut self,
        level: usize,
        frozen: &Frozen,
        items: &[&WorkItem],
        mut outcomes: BTreeMap<ItemId, AttemptOutcome>,
    ) -> Result<BTreeMap<ItemId, RunResult>, WorkError> {
        let checkpoints = self.order.checkpoints;
        checkpoints.sync()?;
        let now = checkpoints.freeze_patiently(&self.order.root)?;
        let is_changed = frozen.was_changed_until(&now);
        let mut tree = now.tree;
        let (mut receipts, mut results) = (vec![], BTreeMap::new());
        for item in items {
            let sealed = match SealedItem::read(&self.order.item_dir(&item.id))? {
                Some(sealed) => sealed,
                None => {
                    let outcome = outcomes.remove(&item.id);
                    let mut outcome =
                        outcome.unwrap_or_else(|| AttemptOutcome::failed("nothing came of it"));
                    outcome.changed_meanwhile |= is_changed;
                    self.seal_item((level, &receipts), item, outcome, frozen, &mut tree)?
                }
            };
            (self.order.watch)(WorkNews::ItemSealed(item, &sealed.result));
            receipts.push(*sealed.receipt);
            results.insert(item.id.clone(), sealed.result);
        }
        let receipt = LevelReceipt::seal(
            self.order.id.to_string(),
            level as u64,
            frozen.tree.hash(),
            &receipts,
            self.last_level.as_ref(),
            self.order.clock.now(),
        );
        write_durably(
            &self.order.level_receipt(level),
            receipt.to_json().as_bytes(),
        )?;
        self.last_level = Some(receipt);
        Ok(results)
    }

    /// `earlier` are the receipts of the items before it in its level.
    ///
    /// An item whose line is in the history already has its receipt, and only its other files are written.
    fn seal_item(
        &mut self,
        (level, earlier): (usize, &[Receipt]),
        item: &WorkItem,
        outcome: AttemptOutcome,
        frozen: &Frozen,
        tree: &mut Tree,
    ) -> Result<SealedItem, WorkError> {
        let receipts = &mut self.receipts;
        let base = receipts.item_outcome(level, item, &outcome, frozen, tree);
        let test_output = outcome.tests.map(|tests| tests.output);
        let (plan, dir) = (&self.order.id, self.order.item_dir(&item.id));
        let files = match (receipts.begun(plan, item, &dir), outcome.capsule) {
            (Some(receipt), _) => receipts.files_of(&dir, plan, receipt, test_output),
            (None, Some(capsule)) if outcome.status == WorkStatus::Success => {
                let ready = ReadyItem {
                    item,
                    earlier,
                    base,
                    capsule: &capsule,
                    test_output,
                };
                publish_item(receipts, ready, tree, &mut self.replaced)?
            }
            (None, Some(_) | None) => receipts.seal(base, test_output),
        };
        // What is published is written down before its journal goes.
        if SealedItem::read(&dir)?.is_none() {
            receipts.write(&files)?;
        }
        Ok(SealedItem {
            receipt: files.receipt,
            result: files.result,
        })
    }
}
