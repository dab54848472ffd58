//! Runs of rules, what they propose to a person, and what they want a person to look at.

use bonded_kernel::{EventId, Hash, Millis, OperationId, RuleId, RunAudit, RunId, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::{Actor, NewNote, NoteWrite};

/// A run of a rule, as it was queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunQueued {
    pub run_id: RunId,
    pub rule_id: RuleId,
    pub triggering_event_id: EventId,
    /// The depth of what the run will write.
    pub depth: u32,
}

/// A run of a rule, as it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    pub run_id: RunId,
    pub rule_id: RuleId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result_json: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<RunAudit>,
}

/// How far a run of a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl RunStatus {
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// A run of a rule as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomationRun {
    pub run_id: RunId,
    pub rule_id: RuleId,
    pub workspace_id: WorkspaceId,
    pub triggering_event_id: EventId,
    pub status: RunStatus,
    pub depth: u32,
    pub queued_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default)]
    pub result_json: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<RunAudit>,
}

/// What a run in reviewed mode wants to do, until a person has judged it and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    pub operation_id: OperationId,
    pub run_id: RunId,
    pub workspace_id: WorkspaceId,
    /// The place among the operations of its run.
    pub operation_index: u32,
    pub proposal: Proposal,
    pub status: OperationStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject_reason: Option<String>,
    pub proposed_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Actor>,
}

impl Operation {
    /// Identifies the operation with its run, its place and everything that it would write: what a review is bound to.
    pub fn digest(&self) -> Hash {
        let proposal = serde_json::to_vec(&self.proposal);
        let proposal = proposal.expect("all keys of a proposal are strings");
        let mut bytes = b"bonded operation 1".to_vec();
        bytes.extend_from_slice(self.operation_id.as_bytes());
        bytes.extend_from_slice(self.workspace_id.as_bytes());
        bytes.extend_from_slice(&self.operation_index.to_le_bytes());
        // Every part with its length before it, so that no two operations are written alike.
        for part in [self.run_id.as_str().as_bytes(), &proposal] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Hash::of(&bytes)
    }
}

/// The write that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proposal {
    CreateNote(NewNote),
    UpdateNote(NoteWrite),
    RecordIssue {
        key: String,
        value: String,
        metadata: Value,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    Pending,
    Applied,
    Rejected,
}

/// Something that an agent wants a person to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub key: String,
    pub value: String,
    #[serde(default)]
    pub metadata: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}
