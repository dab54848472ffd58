//! What somebody wants to change in a workspace, and what has to be known to decide about it.

use bonded_kernel::{
    EventId, Hash, Millis, NoteId, OperationId, RuleId, RunAudit, RunId, UserId, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::automation::{AutomationRun, Issue, Operation, Proposal, RunStatus};
use super::code::Code;
use super::metadata::Metadata;
use super::note::{AccessScope, Note, Workspace, WorkspaceState};
use super::patch::PatchOp;
use super::refused::Refused;
use super::role::Role;
use super::rule::{Rule, RuleDraft};

/// Who changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "actor_type", rename_all = "snake_case")]
pub enum Actor {
    User {
        user_id: UserId,
    },
    Agent {
        run_id: RunId,
        rule_id: RuleId,
    },
    /// The program itself, or whoever has its files.
    System,
}

/// What is to be changed. Ids of what is new are drawn by the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    CreateWorkspace {
        workspace_id: WorkspaceId,
        name: String,
    },
    UpdateWorkspace {
        workspace_id: WorkspaceId,
        name: Option<String>,
        state: Option<WorkspaceState>,
    },
    SetMember {
        workspace_id: WorkspaceId,
        user_id: UserId,
        role: Role,
    },
    RemoveMember {
        workspace_id: WorkspaceId,
        user_id: UserId,
    },
    CreateNote(NewNote),
    UpdateNote(NoteWrite),
    DeleteNote {
        note_id: NoteId,
        base_version: Option<u64>,
    },
    UndeleteNote {
        note_id: NoteId,
        base_version: Option<u64>,
    },
    SetMetadata {
        note_id: NoteId,
        base_version: Option<u64>,
        key: String,
        value: Value,
    },
    DeleteMetadata {
        note_id: NoteId,
        base_version: Option<u64>,
        key: String,
    },
    CreateRule {
        rule_id: RuleId,
        draft: Box<RuleDraft>,
    },
    UpdateRule {
        rule_id: RuleId,
        /// The version that the change was made for, where whoever makes it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_version: Option<u64>,
        draft: Box<RuleDraft>,
    },
    DeleteRule {
        rule_id: RuleId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_version: Option<u64>,
    },
    /// Queues a run, or finds the one that was queued for the same event.
    Fire(Fire),
    MoveRun {
        run_id: RunId,
        to: RunMove,
    },
    /// The engine has looked at all events up to `row`, having looked at those up to `after` before; these are the
    /// runs that come of it.
    Considered {
        after: u64,
        row: u64,
        firings: Vec<Fire>,
    },
    /// The engine has looked at all instants of a schedule up to `until`.
    ConsideredSchedule {
        rule_id: RuleId,
        until: Millis,
        firings: Vec<Fire>,
    },
    Propose {
        operation_id: OperationId,
        workspace_id: WorkspaceId,
        proposal: Proposal,
    },
    Review {
        operation_id: OperationId,
        review: Review,
    },
    RecordIssue {
        workspace_id: WorkspaceId,
        issue: Issue,
    },
}

/// A note that is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewNote {
    pub note_id: NoteId,
    pub workspace_id: WorkspaceId,
    /// The clock's date and time where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub markdown: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    #[serde(default)]
    pub access_scope: AccessScope,
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default)]
    pub metadata: Metadata,
}

/// A change of a note, made by somebody who saw it at `base_version`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteWrite {
    pub note_id: NoteId,
    pub base_version: u64,
    pub edit: NoteEdit,
}

/// What is to be different; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoteEdit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole text, or else `patch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<PatchOp>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_scope: Option<AccessScope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// What is to be set; the other metadata stays.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A run that a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    pub run_id: RunId,
    pub rule_id: RuleId,
    pub triggering_event_id: EventId,
    /// The depth of what the run will write.
    pub depth: u32,
}

/// How a run of a rule goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunMove {
    Running,
    Succeeded(RunEnd),
    Failed(RunEnd),
    Cancelled(RunEnd),
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub error_code: Option<String>,
    pub result_json: Value,
    pub audit: Option<RunAudit>,
}

impl RunEnd {
    /// The end of a run that came to nothing, and why.
    pub fn of(code: Code, message: &str) -> Self {
        Self {
            error_code: Some(code.as_str().into()),
            result_json: json!({ "message": message }),
            audit: None,
        }
    }
}

/// What a person says to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Review {
    /// Exactly what has this digest.
    Apply { digest: Hash },
    Reject {
        reject_reason: Option<String>,
        /// Only if this is what waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Hash>,
    },
}

impl Review {
    /// What was looked at is what waits, or nothing is decided.
    pub fn check_meant(&self, operation: &Operation) -> Result<(), Refused> {
        let seen = match self {
            Self::Apply { digest } => Some(*digest),
            Self::Reject { digest, .. } => *digest,
        };
        let digest = operation.digest();
        match seen.is_none_or(|seen| seen == digest) {
            true => Ok(()),
            false => Err(Refused::OtherOperation {
                operation_id: operation.operation_id,
                digest,
            }),
        }
    }
}

/// What a decision depends on: whatever of it the store has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The workspace that the change is in.
    pub workspace: Option<Workspace>,
    /// What the person who makes the change is in that workspace.
    pub role: Option<Role>,
    /// Where the agent's run may write, as long as it has not ended.
    pub agent_workspace: Option<WorkspaceId>,
    /// The note that is changed, or that has the id of the new one.
    pub note: Option<Note>,
    /// What the person whom the change is about is in the workspace.
    pub member: Option<Role>,
    /// Who owns the workspace: one person, but for workspaces of before.
    pub owners: Vec<UserId>,
    /// The owner of the whole installation.
    pub owner_of_all: Option<UserId>,
    /// The rule that the change is about.
    pub rule: Option<Rule>,
    /// Where the event happened that a rule is launched for, if it is one that is known.
    pub event_workspace: Option<WorkspaceId>,
    /// The run that the change is about, or that was queued for the same event.
    pub run: Option<AutomationRun>,
    pub operation: Option<Operation>,
    /// How many operations the agent's run has proposed.
    pub operations: u32,
}

impl RunMove {
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Running => RunStatus::Running,
            Self::Succeeded(_) => RunStatus::Succeeded,
            Self::Failed(_) => RunStatus::Failed,
            Self::Cancelled(_) => RunStatus::Cancelled,
        }
    }
}

impl Change {
    /// What two attempts at the same change have in common: all of it but the ids that are drawn anew each time.
    pub fn fingerprint(&self) -> Hash {
        let mut same = self.clone();
        match &mut same {
            Self::CreateWorkspace { workspace_id, .. } => {
                *workspace_id = WorkspaceId::from_bytes([0; 16]);
            }
            Self::CreateNote(note) => note.note_id = NoteId::from_bytes([0; 16]),
            Self::CreateRule { rule_id, .. } => *rule_id = RuleId::from_bytes([0; 16]),
            // A repetition finds the rule as the first one left it.
            Self::UpdateRule { base_version, .. } => *base_version = None,
            Self::Propose {
                operation_id,
                proposal,
                ..
            } => {
                *operation_id = OperationId::from_bytes([0; 16]);
                if let Proposal::CreateNote(note) = proposal {
                    note.note_id = NoteId::from_bytes([0; 16]);
                }
            }
            Self::UpdateWorkspace { .. }
            | Self::SetMember { .. }
            | Self::RemoveMember { .. }
            | Self::UpdateNote(_)
            | Self::DeleteNote { .. }
            | Self::UndeleteNote { .. }
            | Self::SetMetadata { .. }
            | Self::DeleteMetadata { .. }
            | Self::DeleteRule { .. }
            | Self::Fire(_)
            | Self::MoveRun { .. }
            | Self::Considered { .. }
            | Self::ConsideredSchedule { .. }
            | Self::Review { .. }
            | Self::RecordIssue { .. } => {}
        }
        let written = serde_json::to_vec(&same).unwrap_or_default();
        Hash::of(&written)
    }
}
