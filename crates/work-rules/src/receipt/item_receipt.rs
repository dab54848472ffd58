//! The receipt of an item: its outcome, sealed.

use bonded_kernel::{Hash, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::form::{RECEIPT_FORMAT, hash_without_itself};
use super::outcome::{Admission, ItemOutcome};
use crate::canonical::canonical;

/// An outcome that was sealed: its place in the chain of its tree, and a hash over everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of its form.
    pub format: u16,
    /// What became of the item.
    #[serde(flatten)]
    pub outcome: ItemOutcome,
    /// Absent where the item did not come so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// Over the state before and the changes alone.
    pub content_hash: Hash,
    /// How many receipts the tree had before.
    pub chain_index: u64,
    /// Later than that of the receipt before, whatever the clock said.
    pub sealed_at: Millis,
    /// Absent for the first of a tree.
    #[serde(default)]
    pub previous_receipt_hash: Option<Hash>,
    /// Whether the tree was not as the receipt before had left it, or was changed while the item was worked on:
    /// somebody else was there.
    pub tree_changed_outside: bool,
    /// Over all other fields but signatures.
    pub receipt_hash: Hash,
}

/// What the next receipt of a chain needs to know of the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptLink {
    /// The hash that the next one names.
    pub receipt_hash: Hash,
    /// How many receipts came before it.
    pub chain_index: u64,
    /// The next one is later than this.
    pub sealed_at: Millis,
    /// The state that it left the tree in.
    pub tree_after: Hash,
}

impl Receipt {
    /// Seals an outcome as the next of a chain.
    pub fn seal(outcome: ItemOutcome, previous: Option<&ReceiptLink>, now: Millis) -> Self {
        let mut receipt = Self {
            format: RECEIPT_FORMAT,
            admission: outcome.admission(),
            content_hash: outcome.deltas.content_hash(outcome.before_hash),
            chain_index: previous.map_or(0, |it| it.chain_index.saturating_add(1)),
            sealed_at: previous.map_or(now, |it| now.max(it.sealed_at.plus(1))),
            previous_receipt_hash: previous.map(|it| it.receipt_hash),
            tree_changed_outside: outcome.changed_meanwhile
                || previous.is_some_and(|it| it.tree_after != outcome.tree_before),
            outcome,
            receipt_hash: Hash::ZERO,
        };
        receipt.receipt_hash = hash_without_itself(&receipt.to_value());
        receipt
    }

    /// What the next receipt of the chain needs.
    pub fn link(&self) -> ReceiptLink {
        ReceiptLink {
            receipt_hash: self.receipt_hash,
            chain_index: self.chain_index,
            sealed_at: self.sealed_at,
            tree_after: self.outcome.tree_after,
        }
    }

    /// As a file holds it: canonical JSON, on one line.
    pub fn to_json(&self) -> String {
        canonical(&self.to_value())
    }

    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
