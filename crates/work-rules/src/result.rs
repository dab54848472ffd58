//! The result of an item, in the words of its contract: the same fields for every outcome.

use std::collections::BTreeMap;

use bonded_kernel::Hash;
use serde::{Deserialize, Serialize};

use super::capsule::{ArtifactKind, artifacts};
use super::item::{AgentId, ItemId};
use super::receipt::{Metrics, Receipt};
use super::state::WorkStatus;

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The item.
    pub work_item_id: ItemId,
    /// Who worked on it.
    pub agent_id: AgentId,
    /// Its level in the plan, from 0.
    pub level: u64,
    /// How it ended.
    pub status: WorkStatus,
    /// Names its receipt.
    pub receipt_id: String,
    /// Where the receipt lies.
    pub receipt_path: String,
    /// Absolute paths.
    pub modified_files: Vec<String>,
    /// Absolute paths of what was not there before.
    pub created_files: Vec<String>,
    /// Absolute paths of what is gone.
    pub deleted_files: Vec<String>,
    /// The state of the item's copy at the end; the state before where nothing was published.
    pub output_hash: Hash,
    /// By absolute path; what is gone has none.
    pub artifact_hashes: BTreeMap<String, Hash>,
    /// What it took.
    pub metrics: Metrics,
    /// What the tests printed, where they ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_output: Option<String>,
    /// Works the item off again; absent where it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_script: Option<String>,
    /// Why it failed or took too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its changes were not admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial_reason: Option<String>,
}

/// Where the files of a result lie; only the host knows.
#[derive(Clone, Copy, Debug)]
pub struct ResultFiles<'a> {
    /// The tree's absolute path.
    pub root: &'a str,
    /// The receipt's path.
    pub receipt: &'a str,
    /// The path of the script that replays the item.
    pub replay_script: Option<&'a str>,
}

impl RunResult {
    /// Tells what a receipt says, with absolute paths.
    pub fn new(receipt: &Receipt, files: ResultFiles<'_>, test_output: Option<String>) -> Self {
        let outcome = &receipt.outcome;
        let root = files.root.trim_end_matches('/');
        let of_kind = |kind: ArtifactKind| {
            let meant = outcome.artifacts.iter().filter(|it| it.kind == kind);
            meant.map(|it| format!("{root}/{}", it.path)).collect()
        };
        // Where lines of another item are in a file too, the file is what both made of it.
        let merged = artifacts(&outcome.merged);
        let hashes = outcome.artifacts.iter().chain(&merged).filter_map(|it| {
            let hash = it.hash?;
            Some((format!("{root}/{}", it.path), hash))
        });
        Self {
            work_item_id: outcome.work_item.id.clone(),
            agent_id: outcome.work_item.agent_id,
            level: outcome.level,
            status: outcome.status,
            receipt_id: outcome.receipt_id.clone(),
            receipt_path: files.receipt.into(),
            modified_files: of_kind(ArtifactKind::Modified),
            created_files: of_kind(ArtifactKind::Created),
            deleted_files: of_kind(ArtifactKind::Deleted),
            output_hash: outcome.after_hash,
            artifact_hashes: hashes.collect(),
            metrics: outcome.metrics,
            test_output,
            proof_script: files.replay_script.map(str::to_owned),
            error: outcome.error.clone(),
            denial_reason: outcome.denial_reason.clone(),
        }
    }
}
