//! What a caller wants to change in a workspace, and what has to be known to decide about it.
//!
//! A change is a wish and an event is a fact: `decide` turns the one into the other, given a view. A change carries
//! everything that would make it different the next time, such as drawn ids, so that deciding it is pure. The view is
//! loaded by the store in the same transaction that appends the events; a field that does not matter for a change is
//! left empty.

use bonded_kernel::{
    EventId, Hash, Millis, NoteId, OperationId, RuleId, RunAudit, RunId, UserId, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::automation::{AutomationRun, EditedProposal, Issue, Operation, Proposal, RunStatus};
use super::code::Code;
use super::note::{Note, Workspace, WorkspaceState};
use super::note_write::{NewNote, NoteWrite};
use super::notice::{Attachment, Notice};
use super::refused::Refused;
use super::role::Role;
use super::rule::{Rule, RuleDraft};

/// What is to be changed. Ids of what is new are drawn by the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// Makes a workspace; whoever makes it owns it.
    CreateWorkspace {
        workspace_id: WorkspaceId,
        name: String,
    },
    /// Renames, archives, deletes or restores one. What is absent stays.
    UpdateWorkspace {
        workspace_id: WorkspaceId,
        name: Option<String>,
        state: Option<WorkspaceState>,
    },
    /// Makes somebody a member, or gives a member another role.
    SetMember {
        workspace_id: WorkspaceId,
        user_id: UserId,
        role: Role,
    },
    /// Takes a member out. Whoever is no owner may leave by themselves.
    RemoveMember {
        workspace_id: WorkspaceId,
        user_id: UserId,
    },
    /// Makes a note in a workspace that the actor may write to.
    CreateNote(NewNote),
    /// Changes a note that was read at a version; another version is a conflict.
    UpdateNote(NoteWrite),
    /// Hides a note. Its events stay, and it can be had back.
    DeleteNote {
        note_id: NoteId,
        base_version: Option<u64>,
    },
    /// Brings a deleted note back. A note that is not deleted is refused.
    UndeleteNote {
        note_id: NoteId,
        base_version: Option<u64>,
    },
    /// Sets one key of a note's metadata and leaves the others. Without `base_version` the last write wins.
    SetMetadata {
        note_id: NoteId,
        base_version: Option<u64>,
        key: String,
        value: Value,
    },
    /// Takes one key away; a key that is not there is no error.
    DeleteMetadata {
        note_id: NoteId,
        base_version: Option<u64>,
        key: String,
    },
    /// Makes a rule out of a draft that was checked against the host.
    CreateRule {
        rule_id: RuleId,
        draft: Box<RuleDraft>,
    },
    /// Puts another draft in place of the whole one. The rule stays in its workspace.
    UpdateRule {
        rule_id: RuleId,
        /// The version that the change was made for, where whoever makes it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_version: Option<u64>,
        draft: Box<RuleDraft>,
    },
    /// Deletes a rule. Runs of it that are queued end without beginning.
    DeleteRule {
        rule_id: RuleId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_version: Option<u64>,
    },
    /// Queues a run, or finds the one that was queued for the same event.
    Fire(Fire),
    /// A run goes on, or ends.
    MoveRun { run_id: RunId, to: RunMove },
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
    /// A run in reviewed mode asks a person.
    Propose {
        operation_id: OperationId,
        workspace_id: WorkspaceId,
        proposal: Proposal,
    },
    /// A person decides about what was proposed.
    Review {
        operation_id: OperationId,
        review: Review,
    },
    /// Leaves something for a person to look at.
    RecordIssue {
        workspace_id: WorkspaceId,
        issue: Issue,
    },
    /// A person has looked at it.
    CloseIssue {
        /// The event that recorded it.
        issue_id: EventId,
        reason: Option<String>,
    },
    /// Gives a note one more keyword, whatever version it has.
    AddKeyword { note_id: NoteId, keyword: String },
    /// Puts a note into a folder, whatever version it has.
    MoveNote { note_id: NoteId, folder: String },
    /// A run of a rule leaves a notice for people.
    PostNotice {
        workspace_id: WorkspaceId,
        notice: Notice,
    },
    /// Another server sent something to a rule, and showed that it knows the rule's secret.
    ReceiveHook {
        rule_id: RuleId,
        /// The sender's name for it: the same one is taken in once.
        delivery: String,
        body: Value,
    },
    /// Attaches a file whose content is in its place.
    Attach(Attachment),
    /// Takes a file away from its note; its content stays, because older events name it.
    RemoveAttachment {
        /// The event that added it.
        attachment_id: EventId,
    },
}

/// A run that a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    /// Derived from the rule and the event, so that firing again finds the same run.
    pub run_id: RunId,
    /// The rule that fires.
    pub rule_id: RuleId,
    /// What sets it off. If it is an event that the store knows, it must be of the rule's workspace.
    pub triggering_event_id: EventId,
    /// The depth of what the run will write.
    pub depth: u32,
    /// What the run is asked in place of what the rule asks: of a person who may write rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// How a run of a rule goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunMove {
    /// It is driven now.
    Running,
    /// It reached its goal.
    Succeeded(RunEnd),
    /// It came to nothing; the end says why.
    Failed(RunEnd),
    /// Somebody or its rule ended it.
    Cancelled(RunEnd),
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The stable name of why it did not succeed.
    pub error_code: Option<String>,
    /// What it came to, as its kind of action tells it.
    pub result_json: Value,
    /// Of an agent in loops; absent for other kinds of action, and where the run never began.
    pub audit: Option<RunAudit>,
}

impl RunEnd {
    /// The end of a run that came to nothing, and why.
    /// The message is for people; programs go by the code.
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
    /// Exactly what has this digest, or what the person who saw it wrote in its place.
    Apply {
        digest: Hash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<EditedProposal>,
    },
    /// Nothing of it is written.
    Reject {
        reject_reason: Option<String>,
        /// Only if this is what waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Hash>,
    },
}

impl Review {
    /// What was looked at is what waits, or nothing is decided.
    /// A page that shows an operation may be older than the operation: applying by id alone could write what nobody has
    /// seen.
    pub fn check_meant(&self, operation: &Operation) -> Result<(), Refused> {
        let seen = match self {
            Self::Apply { digest, .. } => Some(*digest),
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
    /// What is judged, or what has the id of the new operation.
    pub operation: Option<Operation>,
    /// How many operations the agent's run has proposed.
    pub operations: u32,
    /// The issue that the change is about.
    pub issue: Option<IssueStanding>,
    /// How many attachments the note has.
    pub attachments: u64,
    /// Whether the attachment that the change is about was removed; absent where there is none.
    pub is_attachment_removed: Option<bool>,
}

/// An issue, as far as a decision about it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueStanding {
    /// Where it was recorded.
    pub workspace_id: WorkspaceId,
    /// Whether somebody has closed it.
    pub is_closed: bool,
}

impl RunMove {
    /// The status that the run has then.
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
    /// A client that repeats a request draws new ids; the fingerprint says whether it means the same change, so that a
    /// repeated key with another change behind it is found out.
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
            | Self::RecordIssue { .. }
            | Self::CloseIssue { .. }
            | Self::AddKeyword { .. }
            | Self::MoveNote { .. }
            | Self::PostNotice { .. }
            | Self::ReceiveHook { .. }
            | Self::Attach(_)
            | Self::RemoveAttachment { .. } => {}
        }
        let written = serde_json::to_vec(&same).unwrap_or_default();
        Hash::of(&written)
    }
}
