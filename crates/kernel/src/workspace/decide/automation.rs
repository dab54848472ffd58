//! Rules, their runs, and what those propose.

use serde_json::Value;

use super::{notes, permit, permit_in_archive};
use crate::time::Millis;
use crate::workspace::automation::{
    AutomationRun, Issue, Operation, OperationStatus, Proposal, RunFinished, RunQueued, RunStatus,
};
use crate::workspace::change::{Actor, Change, Fire, Review, RunEnd, RunMove, View};
use crate::workspace::event::WorkspaceEvent;
use crate::workspace::id::{OperationId, RuleId, WorkspaceId};
use crate::workspace::refused::Refused;
use crate::workspace::role::Permission;
use crate::workspace::rule::{Rule, RuleDraft};

const ISSUE_KEY_CHARS_MAX: usize = 500;
const ISSUE_BYTES_MAX: usize = 64 << 10;
const REASON_CHARS_MAX: usize = 2000;

pub(super) fn decide(
    view: &View,
    change: &Change,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    match change {
        Change::CreateRule { rule_id, draft } => create_rule(view, *rule_id, draft, actor, now),
        Change::UpdateRule { rule_id, draft } => update_rule(view, *rule_id, draft, actor, now),
        Change::DeleteRule { rule_id } => {
            let rule = known_rule(view, *rule_id)?;
            permit(
                view,
                rule.draft.workspace_id,
                actor,
                Permission::ManageRules,
            )?;
            Ok(vec![WorkspaceEvent::RuleDeleted { rule_id: *rule_id }])
        }
        Change::Fire(fire) => fire_rule(view, fire, actor),
        Change::MoveRun { run_id, to } => {
            let missing = || Refused::RunNotFound {
                run_id: run_id.clone(),
            };
            move_run(view, view.run.as_ref().ok_or_else(missing)?, to, actor)
        }
        Change::Propose {
            operation_id,
            workspace_id,
            proposal,
        } => propose(view, *operation_id, *workspace_id, proposal, actor, now),
        Change::Review {
            operation_id,
            review,
        } => {
            let missing = Refused::OperationNotFound {
                operation_id: *operation_id,
            };
            let operation = view.operation.as_ref().ok_or(missing)?;
            self::review(view, operation, review, actor, now)
        }
        Change::RecordIssue {
            workspace_id,
            issue,
        } => {
            permit(view, *workspace_id, actor, Permission::WriteNotes)?;
            Ok(vec![recorded(issue, actor)?])
        }
        _ => Ok(vec![]),
    }
}

fn create_rule(
    view: &View,
    rule_id: RuleId,
    draft: &RuleDraft,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit(view, draft.workspace_id, actor, Permission::ManageRules)?;
    if view.rule.is_some() {
        return Err(Refused::bad(format!(
            "there is a rule {rule_id} already; draw another id"
        )));
    }
    let rule = Box::new(Rule {
        rule_id,
        draft: draft.clone(),
        version: 1,
        created_at: now,
        updated_at: now,
    });
    Ok(vec![WorkspaceEvent::RuleCreated { rule }])
}

fn update_rule(
    view: &View,
    rule_id: RuleId,
    draft: &RuleDraft,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let known = known_rule(view, rule_id)?;
    let workspace_id = known.draft.workspace_id;
    permit(view, workspace_id, actor, Permission::ManageRules)?;
    if draft.workspace_id != workspace_id {
        return Err(Refused::bad(format!(
            "rule {rule_id} belongs to workspace {workspace_id} and stays there; make a new rule in the other one"
        )));
    }
    let rule = Box::new(Rule {
        rule_id,
        draft: draft.clone(),
        version: known.version + 1,
        created_at: known.created_at,
        updated_at: now,
    });
    Ok(vec![WorkspaceEvent::RuleUpdated { rule }])
}

fn known_rule(view: &View, rule_id: RuleId) -> Result<&Rule, Refused> {
    view.rule.as_ref().ok_or(Refused::RuleNotFound { rule_id })
}

fn fire_rule(view: &View, fire: &Fire, actor: &Actor) -> Result<Vec<WorkspaceEvent>, Refused> {
    let workspace_id = known_rule(view, fire.rule_id)?.draft.workspace_id;
    permit(view, workspace_id, actor, Permission::LaunchRules)?;
    if view.run.is_some() {
        return Ok(vec![]);
    }
    Ok(vec![WorkspaceEvent::AutomationQueued(RunQueued {
        run_id: fire.run_id.clone(),
        rule_id: fire.rule_id,
        triggering_event_id: fire.triggering_event_id,
        depth: fire.depth,
    })])
}

fn move_run(
    view: &View,
    run: &AutomationRun,
    to: &RunMove,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit_in_archive(view, run.workspace_id, actor, Permission::LaunchRules)?;
    if matches!(actor, Actor::User { .. }) && !matches!(to, RunMove::Cancelled(_)) {
        return Err(Refused::bad("a person can only cancel a run"));
    }
    let (from, status) = (run.status, to.status());
    if from == status {
        return Ok(vec![]);
    }
    let may_move = match from {
        RunStatus::Queued => status != RunStatus::Succeeded,
        RunStatus::Running => status.has_ended(),
        _ => false,
    };
    if !may_move {
        return Err(Refused::RunCannotMove {
            run_id: run.run_id.clone(),
            from,
            to: status,
        });
    }
    Ok(vec![moved(run, to)])
}

fn moved(run: &AutomationRun, to: &RunMove) -> WorkspaceEvent {
    let finished = |end: &RunEnd| {
        Box::new(RunFinished {
            run_id: run.run_id.clone(),
            rule_id: run.rule_id,
            error_code: end.error_code.clone(),
            result_json: end.result_json.clone(),
            audit: end.audit.clone(),
        })
    };
    match to {
        RunMove::Running => WorkspaceEvent::AutomationRunning {
            run_id: run.run_id.clone(),
            rule_id: run.rule_id,
        },
        RunMove::Succeeded(end) => WorkspaceEvent::AutomationSucceeded(finished(end)),
        RunMove::Failed(end) => WorkspaceEvent::AutomationFailed(finished(end)),
        RunMove::Cancelled(end) => WorkspaceEvent::AutomationCancelled(finished(end)),
    }
}

fn propose(
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
            "there is an operation {operation_id} already; draw another id"
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

fn review(
    view: &View,
    operation: &Operation,
    review: &Review,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit(
        view,
        operation.workspace_id,
        actor,
        Permission::ReviewOperations,
    )?;
    let (operation_id, run_id) = (operation.operation_id, operation.run_id.clone());
    match (operation.status, review) {
        (OperationStatus::Applied, Review::Apply)
        | (OperationStatus::Rejected, Review::Reject { .. }) => Ok(vec![]),
        (OperationStatus::Applied, _) | (OperationStatus::Rejected, _) => Err(Refused::bad(
            format!("operation {operation_id} was decided already"),
        )),
        (OperationStatus::Pending, Review::Reject { reject_reason }) => {
            let reason = reject_reason.as_deref().unwrap_or_default();
            let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
            Ok(vec![WorkspaceEvent::OperationRejected {
                operation_id,
                run_id,
                reject_reason: (!reason.is_empty()).then_some(reason),
            }])
        }
        (OperationStatus::Pending, Review::Apply) => Ok(vec![
            proposed_event(view, operation, now)?,
            WorkspaceEvent::OperationApplied {
                operation_id,
                run_id,
            },
        ]),
    }
}

fn proposed_event(
    view: &View,
    operation: &Operation,
    now: Millis,
) -> Result<WorkspaceEvent, Refused> {
    match &operation.proposal {
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

fn recorded(issue: &Issue, actor: &Actor) -> Result<WorkspaceEvent, Refused> {
    check_issue(&issue.key, &issue.value, &issue.metadata)?;
    let mut issue = issue.clone();
    if let Actor::Agent { run_id, .. } = actor {
        issue.run_id = Some(run_id.clone());
    }
    Ok(WorkspaceEvent::IssueRecorded(issue))
}

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
