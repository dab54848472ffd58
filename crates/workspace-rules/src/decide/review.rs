//! What runs propose, what a person says to it, and what is left for a person to look at.
//!
//! A proposal is checked twice: when it is made, so that the agent hears at once of what could never be applied, and
//! when it is applied, because the note may have changed since. What is applied is the note as the agent wrote it, in
//! the name of the person who applied it.

use bonded_kernel::{Millis, OperationId, WorkspaceId};
use serde_json::Value;

use super::notes;
use super::permit::permit;
use crate::actor::Actor;
use crate::automation::{Issue, Operation, OperationStatus, Proposal};
use crate::change::{Review, View};
use crate::event::WorkspaceEvent;
use crate::refused::Refused;
use crate::role::Permission;

/// A key stands in a list that people read.
const ISSUE_KEY_CHARS_MAX: usize = 500;
/// What an issue may weigh, value and metadata together.
const ISSUE_BYTES_MAX: usize = 64 << 10;
/// A longer reason is cut, not refused: the decision matters more than its words.
const REASON_CHARS_MAX: usize = 2000;

/// Only for runs: a person writes directly. The index counts what the run has proposed before.
pub(super) fn propose(
    view: &View,
    operation_id: OperationId,
    workspace_id: WorkspaceId,
    proposal: &Proposal,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let Actor::Agent { run_id, .. } = actor else {
        return Err(Refused::bad("only the run of an agent proposes operations"));
    };
    permit(view, workspace_id, actor, Permission::WriteNotes)?;
    if view.operation.is_some() {
        return Err(Refused::bad(format!(
            "there is an operation {operation_id} already; choose another id"
        )));
    }
    let proposal = checked_proposal(view, workspace_id, proposal, actor, now)?;
    Ok(vec![WorkspaceEvent::OperationProposed(Box::new(
        Operation {
            operation_id,
            run_id: run_id.clone(),
            workspace_id,
            operation_index: view.operations,
            proposal,
            status: OperationStatus::Pending,
            reject_reason: None,
            proposed_at: now,
            decided_at: None,
            decided_by: None,
            was_edited: false,
        },
    ))])
}

/// The proposal as it would be applied now; what could not be applied is refused at once.
fn checked_proposal(
    view: &View,
    workspace_id: WorkspaceId,
    proposal: &Proposal,
    actor: &Actor,
    now: Millis,
) -> Result<Proposal, Refused> {
    match proposal {
        Proposal::CreateNote(new) if new.workspace_id != workspace_id => {
            Err(Refused::CrossWorkspaceRejected {
                workspace_id: new.workspace_id,
            })
        }
        Proposal::CreateNote(new) => {
            notes::check_proposed(&new.metadata, actor)?;
            let new = notes::stamped_new(new, actor);
            notes::create(view, &new, now)?;
            Ok(Proposal::CreateNote(new))
        }
        Proposal::UpdateNote(write) => {
            notes::check_proposed(&write.edit.metadata, actor)?;
            let write = notes::stamped_write(write, actor);
            check_place(view, workspace_id)?;
            notes::update(view, &write)?;
            Ok(Proposal::UpdateNote(write))
        }
        Proposal::RecordIssue {
            key,
            value,
            metadata,
        } => {
            check_issue(key, value, metadata)?;
            Ok(proposal.clone())
        }
    }
}

/// The note of a proposal lies where the operation does.
fn check_place(view: &View, workspace_id: WorkspaceId) -> Result<(), Refused> {
    match &view.note {
        Some(note) if note.workspace_id != workspace_id => Err(Refused::CrossWorkspaceRejected {
            workspace_id: note.workspace_id,
        }),
        _ => Ok(()),
    }
}

/// The digest is compared before the status, so that a decision about something else never counts as a repetition. The
/// same decision again is no event; the opposite one is refused.
pub(super) fn review(
    view: &View,
    operation_id: OperationId,
    review: &Review,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let missing = Refused::OperationNotFound { operation_id };
    let operation = view.operation.as_ref().ok_or(missing)?;
    permit(
        view,
        operation.workspace_id,
        actor,
        Permission::ReviewOperations,
    )?;
    review.check_meant(operation)?;
    let run_id = operation.run_id.clone();
    match (operation.status, review) {
        (OperationStatus::Applied, Review::Apply { .. })
        | (OperationStatus::Rejected, Review::Reject { .. }) => Ok(vec![]),
        (OperationStatus::Applied, Review::Reject { .. })
        | (OperationStatus::Rejected, Review::Apply { .. }) => Err(Refused::bad(format!(
            "operation {operation_id} was decided already"
        ))),
        (OperationStatus::Pending, Review::Reject { reject_reason, .. }) => {
            let reason = reject_reason.as_deref().unwrap_or_default();
            let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
            Ok(vec![WorkspaceEvent::OperationRejected {
                operation_id,
                run_id,
                reject_reason: (!reason.is_empty()).then_some(reason),
            }])
        }
        (OperationStatus::Pending, Review::Apply { edited, .. }) => {
            let proposal = match edited {
                Some(edit) => edit
                    .over(&operation.proposal)
                    .ok_or_else(|| Refused::bad("an issue is applied as it is, or rejected"))?,
                None => operation.proposal.clone(),
            };
            Ok(vec![
                proposed_event(view, operation, &proposal, now)?,
                WorkspaceEvent::OperationApplied {
                    operation_id,
                    run_id,
                    was_edited: edited.is_some(),
                },
            ])
        }
    }
}

/// The version in the proposal still has to be that of the note: applying never overwrites what was written in between.
fn proposed_event(
    view: &View,
    operation: &Operation,
    proposal: &Proposal,
    now: Millis,
) -> Result<WorkspaceEvent, Refused> {
    match proposal {
        Proposal::CreateNote(new) => notes::create(view, new, now),
        Proposal::UpdateNote(write) => {
            check_place(view, operation.workspace_id)?;
            notes::update(view, write)
        }
        Proposal::RecordIssue {
            key,
            value,
            metadata,
        } => Ok(WorkspaceEvent::IssueRecorded(Issue {
            key: key.clone(),
            value: value.clone(),
            metadata: metadata.clone(),
            run_id: Some(operation.run_id.clone()),
        })),
    }
}

/// What an agent says about the run is overwritten with the run that it is.
pub(super) fn record_issue(
    view: &View,
    workspace_id: WorkspaceId,
    issue: &Issue,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit(view, workspace_id, actor, Permission::WriteNotes)?;
    check_issue(&issue.key, &issue.value, &issue.metadata)?;
    let mut issue = issue.clone();
    if let Actor::Agent { run_id, .. } = actor {
        issue.run_id = Some(run_id.clone());
    }
    Ok(vec![WorkspaceEvent::IssueRecorded(issue)])
}

/// Bounds in characters for the key and in bytes for the rest.
fn check_issue(key: &str, value: &str, metadata: &Value) -> Result<(), Refused> {
    let metadata_bytes = serde_json::to_vec(metadata).map_or(0, |written| written.len());
    if key.trim().is_empty() || key.chars().count() > ISSUE_KEY_CHARS_MAX {
        return Err(Refused::bad(format!(
            "the key of an issue has 1 to {ISSUE_KEY_CHARS_MAX} characters"
        )));
    }
    if value.len().saturating_add(metadata_bytes) > ISSUE_BYTES_MAX {
        return Err(Refused::bad(format!(
            "an issue and its metadata are at most {ISSUE_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}
