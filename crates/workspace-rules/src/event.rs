//! What happened in a workspace, in the past tense.

use bonded_kernel::{
    EventId, Millis, NoteId, OperationId, RuleId, RunId, Text, UserId, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::automation::{Issue, Operation, RunFinished, RunQueued};
use super::change::Actor;
use super::metadata::Metadata;
use super::note::{AccessScope, WorkspaceState};
use super::role::Role;
use super::rule::Rule;

/// An event as it stands in its workspace's stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    pub event_id: EventId,
    pub workspace_id: WorkspaceId,
    /// One more than the event before, beginning with 1.
    pub event_seq: u64,
    pub at: Millis,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<NoteId>,
    /// The note's version after the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    pub chain: Chain,
    #[serde(flatten)]
    pub event: WorkspaceEvent,
}

/// How far an event is from what a person did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// 0 for what a person wrote; one more than the triggering event's for what a rule's run wrote.
    pub depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EventId>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event_type", content = "payload")]
pub enum WorkspaceEvent {
    #[serde(rename = "workspace.created")]
    WorkspaceCreated { name: String },
    #[serde(rename = "workspace.updated")]
    WorkspaceUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<WorkspaceState>,
    },
    #[serde(rename = "member.set")]
    MemberSet(MemberSet),
    #[serde(rename = "member.removed")]
    MemberRemoved { user_id: UserId },
    #[serde(rename = "note.created")]
    NoteCreated(Box<NoteCreated>),
    #[serde(rename = "note.updated")]
    NoteUpdated(Box<NoteUpdated>),
    #[serde(rename = "note.title_changed")]
    NoteTitleChanged { note_id: NoteId, title: String },
    #[serde(rename = "note.deleted")]
    NoteDeleted { note_id: NoteId },
    #[serde(rename = "note.undeleted")]
    NoteUndeleted { note_id: NoteId },
    #[serde(rename = "note.metadata_set")]
    NoteMetadataSet {
        note_id: NoteId,
        key: String,
        value: Value,
    },
    #[serde(rename = "note.metadata_deleted")]
    NoteMetadataDeleted { note_id: NoteId, key: String },
    #[serde(rename = "rule.created")]
    RuleCreated { rule: Box<Rule> },
    #[serde(rename = "rule.updated")]
    RuleUpdated { rule: Box<Rule> },
    #[serde(rename = "rule.deleted")]
    RuleDeleted { rule_id: RuleId },
    #[serde(rename = "automation_queued")]
    AutomationQueued(RunQueued),
    #[serde(rename = "automation_running")]
    AutomationRunning { run_id: RunId, rule_id: RuleId },
    #[serde(rename = "automation_succeeded")]
    AutomationSucceeded(Box<RunFinished>),
    #[serde(rename = "automation_failed")]
    AutomationFailed(Box<RunFinished>),
    #[serde(rename = "automation_cancelled")]
    AutomationCancelled(Box<RunFinished>),
    #[serde(rename = "operation.proposed")]
    OperationProposed(Box<Operation>),
    #[serde(rename = "operation.applied")]
    OperationApplied {
        operation_id: OperationId,
        run_id: RunId,
    },
    #[serde(rename = "operation.rejected")]
    OperationRejected {
        operation_id: OperationId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reject_reason: Option<String>,
    },
    #[serde(rename = "issue.recorded")]
    IssueRecorded(Issue),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSet {
    pub user_id: UserId,
    pub role: Role,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteCreated {
    pub note_id: NoteId,
    pub title: String,
    pub markdown: Text,
    pub note_kind: String,
    pub access_scope: AccessScope,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What became different; what is absent stayed as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteUpdated {
    pub note_id: NoteId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_scope: Option<AccessScope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// Only what was set; the other metadata stayed.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl WorkspaceEvent {
    /// The note that the event is about.
    pub fn note_id(&self) -> Option<NoteId> {
        match self {
            Self::NoteCreated(created) => Some(created.note_id),
            Self::NoteUpdated(updated) => Some(updated.note_id),
            Self::NoteTitleChanged { note_id, .. }
            | Self::NoteDeleted { note_id }
            | Self::NoteUndeleted { note_id }
            | Self::NoteMetadataSet { note_id, .. }
            | Self::NoteMetadataDeleted { note_id, .. } => Some(*note_id),
            Self::WorkspaceCreated { .. }
            | Self::WorkspaceUpdated { .. }
            | Self::MemberSet(_)
            | Self::MemberRemoved { .. }
            | Self::RuleCreated { .. }
            | Self::RuleUpdated { .. }
            | Self::RuleDeleted { .. }
            | Self::AutomationQueued(_)
            | Self::AutomationRunning { .. }
            | Self::AutomationSucceeded(_)
            | Self::AutomationFailed(_)
            | Self::AutomationCancelled(_)
            | Self::OperationProposed(_)
            | Self::OperationApplied { .. }
            | Self::OperationRejected { .. }
            | Self::IssueRecorded(_) => None,
        }
    }

    /// The event's long text, where it has one.
    pub fn markdown(&self) -> Option<&Text> {
        match self {
            Self::NoteCreated(created) => Some(&created.markdown),
            Self::NoteUpdated(updated) => updated.markdown.as_ref(),
            Self::WorkspaceCreated { .. }
            | Self::WorkspaceUpdated { .. }
            | Self::MemberSet(_)
            | Self::MemberRemoved { .. }
            | Self::NoteTitleChanged { .. }
            | Self::NoteDeleted { .. }
            | Self::NoteUndeleted { .. }
            | Self::NoteMetadataSet { .. }
            | Self::NoteMetadataDeleted { .. }
            | Self::RuleCreated { .. }
            | Self::RuleUpdated { .. }
            | Self::RuleDeleted { .. }
            | Self::AutomationQueued(_)
            | Self::AutomationRunning { .. }
            | Self::AutomationSucceeded(_)
            | Self::AutomationFailed(_)
            | Self::AutomationCancelled(_)
            | Self::OperationProposed(_)
            | Self::OperationApplied { .. }
            | Self::OperationRejected { .. }
            | Self::IssueRecorded(_) => None,
        }
    }

    /// The same, to put another in its place.
    pub fn markdown_mut(&mut self) -> Option<&mut Text> {
        match self {
            Self::NoteCreated(created) => Some(&mut created.markdown),
            Self::NoteUpdated(updated) => updated.markdown.as_mut(),
            Self::WorkspaceCreated { .. }
            | Self::WorkspaceUpdated { .. }
            | Self::MemberSet(_)
            | Self::MemberRemoved { .. }
            | Self::NoteTitleChanged { .. }
            | Self::NoteDeleted { .. }
            | Self::NoteUndeleted { .. }
            | Self::NoteMetadataSet { .. }
            | Self::NoteMetadataDeleted { .. }
            | Self::RuleCreated { .. }
            | Self::RuleUpdated { .. }
            | Self::RuleDeleted { .. }
            | Self::AutomationQueued(_)
            | Self::AutomationRunning { .. }
            | Self::AutomationSucceeded(_)
            | Self::AutomationFailed(_)
            | Self::AutomationCancelled(_)
            | Self::OperationProposed(_)
            | Self::OperationApplied { .. }
            | Self::OperationRejected { .. }
            | Self::IssueRecorded(_) => None,
        }
    }

    /// The event's name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WorkspaceCreated { .. } => "workspace.created",
            Self::WorkspaceUpdated { .. } => "workspace.updated",
            Self::MemberSet(_) => "member.set",
            Self::MemberRemoved { .. } => "member.removed",
            Self::NoteCreated(_) => "note.created",
            Self::NoteUpdated(_) => "note.updated",
            Self::NoteTitleChanged { .. } => "note.title_changed",
            Self::NoteDeleted { .. } => "note.deleted",
            Self::NoteUndeleted { .. } => "note.undeleted",
            Self::NoteMetadataSet { .. } => "note.metadata_set",
            Self::NoteMetadataDeleted { .. } => "note.metadata_deleted",
            Self::RuleCreated { .. } => "rule.created",
            Self::RuleUpdated { .. } => "rule.updated",
            Self::RuleDeleted { .. } => "rule.deleted",
            Self::AutomationQueued(_) => "automation_queued",
            Self::AutomationRunning { .. } => "automation_running",
            Self::AutomationSucceeded(_) => "automation_succeeded",
            Self::AutomationFailed(_) => "automation_failed",
            Self::AutomationCancelled(_) => "automation_cancelled",
            Self::OperationProposed(_) => "operation.proposed",
            Self::OperationApplied { .. } => "operation.applied",
            Self::OperationRejected { .. } => "operation.rejected",
            Self::IssueRecorded(_) => "issue.recorded",
        }
    }
}
