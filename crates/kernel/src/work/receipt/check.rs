//! Whether a receipt is whole and true to itself.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{RECEIPT_FORMAT, RECEIPT_HASH, Receipt, hash_without_itself};
use crate::hash::Hash;
use crate::work::admission::within;
use crate::work::canonical::canonical;
use crate::work::capsule::artifacts;
use crate::work::delta::Footprint;
use crate::work::state::WorkStatus;

/// Why a text is no receipt that can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    #[error("it is no JSON: {why}")]
    NotJson { why: String },
    #[error("it has format {found}, this build reads up to {RECEIPT_FORMAT}")]
    NewerFormat { found: u64 },
    #[error(
        "it is not written as canonical JSON: it was changed or reformatted after it was sealed"
    )]
    NotCanonical,
    #[error("its receipt_hash is {written}, but its content has {computed}: it was changed")]
    HashMismatch { written: String, computed: Hash },
    #[error("it is no receipt: {why}")]
    NotAReceipt { why: String },
    #[error("it contradicts itself: {what}")]
    Contradiction { what: &'static str },
}

/// Reads a receipt and checks all that it says of itself: nothing else is needed, neither a store nor a tree.
pub fn verify_receipt(text: &str) -> Result<Receipt, ReceiptFault> {
    let receipt: Receipt = open_sealed(text)?;
    match contradiction(&receipt) {
        None => Ok(receipt),
        Some(what) => Err(ReceiptFault::Contradiction { what }),
    }
}

/// Reads what was sealed with a hash over itself. One newline at the end is how files end.
pub(super) fn open_sealed<T: DeserializeOwned>(text: &str) -> Result<T, ReceiptFault> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| ReceiptFault::NotJson {
        why: error.to_string(),
    })?;
    let format = value.get("format").and_then(Value::as_u64);
    if let Some(found) = format.filter(|found| *found > u64::from(RECEIPT_FORMAT)) {
        return Err(ReceiptFault::NewerFormat { found });
    }
    let computed = hash_without_itself(&value);
    let written = value.get(RECEIPT_HASH).and_then(Value::as_str);
    if written != Some(computed.to_string().as_str()) {
        return Err(ReceiptFault::HashMismatch {
            written: written.unwrap_or("missing").chars().take(64).collect(),
            computed,
        });
    }
    // A key that stands there twice is one value here and may be another elsewhere.
    if canonical(&value) != text {
        return Err(ReceiptFault::NotCanonical);
    }
    serde_json::from_value(value).map_err(|error| ReceiptFault::NotAReceipt {
        why: error.to_string(),
    })
}

fn contradiction(receipt: &Receipt) -> Option<&'static str> {
    let outcome = &receipt.outcome;
    let changes = outcome.deltas.changes();
    let metrics = &outcome.metrics;
    let counted = Footprint {
        files_touched: metrics.files_touched,
        tool_ops: metrics.tool_ops_count,
        delta_size: metrics.delta_size,
    };
    let is_success = outcome.status == WorkStatus::Success;
    let own_artifacts = artifacts(changes.iter().copied());
    let is_unchanged = changes.is_empty()
        && outcome.before_hash == outcome.after_hash
        && outcome.tree_before == outcome.tree_after;
    let rules = [
        (
            outcome.content_hash == outcome.deltas.content_hash(outcome.before_hash),
            "content_hash is not that of the deltas",
        ),
        (
            outcome.artifacts == own_artifacts,
            "the artifacts are not those of the deltas",
        ),
        (
            outcome.tool_trace.len() as u64 == metrics.tool_ops_count,
            "tool_ops_count is not the length of the tool trace",
        ),
        (
            !is_success || counted == Footprint::new(changes, metrics.tool_ops_count),
            "the metrics are not those of the deltas",
        ),
        (
            !is_success || within(&counted, &outcome.work_item.constraints).is_ok(),
            "it is a success beyond its limits",
        ),
        (
            !is_success || outcome.denial_reason.is_none() && outcome.error.is_none(),
            "it is a success with an error",
        ),
        (
            is_success || is_unchanged,
            "it is no success and yet the tree changed",
        ),
        (
            receipt.previous_receipt_hash.is_none() == (receipt.chain_index == 0),
            "only the first of a chain has none before it",
        ),
        (
            outcome
                .tests
                .as_ref()
                .is_none_or(|tests| !is_success || tests.judge(&outcome.work_item).is_ok()),
            "it is a success and its tests are not passed",
        ),
        (
            !is_success || outcome.work_item.test_command.is_none() || outcome.tests.is_some(),
            "it is a success and its tests were not run",
        ),
    ];
    rules
        .iter()
        .find(|(holds, _)| !holds)
        .map(|(_, what)| *what)
}
