//! Why a change was not made.
//!
//! A refusal is an answer, not a failure: nothing was written, and the same request comes to the same refusal until
//! something changes. Each has a stable code and a sentence that says what to do; what a program needs beside the code
//! is in `details`. Failures of the store are no part of it.

use bonded_kernel::{EventId, Hash, NoteId, OperationId, RuleId, RunId, UserId, WorkspaceId};
use serde_json::{Value, json};

use super::automation::RunStatus;
use super::code::Code;
use super::note::{MARKDOWN_BYTES_MAX, Note};
use super::patch::BadPatch;
use super::role::Role;

/// Why a change was not made; nothing of it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Wrong in itself, with a sentence that says how.
    #[error("{why}")]
    BadRequest { why: String },
    /// The patch does not fit the text of the version that it is for.
    #[error("the patch does not fit the note")]
    InvalidPatch { source: BadPatch },
    /// The text would be longer than is kept. A patch is given up at the first byte too many, so that `bytes` may be
    /// less than what it would come to.
    #[error("the note's text is {bytes} bytes, at most {MARKDOWN_BYTES_MAX} are kept; split it")]
    NoteTooLarge { bytes: usize },
    /// There is none, or it is deleted.
    #[error("there is no note {note_id}")]
    NoteNotFound { note_id: NoteId },
    /// There is none, or it is deleted.
    #[error("there is no workspace {workspace_id}")]
    WorkspaceNotFound { workspace_id: WorkspaceId },
    /// There is none, or it is deleted.
    #[error("there is no rule {rule_id}")]
    RuleNotFound { rule_id: RuleId },
    /// No run has this id.
    #[error("there is no run {run_id}")]
    RunNotFound { run_id: RunId },
    /// No operation has this id.
    #[error("there is no operation {operation_id}")]
    OperationNotFound { operation_id: OperationId },
    /// No issue has this id.
    #[error("there is no issue {issue_id}")]
    IssueNotFound { issue_id: EventId },
    /// No attachment has this id.
    #[error("there is no attachment {attachment_id}")]
    AttachmentNotFound { attachment_id: EventId },
    /// The review is about something else than what waits; the digest is that of what waits.
    #[error(
        "operation {operation_id} has changed since it was reviewed; nothing was decided: review it again, with its digest {digest}"
    )]
    OtherOperation {
        operation_id: OperationId,
        digest: Hash,
    },
    /// The actor is no member, or the workspace is archived.
    #[error("workspace {workspace_id}: {why}")]
    WorkspaceForbidden {
        workspace_id: WorkspaceId,
        why: String,
    },
    /// The actor is a member with too small a role, or an agent that wants more than to write notes.
    #[error("this needs the role {needs} in the workspace; ask one of its admins")]
    RoleForbidden { needs: Role },
    /// An agent wrote outside of the workspace of its run, or after the run had ended.
    #[error(
        "the run may not write to workspace {workspace_id}: it belongs to another one, or has ended"
    )]
    CrossWorkspaceRejected { workspace_id: WorkspaceId },
    /// A launch names an event of another workspace.
    #[error(
        "event {event_id} belongs to another workspace than the rule: launch it with an event of its own, or without one"
    )]
    ForeignEvent { event_id: EventId },
    /// A launch asks something else than the run that the same event has set off.
    #[error(
        "the rule has already run for this event and was asked something else; see run {run_id}, or launch it without the event"
    )]
    OtherRequest { run_id: RunId },
    /// An owner of a workspace wanted to remove or demote the owner of the installation.
    #[error(
        "this is the owner of the installation: other owners of the workspace can neither remove nor demote them"
    )]
    OwnerOfAll,
    /// Carries the note as it is, so that the client can merge.
    #[error(
        "note {} has version {}, the change was made for version {expected_version}; read it again",
        current.note_id, current.version
    )]
    VersionConflict {
        expected_version: u64,
        current: Box<Note>,
    },
    /// The same for a rule, without the rule.
    #[error(
        "rule {rule_id} has version {current_version}, the change was made for version {expected_version}; read it again"
    )]
    RuleConflict {
        rule_id: RuleId,
        expected_version: u64,
        current_version: u64,
    },
    /// The step does not follow from the status that the run has.
    #[error("run {run_id} is {from} and cannot become {to}", from = from.as_str(), to = to.as_str())]
    RunCannotMove {
        run_id: RunId,
        from: RunStatus,
        to: RunStatus,
    },
    /// No account has this id, or it was deleted.
    #[error("there is no user {user_id}")]
    UserNotFound { user_id: UserId },
    /// The account exists and may do nothing.
    #[error("user {user_id} is disabled; enable them first")]
    UserDisabled { user_id: UserId },
    /// The token was revoked, never was one, or belongs to somebody who is kept out.
    #[error("this token is not valid")]
    TokenUnknown,
    /// The session was ended, or its person is kept out.
    #[error("this session has ended; log in again")]
    SessionOver,
    /// Between the check of the password and the write, the password was changed.
    #[error("this name and password no longer match")]
    PasswordChanged,
    /// What is asked is for one person alone.
    #[error("only the owner of the installation may do this")]
    NotTheOwner,
    /// There can be one first owner, and there is.
    #[error("the owner is registered already; log in instead")]
    SetupAlreadyCompleted,
    /// The rows that the engine looked at are not those that were to be looked at next, so what it found is not
    /// written.
    #[error("the engine considered events up to row {found}, not {expected}; another engine runs")]
    CursorMoved { expected: u64, found: u64 },
}

impl Refused {
    /// A request that is wrong in itself, and why.
    pub fn bad(why: impl Into<String>) -> Self {
        Self::BadRequest { why: why.into() }
    }

    /// The name that programs know the refusal by. It never changes.
    pub const fn code(&self) -> Code {
        match self {
            Self::BadRequest { .. } | Self::CursorMoved { .. } => Code::BadRequest,
            Self::RunCannotMove { .. } | Self::OtherRequest { .. } | Self::UserDisabled { .. } => {
                Code::Conflict
            }
            Self::UserNotFound { .. } => Code::UserNotFound,
            Self::TokenUnknown | Self::PasswordChanged => Code::InvalidCredentials,
            Self::SessionOver => Code::AuthRequired,
            Self::InvalidPatch { .. } => Code::InvalidPatch,
            Self::NoteTooLarge { .. } => Code::NoteTooLarge,
            Self::NoteNotFound { .. } => Code::NoteNotFound,
            Self::WorkspaceNotFound { .. } => Code::WorkspaceNotFound,
            Self::RuleNotFound { .. } => Code::RuleNotFound,
            Self::RunNotFound { .. } => Code::RunNotFound,
            Self::OperationNotFound { .. } => Code::OperationNotFound,
            Self::IssueNotFound { .. } => Code::IssueNotFound,
            Self::AttachmentNotFound { .. } => Code::AttachmentNotFound,
            Self::OtherOperation { .. } => Code::OtherOperation,
            Self::WorkspaceForbidden { .. } => Code::WorkspaceForbidden,
            Self::RoleForbidden { .. } | Self::OwnerOfAll | Self::NotTheOwner => {
                Code::RoleForbidden
            }
            Self::CrossWorkspaceRejected { .. } | Self::ForeignEvent { .. } => {
                Code::CrossWorkspaceRejected
            }
            Self::VersionConflict { .. } | Self::RuleConflict { .. } => Code::VersionConflict,
            Self::SetupAlreadyCompleted => Code::SetupAlreadyCompleted,
        }
    }

    /// What a program needs to go on; null where the code says it all.
    pub fn details(&self) -> Value {
        match self {
            Self::VersionConflict {
                expected_version,
                current,
            } => json!({
                "expected_version": expected_version,
                "current_version": current.version,
                "resource_id": current.note_id,
            }),
            Self::RuleConflict {
                rule_id,
                expected_version,
                current_version,
            } => json!({
                "expected_version": expected_version,
                "current_version": current_version,
                "resource_id": rule_id,
            }),
            Self::OtherOperation {
                operation_id,
                digest,
            } => json!({ "operation_id": operation_id, "digest": digest }),
            Self::InvalidPatch { source } => json!({ "reason": source.to_string() }),
            Self::NoteTooLarge { bytes } => {
                json!({ "bytes": bytes, "bytes_max": MARKDOWN_BYTES_MAX })
            }
            Self::RoleForbidden { needs } => json!({ "role_needed": needs }),
            Self::RunCannotMove { from, to, .. } => json!({ "from": from, "to": to }),
            Self::BadRequest { .. }
            | Self::NoteNotFound { .. }
            | Self::WorkspaceNotFound { .. }
            | Self::RuleNotFound { .. }
            | Self::RunNotFound { .. }
            | Self::OperationNotFound { .. }
            | Self::IssueNotFound { .. }
            | Self::AttachmentNotFound { .. }
            | Self::WorkspaceForbidden { .. }
            | Self::CrossWorkspaceRejected { .. }
            | Self::ForeignEvent { .. }
            | Self::OtherRequest { .. }
            | Self::OwnerOfAll
            | Self::UserNotFound { .. }
            | Self::UserDisabled { .. }
            | Self::TokenUnknown
            | Self::SessionOver
            | Self::PasswordChanged
            | Self::NotTheOwner
            | Self::SetupAlreadyCompleted
            | Self::CursorMoved { .. } => Value::Null,
        }
    }
}

impl From<BadPatch> for Refused {
    fn from(source: BadPatch) -> Self {
        Self::InvalidPatch { source }
    }
}
