//! Runs of rules, what they propose to a person, and what they want a person to look at.
//!
//! These are the records that events of runs carry and fold into. A run goes from queued to running to one of three
//! ends, and never back; `decide` guards the steps. What a run in reviewed mode wants to write waits as an operation,
//! and is written only when a person applies exactly what they have seen.

use bonded_kernel::{EventId, Hash, Millis, OperationId, RuleId, RunAudit, RunId, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::Actor;
use super::note_write::{NewNote, NoteWrite};

/// A run of a rule, as it was queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunQueued {
    /// Derived from the rule and the event, so that the same firing can only be queued once.
    pub run_id: RunId,
    /// The rule that fired.
    pub rule_id: RuleId,
    /// A stored event, or the id that an instant of a schedule or a launch by hand stands for.
    pub triggering_event_id: EventId,
    /// The depth of what the run will write.
    pub depth: u32,
    /// What the person who launched it asked, in place of what the rule asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// A run of a rule, as it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// The run that ended.
    pub run_id: RunId,
    /// The rule that it was a run of.
    pub rule_id: RuleId,
    /// The stable name of the reason; absent where the run reached its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What the run came to, as its kind of action tells it; null where there is nothing to tell.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result_json: Value,
    /// What an agent in loops did, with the prompt that it was given; absent for other kinds of action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<RunAudit>,
}

/// How far a run of a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It waits for its turn.
    Queued,
    /// It is driven, or waits for a person.
    Running,
    /// It reached its end.
    Succeeded,
    /// It came to nothing, and its code says why.
    Failed,
    /// Somebody ended it, or its rule did not want it any more.
    Cancelled,
}

impl RunStatus {
    /// Every status, in the order in which a run can come to them.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether nothing follows any more.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// A run of a rule as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomationRun {
    /// The name that it was queued under.
    pub run_id: RunId,
    /// The rule that fired.
    pub rule_id: RuleId,
    /// The workspace of the rule, which is the only one that the run may write to.
    pub workspace_id: WorkspaceId,
    /// What set the rule off.
    pub triggering_event_id: EventId,
    /// As the last event of the run left it.
    pub status: RunStatus,
    /// The depth of what the run writes, which its rule bounds.
    pub depth: u32,
    /// What the person who launched it asked, in place of what the rule asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// When the rule fired.
    pub queued_at: Millis,
    /// When it was driven for the first time; absent while it is queued, or where it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Millis>,
    /// When it ended, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Millis>,
    /// Only of a run that did not reach its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Null until the run has ended, and where it left nothing.
    #[serde(default)]
    pub result_json: Value,
    /// Of an agent in loops, once the run has ended; absent for other kinds of action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<RunAudit>,
}

/// What a run in reviewed mode wants to do, until a person has judged it and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Drawn by whoever proposes.
    pub operation_id: OperationId,
    /// The run that proposed it.
    pub run_id: RunId,
    /// The workspace of the run, where the write will happen.
    pub workspace_id: WorkspaceId,
    /// The place among the operations of its run.
    pub operation_index: u32,
    /// As it would be written, with the marks of the agent that made it.
    pub proposal: Proposal,
    /// What a person made of it.
    pub status: OperationStatus,
    /// Why a person rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject_reason: Option<String>,
    /// When the run proposed it.
    pub proposed_at: Millis,
    /// When a person applied or rejected it; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Millis>,
    /// Who applied or rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Actor>,
    /// Whether the person who applied it had changed it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_edited: bool,
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

/// What a person writes in the place of what was proposed; what is absent stays as it was proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedProposal {
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// All keywords.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
}

impl EditedProposal {
    /// The proposal as the person wants it; `None` for what has neither title, text nor keywords.
    pub(super) fn over(&self, proposal: &Proposal) -> Option<Proposal> {
        let edit = self.clone();
        match proposal.clone() {
            Proposal::CreateNote(mut new) => {
                new.title = edit.title.or(new.title);
                new.markdown = edit.markdown.unwrap_or(new.markdown);
                new.keywords = edit.keywords.unwrap_or(new.keywords);
                Some(Proposal::CreateNote(new))
            }
            Proposal::UpdateNote(mut write) => {
                write.edit.title = edit.title.or(write.edit.title);
                write.edit.keywords = edit.keywords.or(write.edit.keywords);
                if edit.markdown.is_some() {
                    write.edit.markdown = edit.markdown;
                    write.edit.patch = None;
                }
                Some(Proposal::UpdateNote(write))
            }
            Proposal::RecordIssue { .. } => None,
        }
    }
}

/// The write that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proposal {
    /// A new note.
    CreateNote(NewNote),
    /// A change of a note that the run has read.
    UpdateNote(NoteWrite),
    /// Something for a person to look at.
    RecordIssue {
        key: String,
        value: String,
        metadata: Value,
    },
}

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    /// Nobody has judged it yet.
    Pending,
    /// A person applied it, and what it wanted is written.
    Applied,
    /// A person rejected it, and nothing is written.
    Rejected,
}

/// Something that an agent wants a person to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// What it is about, in at most 500 characters.
    pub key: String,
    /// What is to be looked at; with the metadata at most 64 KiB.
    pub value: String,
    /// Any JSON that the agent adds.
    #[serde(default)]
    pub metadata: Value,
    /// The run that left it. For an agent `decide` sets it, whatever the agent wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}
