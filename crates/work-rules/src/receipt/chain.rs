//! The receipts of a tree, one after the other.

use super::check::{ReceiptFault, verify_receipt};
use super::item_receipt::Receipt;

/// What is wrong with a chain, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("receipt {number}{}: {kind}", named(.receipt_id))]
pub struct ChainFault {
    /// Which receipt, from 1.
    pub number: usize,
    /// Absent where it cannot be read.
    pub receipt_id: Option<String>,
    /// What is wrong with it.
    pub kind: ChainFaultKind,
}

/// What is wrong with a receipt in its chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFaultKind {
    /// No receipt is given.
    #[error("it is missing: a chain has at least one receipt")]
    Empty,
    /// It cannot be relied upon by itself.
    #[error(transparent)]
    Receipt(#[from] ReceiptFault),
    /// The chain does not begin with the tree's first receipt.
    #[error("it follows another receipt, which is missing")]
    NotTheFirst,
    /// It is bound to another receipt than the one before it.
    #[error("its previous_receipt_hash is not that of the receipt before it")]
    BrokenLink,
    /// Two receipts of one chain cannot have one time.
    #[error("it has the same time as the receipt before it")]
    SameTime,
    /// It was sealed before the one that it follows.
    #[error("it is older than the receipt before it")]
    TimeNotRising,
    /// A receipt between them is missing.
    #[error("its chain_index does not follow that of the receipt before it")]
    Gap,
    /// The tree was changed in between by somebody whom the receipt does not mention.
    #[error(
        "its tree_before is not the tree_after of the receipt before it, and it does not say so"
    )]
    TreeMismatch,
}

fn named(receipt_id: &Option<String>) -> String {
    match receipt_id {
        Some(id) => format!(" ({id})"),
        None => String::new(),
    }
}

/// Checks each receipt, and that each follows the one before. All faults come back at once.
pub fn verify_chain<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Receipt>, Vec<ChainFault>> {
    let mut receipts: Vec<Receipt> = vec![];
    let mut faults = vec![];
    let mut previous_is_whole = true;
    let mut number = 0;
    for text in texts {
        number += 1;
        let receipt = match verify_receipt(text) {
            Ok(receipt) => receipt,
            Err(fault) => {
                previous_is_whole = false;
                faults.push(fault_at(number, None, fault.into()));
                continue;
            }
        };
        // What follows a receipt that cannot be relied upon cannot be compared with it.
        if previous_is_whole {
            let id = &receipt.outcome.receipt_id;
            let found = link_faults(receipts.last(), &receipt).into_iter();
            faults.extend(found.map(|kind| fault_at(number, Some(id.clone()), kind)));
        }
        previous_is_whole = true;
        receipts.push(receipt);
    }
    if number == 0 {
        faults.push(fault_at(1, None, ChainFaultKind::Empty));
    }
    match faults.is_empty() {
        true => Ok(receipts),
        false => Err(faults),
    }
}

fn fault_at(number: usize, receipt_id: Option<String>, kind: ChainFaultKind) -> ChainFault {
    ChainFault {
        number,
        receipt_id,
        kind,
    }
}

fn link_faults(previous: Option<&Receipt>, receipt: &Receipt) -> Vec<ChainFaultKind> {
    let Some(previous) = previous else {
        let is_first = receipt.previous_receipt_hash.is_none();
        return match is_first {
            true => vec![],
            false => vec![ChainFaultKind::NotTheFirst],
        };
    };
    let mut faults = vec![];
    if receipt.previous_receipt_hash != Some(previous.receipt_hash) {
        faults.push(ChainFaultKind::BrokenLink);
    }
    if previous.chain_index.checked_add(1) != Some(receipt.chain_index) {
        faults.push(ChainFaultKind::Gap);
    }
    match receipt.sealed_at.cmp(&previous.sealed_at) {
        std::cmp::Ordering::Greater => {}
        std::cmp::Ordering::Equal => faults.push(ChainFaultKind::SameTime),
        std::cmp::Ordering::Less => faults.push(ChainFaultKind::TimeNotRising),
    }
    let is_as_left = previous.outcome.tree_after == receipt.outcome.tree_before;
    let is_expected = !is_as_left || receipt.outcome.changed_meanwhile;
    if is_expected != receipt.tree_changed_outside {
        faults.push(ChainFaultKind::TreeMismatch);
    }
    faults
}
