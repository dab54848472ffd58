//! Receipts: what became of an item, in a form that a stranger can check, each bound to the one before.

mod chain;
mod check;
mod level;

use std::collections::BTreeMap;

use bonded_kernel::{Hash, Millis, RunId, SandboxConfig, TerminationKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use chain::{ChainFault, ChainFaultKind, verify_chain};
pub use check::{ReceiptFault, verify_receipt};
pub use level::{LevelFault, LevelItem, LevelReceipt, verify_level, verify_level_items};

use super::canonical::canonical;
use super::capsule::{Artifact, Capsule};
use super::change::Change;
use super::delta::Deltas;
use super::item::WorkItem;
use super::state::WorkStatus;
use super::trace::TracedCall;
use super::verdict::TestReport;

/// The version of the receipts' form. One of a newer version is refused, never guessed at.
pub const RECEIPT_FORMAT: u16 = 1;

/// The field that covers all the others.
const RECEIPT_HASH: &str = "receipt_hash";

/// The field that holds signatures. They are of the receipt, and so no part of what it says.
pub(super) const SIGNED: &str = "signed";

/// What became of an item. What was not published is counted in the metrics and listed nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemOutcome {
    pub receipt_id: String,
    pub plan_id: String,
    /// The level of the plan, from 0.
    pub level: u64,
    pub work_item: WorkItem,
    pub status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial_reason: Option<String>,
    /// The state that the item began with: that of its level.
    pub before_hash: Hash,
    /// The state of its copy at the end, or the one before where nothing was published.
    pub after_hash: Hash,
    /// The user's tree around the publishing.
    pub tree_before: Hash,
    pub tree_after: Hash,
    pub deltas: Deltas,
    pub artifacts: Vec<Artifact>,
    pub tool_trace: Vec<TracedCall>,
    pub metrics: Metrics,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestReport>,
    /// Absent where the item never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunRecord>,
    /// Of the programs that did it, by name.
    pub versions: BTreeMap<String, String>,
    /// Whether somebody else changed the tree after it was frozen for the item and before the item was sealed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_meanwhile: bool,
    /// Files of which an item of the same level had changed other lines: what was in the tree, and what is there with
    /// the lines of both. The deltas say what this item changed of the state that it began with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Change>,
    /// What came of it before it was begun again, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_attempts: Vec<EarlierAttempt>,
}

/// What came of an item before it was begun again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierAttempt {
    /// Absent where no run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub execution_time_ms: u64,
}

/// What the log of the run says, and stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub run_id: RunId,
    pub started_at: Millis,
    pub ended_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<TerminationKind>,
    /// The last hash of the log's chain.
    pub event_head: Hash,
    pub capsule_hash: Hash,
    /// SHA-256 of [`prompt_of`](super::prompt_of), in hexadecimal digits.
    pub prompt_hash: String,
    pub policy_hash: Hash,
    pub tool_catalog_hash: Hash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxConfig>>,
    pub sandbox_held: Vec<String>,
}

impl RunRecord {
    pub fn new(capsule: &Capsule, prompt_hash: String) -> Self {
        Self {
            run_id: capsule.run.clone(),
            started_at: capsule.started_at,
            ended_at: capsule.ended_at,
            termination: capsule.termination.as_ref().map(|it| it.kind),
            event_head: capsule.event_head,
            capsule_hash: capsule.capsule_hash,
            prompt_hash,
            policy_hash: capsule.policy_hash,
            tool_catalog_hash: capsule.tool_catalog_hash,
            sandbox: capsule.sandbox.clone(),
            sandbox_held: capsule.sandbox_held.iter().cloned().collect(),
        }
    }
}

/// What an item took, in the words of its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    pub execution_time_ms: u64,
    pub tool_ops_count: u64,
    pub delta_size: u64,
    pub files_touched: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_passed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_failed: Option<u64>,
}

impl ItemOutcome {
    /// The outcome of an item that was not published: the tree is what it was. Callers add what they know.
    pub fn unpublished(
        receipt_id: String,
        plan_id: String,
        level: u64,
        work_item: WorkItem,
        status: WorkStatus,
        tree: Hash,
    ) -> Self {
        Self {
            receipt_id,
            plan_id,
            level,
            work_item,
            status,
            error: None,
            denial_reason: None,
            before_hash: tree,
            after_hash: tree,
            tree_before: tree,
            tree_after: tree,
            deltas: Deltas::default(),
            artifacts: vec![],
            tool_trace: vec![],
            metrics: Metrics::default(),
            tests: None,
            run: None,
            versions: BTreeMap::new(),
            changed_meanwhile: false,
            merged: vec![],
            earlier_attempts: vec![],
        }
    }

    /// Adds what a run did, whatever became of it.
    pub fn with_run(mut self, capsule: &Capsule, prompt_hash: String) -> Self {
        let footprint = capsule.footprint;
        self.metrics.tool_ops_count = footprint.tool_ops;
        self.metrics.delta_size = footprint.delta_size;
        self.metrics.files_touched = footprint.files_touched;
        self.tool_trace = capsule.tool_trace.clone();
        self.run = Some(RunRecord::new(capsule, prompt_hash));
        self
    }

    /// Adds what the tests said.
    pub fn with_tests(mut self, tests: TestReport) -> Self {
        self.metrics.tests_passed = tests.counts.map(|it| it.passed);
        self.metrics.tests_failed = tests.counts.map(|it| it.failed);
        self.tests = Some(tests);
        self
    }

    /// Makes it a success: the changes of the capsule are in the user's tree, which is `tree_after` now.
    pub fn published(mut self, capsule: &Capsule, tree_before: Hash, tree_after: Hash) -> Self {
        self.status = WorkStatus::Success;
        self.before_hash = capsule.before_hash;
        self.after_hash = capsule.after_hash;
        self.tree_before = tree_before;
        self.tree_after = tree_after;
        self.deltas = capsule.deltas.clone();
        self.artifacts = capsule.artifacts.clone();
        self
    }
}

/// An outcome that was sealed: its place in the chain of its tree, and a hash over everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub format: u16,
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
    #[serde(default)]
    pub previous_receipt_hash: Option<Hash>,
    /// Whether the tree was not as the receipt before had left it, or was changed while the item was worked on:
    /// somebody else was there.
    pub tree_changed_outside: bool,
    pub receipt_hash: Hash,
}

/// Whether the changes of a run were admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    pub admitted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the next receipt of a chain needs to know of the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptLink {
    pub receipt_hash: Hash,
    pub chain_index: u64,
    pub sealed_at: Millis,
    pub tree_after: Hash,
}

impl ItemOutcome {
    /// What is denied was not admitted; what was tested or published was.
    fn admission(&self) -> Option<Admission> {
        let admitted = match self.status {
            WorkStatus::Success => true,
            WorkStatus::Denied => false,
            WorkStatus::Failure | WorkStatus::Timeout => {
                self.tests.as_ref()?;
                true
            }
        };
        let reason = self.denial_reason.clone();
        Some(Admission { admitted, reason })
    }
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

    pub(super) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The hash over all fields but the one that holds it and the signatures.
fn hash_without_itself(receipt: &Value) -> Hash {
    let mut others = receipt.clone();
    if let Value::Object(fields) = &mut others {
        fields.remove(RECEIPT_HASH);
        fields.remove(SIGNED);
    }
    Hash::of(canonical(&others).as_bytes())
}
