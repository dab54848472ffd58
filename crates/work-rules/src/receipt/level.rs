//! The receipt of a level: one Merkle root over those of its items.

use bonded_kernel::{Hash, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{ReceiptFault, open_sealed};
use super::form::{RECEIPT_FORMAT, hash_without_itself};
use super::item_receipt::Receipt;
use crate::canonical::canonical;
use crate::item::ItemId;
use crate::merkle::{ProofStep, merkle_proof, merkle_root};
use crate::state::WorkStatus;

/// What became of a level. Its items are in the order in which they were merged: by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReceipt {
    /// The version of its form.
    pub format: u16,
    /// The execution of the plan.
    pub plan_id: String,
    /// From 0.
    pub level: u64,
    /// The state that all items of the level began with, and the one with all their changes.
    pub tree_before: Hash,
    /// The state with all changes of the level.
    pub tree_after: Hash,
    /// In the order of their ids.
    pub items: Vec<LevelItem>,
    /// Over the items' receipt hashes.
    pub merkle_root: Hash,
    /// Absent for the first level.
    #[serde(default)]
    pub previous_level_hash: Option<Hash>,
    /// When the last item of the level had its receipt.
    pub sealed_at: Millis,
    /// Over all other fields.
    pub receipt_hash: Hash,
}

/// An item as its level names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelItem {
    /// The item.
    pub id: ItemId,
    /// How it ended.
    pub status: WorkStatus,
    /// Names its receipt.
    pub receipt_id: String,
    /// Binds its receipt: no other has this hash.
    pub receipt_hash: Hash,
}

/// Why a level's receipt and those of its items do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelFault {
    /// A receipt cannot be relied upon by itself.
    #[error(transparent)]
    Receipt(#[from] ReceiptFault),
    /// The root is not that of the receipts which the level names.
    #[error("its merkle_root is not that of its items")]
    WrongRoot,
    /// An item's receipt was exchanged.
    #[error("item {id}: its receipt is not the one that the level names")]
    OtherReceipt { id: ItemId },
    /// Receipts are missing, or there are too many.
    #[error("{found} receipts are given, the level has {expected}")]
    OtherNumber { expected: usize, found: usize },
    /// The level says another state than its last receipt left.
    #[error("its tree_after is not that of its last receipt")]
    OtherTree,
}

impl LevelReceipt {
    /// Seals a level whose items have ended. `tree_before` is the level's common state.
    pub fn seal(
        plan_id: String,
        level: u64,
        tree_before: Hash,
        receipts: &[Receipt],
        previous: Option<&Self>,
        now: Millis,
    ) -> Self {
        let items: Vec<LevelItem> = receipts.iter().map(LevelItem::of).collect();
        let last_sealed = receipts.last().map_or(now, |it| it.sealed_at.max(now));
        let mut sealed = Self {
            format: RECEIPT_FORMAT,
            plan_id,
            level,
            tree_before,
            tree_after: receipts
                .last()
                .map_or(tree_before, |it| it.outcome.tree_after),
            merkle_root: root_of(&items),
            items,
            previous_level_hash: previous.map(|it| it.receipt_hash),
            sealed_at: previous.map_or(last_sealed, |it| last_sealed.max(it.sealed_at.plus(1))),
            receipt_hash: Hash::ZERO,
        };
        sealed.receipt_hash = hash_without_itself(&sealed.to_value());
        sealed
    }

    /// As a file holds it: canonical JSON, on one line.
    pub fn to_json(&self) -> String {
        canonical(&self.to_value())
    }

    /// Shows that a receipt is under the Merkle root; nothing where it is not one of the level's.
    pub fn proof(&self, receipt_id: &str) -> Option<Vec<ProofStep>> {
        let leaf = self
            .items
            .iter()
            .position(|it| it.receipt_id == receipt_id)?;
        merkle_proof(&leaves(&self.items), leaf)
    }

    fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl LevelItem {
    fn of(receipt: &Receipt) -> Self {
        Self {
            id: receipt.outcome.work_item.id.clone(),
            status: receipt.outcome.status,
            receipt_id: receipt.outcome.receipt_id.clone(),
            receipt_hash: receipt.receipt_hash,
        }
    }
}

fn leaves(items: &[LevelItem]) -> Vec<Hash> {
    items.iter().map(|item| item.receipt_hash).collect()
}

fn root_of(items: &[LevelItem]) -> Hash {
    merkle_root(&leaves(items))
}

/// Reads a level's receipt and checks all that it says of itself.
pub fn verify_level(text: &str) -> Result<LevelReceipt, LevelFault> {
    let level: LevelReceipt = open_sealed(text)?;
    match level.merkle_root == root_of(&level.items) {
        true => Ok(level),
        false => Err(LevelFault::WrongRoot),
    }
}

/// Checks that these receipts, which were verified, are those of the level, in its order.
pub fn verify_level_items(level: &LevelReceipt, receipts: &[Receipt]) -> Result<(), LevelFault> {
    let (expected, found) = (level.items.len(), receipts.len());
    if expected != found {
        return Err(LevelFault::OtherNumber { expected, found });
    }
    for (item, receipt) in level.items.iter().zip(receipts) {
        if *item != LevelItem::of(receipt) {
            let id = item.id.clone();
            return Err(LevelFault::OtherReceipt { id });
        }
    }
    let last = receipts.last().map(|it| it.outcome.tree_after);
    match last.is_none_or(|last| last == level.tree_after) {
        true => Ok(()),
        false => Err(LevelFault::OtherTree),
    }
}
