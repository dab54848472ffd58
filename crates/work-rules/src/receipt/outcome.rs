//! What became of an item, before it has its place in a chain.

use std::collections::BTreeMap;

use bonded_kernel::{Hash, Millis, RunId, SandboxConfig, TerminationKind};
use serde::{Deserialize, Serialize};

use crate::capsule::{Artifact, Capsule};
use crate::change::Change;
use crate::delta::Deltas;
use crate::item::WorkItem;
use crate::state::WorkStatus;
use crate::trace::TracedCall;
use crate::verdict::TestReport;

/// What became of an item. What was not published is counted in the metrics and listed nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemOutcome {
    /// Drawn anew for each receipt.
    pub receipt_id: String,
    /// The execution of the plan.
    pub plan_id: String,
    /// The level of the plan, from 0.
    pub level: u64,
    /// What was asked.
    pub work_item: WorkItem,
    /// How it ended.
    pub status: WorkStatus,
    /// Why it failed or took too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its changes were not admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial_reason: Option<String>,
    /// The state that the item began with: that of its level.
    pub before_hash: Hash,
    /// The state of its copy at the end, or the one before where nothing was published.
    pub after_hash: Hash,
    /// The user's tree around the publishing.
    pub tree_before: Hash,
    /// The user's tree when the item was sealed.
    pub tree_after: Hash,
    /// What was published.
    pub deltas: Deltas,
    /// The files among that.
    pub artifacts: Vec<Artifact>,
    /// The calls of its run, whatever became of them.
    pub tool_trace: Vec<TracedCall>,
    /// What it took.
    pub metrics: Metrics,
    /// Absent where none ran.
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
    /// How that attempt ended.
    pub status: WorkStatus,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub execution_time_ms: u64,
}

/// What the log of the run says, and stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Whose log it is.
    pub run_id: RunId,
    /// When the log begins.
    pub started_at: Millis,
    /// When its last entry was made.
    pub ended_at: Millis,
    /// Why it ended; absent while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<TerminationKind>,
    /// The last hash of the log's chain.
    pub event_head: Hash,
    /// Over everything that the run did.
    pub capsule_hash: Hash,
    /// SHA-256 of [`prompt_of`](crate::prompt_of), in hexadecimal digits.
    pub prompt_hash: String,
    /// Over what the run was allowed to do.
    pub policy_hash: Hash,
    /// Over the tools that the run had.
    pub tool_catalog_hash: Hash,
    /// What was demanded of the sandbox, where anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxConfig>>,
    /// What held for the processes that calls started, each kind once.
    pub sandbox_held: Vec<String>,
}

impl RunRecord {
    /// What a capsule says of its run. `prompt_hash` is the caller's, who can compute SHA-256.
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
    /// From its beginning to the end of its tests.
    pub execution_time_ms: u64,
    /// Calls that were begun.
    pub tool_ops_count: u64,
    /// Files, and directories that changed by themselves.
    pub delta_size: u64,
    /// Files that came, went or changed.
    pub files_touched: u64,
    /// Absent where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_passed: Option<u64>,
    /// Absent where nobody counted.
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

/// Whether the changes of a run were admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// Whether they were.
    pub admitted: bool,
    /// Why not, where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ItemOutcome {
    /// What is denied was not admitted; what was tested or published was.
    pub(super) fn admission(&self) -> Option<Admission> {
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
