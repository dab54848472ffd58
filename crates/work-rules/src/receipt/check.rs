//! Whether a receipt is whole and true to itself.

use bonded_kernel::{Hash, TerminationKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::form::{RECEIPT_FORMAT, RECEIPT_HASH, hash_without_itself};
use super::item_receipt::Receipt;
use crate::admission::within;
use crate::canonical::canonical;
use crate::capsule::artifacts;
use crate::change::Change;
use crate::delta::Footprint;
use crate::state::WorkStatus;
use crate::tree::Node;

/// Why a text is no receipt that can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    /// It cannot be read at all.
    #[error("it is not JSON: {why}")]
    NotJson { why: String },
    /// A newer build wrote it.
    #[error("it has format {found}, this build reads up to {RECEIPT_FORMAT}")]
    NewerFormat { found: u64 },
    /// Other bytes than those that were sealed.
    #[error(
        "it is not written as canonical JSON: it was changed or reformatted after it was sealed"
    )]
    NotCanonical,
    /// A field is not what it was when it was sealed.
    #[error("its receipt_hash is {written}, but its content has {computed}: it was changed")]
    HashMismatch { written: String, computed: Hash },
    /// JSON of another shape.
    #[error("it is not a receipt: {why}")]
    NotAReceipt { why: String },
    /// Two of its fields cannot both be true.
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
    let broken = |rules: &[ReceiptRule]| rules.iter().find(|rule| !(rule.holds)(receipt)).copied();
    let of_status: &[ReceiptRule] = match receipt.outcome.status {
        WorkStatus::Success => &OF_SUCCESS,
        WorkStatus::Failure | WorkStatus::Denied | WorkStatus::Timeout => &OF_OTHERS,
    };
    let broken = broken(&OF_ALL).or_else(|| broken(of_status));
    broken.map(|rule| rule.otherwise)
}

/// What must hold, and what is said where it does not.
#[derive(Clone, Copy)]
struct ReceiptRule {
    holds: fn(&Receipt) -> bool,
    otherwise: &'static str,
}

const OF_ALL: [ReceiptRule; 13] = [
    ReceiptRule {
        holds: |it| it.content_hash == it.outcome.deltas.content_hash(it.outcome.before_hash),
        otherwise: "content_hash is not that of the deltas",
    },
    ReceiptRule {
        holds: |it| it.admission == it.outcome.admission(),
        otherwise: "the admission is not that of the outcome",
    },
    ReceiptRule {
        holds: |it| it.outcome.artifacts == artifacts(it.outcome.deltas.changes()),
        otherwise: "the artifacts are not those of the deltas",
    },
    ReceiptRule {
        holds: |it| it.outcome.tool_trace.len() as u64 == it.outcome.metrics.tool_ops_count,
        otherwise: "tool_ops_count is not the length of the tool trace",
    },
    ReceiptRule {
        holds: |it| it.previous_receipt_hash.is_none() == (it.chain_index == 0),
        otherwise: "only the first receipt of a chain has no receipt before it",
    },
    ReceiptRule {
        holds: |it| it.tree_changed_outside || !it.outcome.changed_meanwhile,
        otherwise: "the tree changed meanwhile, and yet not by another process",
    },
    ReceiptRule {
        holds: |it| has_own_tests(it),
        otherwise: "its tests are not those that the item asks for",
    },
    ReceiptRule {
        holds: |it| {
            let counts = it.outcome.tests.as_ref().and_then(|tests| tests.counts);
            let counted = (counts.map(|it| it.passed), counts.map(|it| it.failed));
            counted
                == (
                    it.outcome.metrics.tests_passed,
                    it.outcome.metrics.tests_failed,
                )
        },
        otherwise: "the metrics are not those of its tests",
    },
    ReceiptRule {
        holds: |it| {
            let run = it.outcome.run.as_ref();
            run.is_none_or(|run| run.started_at <= run.ended_at)
        },
        otherwise: "its run ended before it started",
    },
    ReceiptRule {
        holds: |it| {
            let mut calls = it.outcome.tool_trace.iter();
            calls.all(|call| call.ended_at.is_none_or(|ended| call.started_at <= ended))
        },
        otherwise: "a call ended before it started",
    },
    ReceiptRule {
        holds: |it| it.outcome.denial_reason.is_none() || it.outcome.status == WorkStatus::Denied,
        otherwise: "it is not denied and yet has a reason for that",
    },
    ReceiptRule {
        holds: |it| it.outcome.error.is_none() || it.outcome.status != WorkStatus::Denied,
        otherwise: "it is denied with an error",
    },
    ReceiptRule {
        holds: |it| {
            let earlier = &it.outcome.earlier_attempts;
            let is_again = |status| matches!(status, WorkStatus::Failure | WorkStatus::Timeout);
            earlier.len() as u64 <= it.outcome.work_item.retries
                && earlier.iter().all(|it| is_again(it.status))
        },
        otherwise: "it was retried more often than allowed, or for no reason",
    },
];

/// What sealing itself took counted as the item's time once, where the limit was nearly used up.
const SEALING_MS_MAX: u64 = 10_000;

const OF_SUCCESS: [ReceiptRule; 8] = [
    ReceiptRule {
        holds: |it| counted(it) == footprint(it),
        otherwise: "the metrics are not those of the deltas",
    },
    ReceiptRule {
        holds: |it| within(&counted(it), &it.outcome.work_item.constraints).is_ok(),
        otherwise: "it is a success beyond its limits",
    },
    ReceiptRule {
        holds: |it| it.outcome.denial_reason.is_none() && it.outcome.error.is_none(),
        otherwise: "it is a success with an error",
    },
    ReceiptRule {
        holds: |it| it.outcome.work_item.test_command.is_none() || it.outcome.tests.is_some(),
        otherwise: "it is a success and its tests were not run",
    },
    ReceiptRule {
        holds: |it| {
            let tests = it.outcome.tests.as_ref();
            tests.is_none_or(|tests| tests.judge(&it.outcome.work_item).is_ok())
        },
        otherwise: "it is a success and its tests are not passed",
    },
    ReceiptRule {
        holds: |it| {
            let limit = it.outcome.work_item.constraints.timeout_ms;
            let most = limit.saturating_add(SEALING_MS_MAX);
            // Tests that another's change made run twice took time that was not the item's.
            it.outcome.changed_meanwhile || it.outcome.metrics.execution_time_ms <= most
        },
        otherwise: "it is a success and took longer than allowed",
    },
    ReceiptRule {
        holds: |it| {
            let run = it.outcome.run.as_ref();
            run.is_none_or(|run| run.termination == Some(TerminationKind::Done))
        },
        otherwise: "it is a success of a run that was not done",
    },
    ReceiptRule {
        holds: |it| it.outcome.merged.iter().all(|merged| is_of(merged, it)),
        otherwise: "what was merged is not what the item changed",
    },
];

const OF_OTHERS: [ReceiptRule; 1] = [ReceiptRule {
    holds: |it| {
        let outcome = &it.outcome;
        outcome.deltas.is_empty()
            && outcome.merged.is_empty()
            && outcome.before_hash == outcome.after_hash
            && outcome.tree_before == outcome.tree_after
    },
    otherwise: "it is not a success, and yet the tree changed",
}];

fn has_own_tests(receipt: &Receipt) -> bool {
    let asked = receipt.outcome.work_item.test_command.as_ref();
    let tests = receipt.outcome.tests.as_ref();
    let both = asked.zip(tests);
    both.is_none_or(|(asked, tests)| *asked == tests.command)
}

/// Whether a file that was merged is one whose content the item changed.
fn is_of(merged: &Change, receipt: &Receipt) -> bool {
    let is_file = |node: &Option<Node>| matches!(node, Some(Node::File { .. }));
    let is_changed = |change: &Change| is_file(&change.before) && is_file(&change.after);
    let changes = receipt.outcome.deltas.changes();
    let own = changes.into_iter().find(|own| own.path == merged.path);
    is_changed(merged) && own.is_some_and(is_changed)
}

fn counted(receipt: &Receipt) -> Footprint {
    let metrics = &receipt.outcome.metrics;
    Footprint {
        files_touched: metrics.files_touched,
        tool_ops: metrics.tool_ops_count,
        delta_size: metrics.delta_size,
    }
}

fn footprint(receipt: &Receipt) -> Footprint {
    let outcome = &receipt.outcome;
    Footprint::new(outcome.deltas.changes(), outcome.metrics.tool_ops_count)
}
