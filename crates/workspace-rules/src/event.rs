//! What happened in a workspace, in the past tense.
//!
//! Events are the truth of a workspace: everything else, the notes, the members, the index, follows from them and can
//! be made anew. A name on the wire never changes, and an event is never altered once it is stored. Each stream is one
//! workspace, numbered without gaps.

use bonded_kernel::{
    EventId, Millis, NoteId, OperationId, RuleId, RunId, Text, UserId, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::Actor;
use super::automation::{Issue, Operation, RunFinished, RunQueued};
use super::note::{AccessScope, Metadata, WorkspaceState};
use super::notice::{Attachment, Notice};
use super::role::Role;
use super::rule::Rule;

/// An event as it stands in its workspace's stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// Derived by the store from the place, the time and the content of the event; rules and chains refer to it.
    pub event_id: EventId,
    /// The stream that it stands in.
    pub workspace_id: WorkspaceId,
    /// One more than the event before, beginning with 1.
    pub event_seq: u64,
    /// The time of the write, as the caller's clock had it; `event_seq` is what orders events.
    pub at: Millis,
    /// Who made the change that it follows from.
    pub actor: Actor,
    /// The note that the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<NoteId>,
    /// The note's version after the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Where it stands in a chain of runs that set one another off.
    pub chain: Chain,
    /// What happened, with its name beside the fields above on the wire.
    #[serde(flatten)]
    pub event: WorkspaceEvent,
}

/// How far an event is from what a person did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// 0 for what a person wrote; one more than the triggering event's for what a rule's run wrote.
    pub depth: u32,
    /// What made the rule fire whose run wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EventId>,
}

/// Each line is an event: its variant, what it holds, and its name on the wire.
macro_rules! events {
    ($(
        $variant:ident $(($payload:ty))? $({ $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? })?
        = $name:literal;
    )*) => {
        /// What happened. [`WorkspaceEvent::subject`] says to what.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "event_type", content = "payload")]
        pub enum WorkspaceEvent {
            $(
                #[serde(rename = $name)]
                $variant $(($payload))? $({ $($(#[$meta])* $field: $type,)* })?,
            )*
        }

        impl WorkspaceEvent {
            /// The event's name on the wire.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}

events! {
    WorkspaceCreated { name: String } = "workspace.created";
    WorkspaceUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<WorkspaceState>,
    } = "workspace.updated";
    MemberSet(MemberSet) = "member.set";
    MemberRemoved { user_id: UserId } = "member.removed";
    NoteCreated(Box<NoteCreated>) = "note.created";
    NoteUpdated(Box<NoteUpdated>) = "note.updated";
    NoteTitleChanged { note_id: NoteId, title: String } = "note.title_changed";
    NoteDeleted { note_id: NoteId } = "note.deleted";
    NoteUndeleted { note_id: NoteId } = "note.undeleted";
    NoteMetadataSet { note_id: NoteId, key: String, value: Value } = "note.metadata_set";
    NoteMetadataDeleted { note_id: NoteId, key: String } = "note.metadata_deleted";
    RuleCreated { rule: Box<Rule> } = "rule.created";
    RuleUpdated { rule: Box<Rule> } = "rule.updated";
    RuleDeleted { rule_id: RuleId } = "rule.deleted";
    AutomationQueued(RunQueued) = "automation_queued";
    AutomationRunning { run_id: RunId, rule_id: RuleId } = "automation_running";
    AutomationSucceeded(Box<RunFinished>) = "automation_succeeded";
    AutomationFailed(Box<RunFinished>) = "automation_failed";
    AutomationCancelled(Box<RunFinished>) = "automation_cancelled";
    OperationProposed(Box<Operation>) = "operation.proposed";
    OperationApplied {
        operation_id: OperationId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        was_edited: bool,
    } = "operation.applied";
    OperationRejected {
        operation_id: OperationId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reject_reason: Option<String>,
    } = "operation.rejected";
    IssueRecorded(Issue) = "issue.recorded";
    IssueClosed {
        issue_id: EventId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    } = "issue.closed";
    NoticePosted(Notice) = "notice.posted";
    HookReceived { rule_id: RuleId, delivery: String, body: Value } = "hook.received";
    AttachmentAdded(Attachment) = "attachment.added";
    AttachmentRemoved { attachment_id: EventId } = "attachment.removed";
}

impl WorkspaceEvent {
    /// The event's long text, where it has one. Whoever keeps an event keeps it apart, and puts it back.
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
            | Self::IssueRecorded(_)
            | Self::IssueClosed { .. }
            | Self::NoticePosted(_)
            | Self::HookReceived { .. }
            | Self::AttachmentAdded(_)
            | Self::AttachmentRemoved { .. } => None,
        }
    }
}

/// Somebody is a member of the workspace now, with this role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSet {
    /// Who is meant.
    pub user_id: UserId,
    /// The role from then on.
    pub role: Role,
}

/// A note as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteCreated {
    /// The id that the caller drew.
    pub note_id: NoteId,
    /// As it was given, or made from the clock where none was.
    pub title: String,
    /// The whole text.
    pub markdown: Text,
    /// A slug; `note` where none was given.
    pub note_kind: String,
    /// For whom the note is meant.
    pub access_scope: AccessScope,
    /// Without blanks around them, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// All of it, with what the kernel says about an agent that made the note.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What became different; what is absent stayed as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteUpdated {
    /// The note that was changed.
    pub note_id: NoteId,
    /// Another title, where the text or something else changed with it; a title alone has an event of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole new text, even where the change came as a patch, so that folding needs no text of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<Text>,
    /// Another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    /// For whom it is meant from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_scope: Option<AccessScope>,
    /// All keywords from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// Only what was set; the other metadata stayed.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}
