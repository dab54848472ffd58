//! What an event is about, and what it says of that: the one list that tells the events apart by what they change.
//!
//! Whoever folds, stores or follows events asks [`WorkspaceEvent::subject`], so that a new event of a note is thought of
//! by whoever follows notes and by nobody else.

use bonded_kernel::{EventId, NoteId, OperationId, RuleId, RunId, UserId};
use serde_json::Value;

use super::automation::{Issue, Operation, RunFinished, RunQueued, RunStatus};
use super::event::{MemberSet, NoteCreated, NoteUpdated, WorkspaceEvent};
use super::note::WorkspaceState;
use super::notice::{Attachment, Notice};
use super::rule::Rule;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventSubject<'a> {
    /// The workspace itself.
    Workspace(WorkspaceFact<'a>),
    /// Who is a member of it.
    Member(MemberFact<'a>),
    /// A note of it.
    Note(NoteId, NoteFact<'a>),
    /// A rule of it.
    Rule(RuleFact<'a>),
    /// A run of a rule.
    Run(&'a RunId, RunFact<'a>),
    /// What a run proposes to a person.
    Operation(OperationFact<'a>),
    /// What a person is to look at.
    Issue(IssueFact<'a>),
    /// What a rule wants people to see.
    Notice(&'a Notice),
    /// What another server sent to a rule.
    Hook(RuleId, &'a Value),
    /// A file of a note.
    Attachment(AttachmentFact<'a>),
}

/// What became of an issue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IssueFact<'a> {
    /// It waits for a person.
    Recorded(&'a Issue),
    /// A person has looked at it. The id is that of the event that recorded it.
    Closed(EventId),
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttachmentFact<'a> {
    /// A note has it.
    Added(&'a Attachment),
    /// The note has it no more. The id is that of the event that added it.
    Removed(EventId),
}

/// What became of the workspace itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkspaceFact<'a> {
    /// The first event of every workspace.
    Created { name: &'a str },
    /// What is absent stayed as it was.
    Updated {
        name: Option<&'a str>,
        state: Option<WorkspaceState>,
    },
}

/// Who became a member, or is none any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemberFact<'a> {
    /// Somebody became a member, or has another role.
    Set(&'a MemberSet),
    /// Somebody is no member any more.
    Removed(UserId),
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoteFact<'a> {
    /// The first event of the note.
    Created(&'a NoteCreated),
    /// Some of its fields changed.
    Updated(&'a NoteUpdated),
    /// Only the title changed.
    TitleChanged(&'a str),
    /// It is hidden from lists and searches.
    Deleted,
    /// It is there again, as it was.
    Undeleted,
    /// One key was set; the others stayed.
    MetadataSet { key: &'a str, value: &'a Value },
    /// One key was taken away.
    MetadataDeleted { key: &'a str },
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleFact<'a> {
    /// The rule as it began, whole.
    Created(&'a Rule),
    /// The rule as it became, whole.
    Updated(&'a Rule),
    /// It fires for nothing any more.
    Deleted(RuleId),
}

/// How far a run of a rule came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunFact<'a> {
    /// A rule fired.
    Queued(&'a RunQueued),
    /// It is driven, for the first time or again.
    Running,
    /// It reached its goal.
    Succeeded(&'a RunFinished),
    /// It came to nothing.
    Failed(&'a RunFinished),
    /// It was ended before it came to anything.
    Cancelled(&'a RunFinished),
}

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperationFact<'a> {
    /// It waits for a person.
    Proposed(&'a Operation),
    /// What it wanted is written, by the event before this one.
    Applied {
        operation_id: OperationId,
        was_edited: bool,
    },
    /// Nothing of it is written.
    Rejected {
        operation_id: OperationId,
        reject_reason: Option<&'a str>,
    },
}

impl RunFact<'_> {
    /// The status that the run has then.
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Queued(_) => RunStatus::Queued,
            Self::Running => RunStatus::Running,
            Self::Succeeded(_) => RunStatus::Succeeded,
            Self::Failed(_) => RunStatus::Failed,
            Self::Cancelled(_) => RunStatus::Cancelled,
        }
    }
}

impl WorkspaceEvent {
    /// What the event is about, and what it says of it.
    pub fn subject(&self) -> EventSubject<'_> {
        match self {
            Self::WorkspaceCreated { name } => {
                EventSubject::Workspace(WorkspaceFact::Created { name })
            }
            Self::WorkspaceUpdated { name, state } => {
                EventSubject::Workspace(WorkspaceFact::Updated {
                    name: name.as_deref(),
                    state: *state,
                })
            }
            Self::MemberSet(set) => EventSubject::Member(MemberFact::Set(set)),
            Self::MemberRemoved { user_id } => EventSubject::Member(MemberFact::Removed(*user_id)),
            Self::NoteCreated(it) => EventSubject::Note(it.note_id, NoteFact::Created(it)),
            Self::NoteUpdated(it) => EventSubject::Note(it.note_id, NoteFact::Updated(it)),
            Self::NoteTitleChanged { note_id, title } => {
                EventSubject::Note(*note_id, NoteFact::TitleChanged(title))
            }
            Self::NoteDeleted { note_id } => EventSubject::Note(*note_id, NoteFact::Deleted),
            Self::NoteUndeleted { note_id } => EventSubject::Note(*note_id, NoteFact::Undeleted),
            Self::NoteMetadataSet {
                note_id,
                key,
                value,
            } => EventSubject::Note(*note_id, NoteFact::MetadataSet { key, value }),
            Self::NoteMetadataDeleted { note_id, key } => {
                EventSubject::Note(*note_id, NoteFact::MetadataDeleted { key })
            }
            Self::RuleCreated { rule } => EventSubject::Rule(RuleFact::Created(rule)),
            Self::RuleUpdated { rule } => EventSubject::Rule(RuleFact::Updated(rule)),
            Self::RuleDeleted { rule_id } => EventSubject::Rule(RuleFact::Deleted(*rule_id)),
            Self::AutomationQueued(it) => EventSubject::Run(&it.run_id, RunFact::Queued(it)),
            Self::AutomationRunning { run_id, .. } => EventSubject::Run(run_id, RunFact::Running),
            Self::AutomationSucceeded(it) => EventSubject::Run(&it.run_id, RunFact::Succeeded(it)),
            Self::AutomationFailed(it) => EventSubject::Run(&it.run_id, RunFact::Failed(it)),
            Self::AutomationCancelled(it) => EventSubject::Run(&it.run_id, RunFact::Cancelled(it)),
            Self::OperationProposed(it) => EventSubject::Operation(OperationFact::Proposed(it)),
            Self::OperationApplied {
                operation_id,
                was_edited,
                ..
            } => EventSubject::Operation(OperationFact::Applied {
                operation_id: *operation_id,
                was_edited: *was_edited,
            }),
            Self::OperationRejected {
                operation_id,
                reject_reason,
                ..
            } => EventSubject::Operation(OperationFact::Rejected {
                operation_id: *operation_id,
                reject_reason: reject_reason.as_deref(),
            }),
            Self::IssueRecorded(issue) => EventSubject::Issue(IssueFact::Recorded(issue)),
            Self::IssueClosed { issue_id, .. } => EventSubject::Issue(IssueFact::Closed(*issue_id)),
            Self::NoticePosted(notice) => EventSubject::Notice(notice),
            Self::HookReceived { rule_id, body, .. } => EventSubject::Hook(*rule_id, body),
            Self::AttachmentAdded(it) => EventSubject::Attachment(AttachmentFact::Added(it)),
            Self::AttachmentRemoved { attachment_id } => {
                EventSubject::Attachment(AttachmentFact::Removed(*attachment_id))
            }
        }
    }

    /// The one rule that something was sent to, and what it was.
    pub fn hook(&self) -> Option<(RuleId, &Value)> {
        let EventSubject::Hook(rule_id, body) = self.subject() else {
            return None;
        };
        Some((rule_id, body))
    }

    /// The notice that was posted.
    pub fn notice(&self) -> Option<&Notice> {
        let EventSubject::Notice(notice) = self.subject() else {
            return None;
        };
        Some(notice)
    }

    /// The file that was attached.
    pub fn attachment(&self) -> Option<&Attachment> {
        let EventSubject::Attachment(AttachmentFact::Added(attachment)) = self.subject() else {
            return None;
        };
        Some(attachment)
    }

    /// The note that the event is about.
    pub fn note_id(&self) -> Option<NoteId> {
        match self.subject() {
            EventSubject::Note(note_id, _) => Some(note_id),
            EventSubject::Workspace(_)
            | EventSubject::Member(_)
            | EventSubject::Rule(_)
            | EventSubject::Run(..)
            | EventSubject::Operation(_)
            | EventSubject::Issue(_)
            | EventSubject::Notice(_)
            | EventSubject::Hook(..)
            | EventSubject::Attachment(_) => None,
        }
    }
}
