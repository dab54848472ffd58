//! Rules and their runs.
//!
//! Rules are for admins, launching is for editors, and the steps of a run are for the system: a person can only cancel.
//! Deciding the same firing twice queues one run.

use bonded_kernel::{Millis, RuleId, RunId};

use super::permit::{permit, permit_in_archive};
use crate::actor::Actor;
use crate::automation::{AutomationRun, RunFinished, RunQueued, RunStatus};
use crate::change::{Fire, RunEnd, RunMove, View};
use crate::event::WorkspaceEvent;
use crate::refused::Refused;
use crate::role::Permission;
use crate::rule::{Rule, RuleDraft};

/// The permission is asked in the workspace of the rule as it is kept, not in that of the draft.
pub(super) fn update_rule(
    view: &View,
    rule_id: RuleId,
    base_version: Option<u64>,
    draft: &RuleDraft,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let known = known_rule(view, rule_id)?;
    let workspace_id = known.draft.workspace_id;
    permit(view, workspace_id, actor, Permission::ManageRules)?;
    check_version(known, base_version)?;
    updated_rule(known, draft, now)
}

/// Its runs are left alone here: the engine ends those that have not begun.
pub(super) fn delete_rule(
    view: &View,
    rule_id: RuleId,
    base_version: Option<u64>,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let rule = known_rule(view, rule_id)?;
    let workspace_id = rule.draft.workspace_id;
    permit(view, workspace_id, actor, Permission::ManageRules)?;
    check_version(rule, base_version)?;
    Ok(vec![WorkspaceEvent::RuleDeleted { rule_id }])
}

/// The view has the run, if there is one with this id.
pub(super) fn move_run(
    view: &View,
    run_id: &RunId,
    to: &RunMove,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let missing = || Refused::RunNotFound {
        run_id: run_id.clone(),
    };
    moved_run(view, view.run.as_ref().ok_or_else(missing)?, to, actor)
}

/// The draft was checked against the host before; here only the permission and the id are left to check.
pub(super) fn create_rule(
    view: &View,
    rule_id: RuleId,
    draft: &RuleDraft,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit(view, draft.workspace_id, actor, Permission::ManageRules)?;
    if view.rule.is_some() {
        return Err(Refused::bad(format!(
            "there is a rule {rule_id} already; choose another id"
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

/// Without an expected version the last write wins.
fn check_version(rule: &Rule, expected: Option<u64>) -> Result<(), Refused> {
    match expected {
        Some(expected_version) if expected_version != rule.version => Err(Refused::RuleConflict {
            rule_id: rule.rule_id,
            expected_version,
            current_version: rule.version,
        }),
        _ => Ok(()),
    }
}

/// A rule never moves to another workspace: its runs and their permissions belong to the one that it is in.
fn updated_rule(
    known: &Rule,
    draft: &RuleDraft,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let (rule_id, workspace_id) = (known.rule_id, known.draft.workspace_id);
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

/// A run that was queued for the same event is found, not made again. An event of another workspace is refused, because
/// the run could otherwise read and tell what happened there. A request says what an agent does with all that the rule
/// lets it do, so it takes the role that writes rules.
pub(super) fn fire_rule(
    view: &View,
    fire: &Fire,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let draft = &known_rule(view, fire.rule_id)?.draft;
    let workspace_id = draft.workspace_id;
    permit(view, workspace_id, actor, Permission::LaunchRules)?;
    if let Some(request) = &fire.request {
        permit(view, workspace_id, actor, Permission::ManageRules)?;
        draft.check_request(request).map_err(Refused::bad)?;
    }
    if view.event_workspace.is_some_and(|it| it != workspace_id) {
        return Err(Refused::ForeignEvent {
            event_id: fire.triggering_event_id,
        });
    }
    if let Some(run) = &view.run {
        return match fire.request.is_none() || fire.request == run.request {
            true => Ok(vec![]),
            false => Err(Refused::OtherRequest {
                run_id: run.run_id.clone(),
            }),
        };
    }
    Ok(vec![WorkspaceEvent::AutomationQueued(RunQueued {
        run_id: fire.run_id.clone(),
        rule_id: fire.rule_id,
        triggering_event_id: fire.triggering_event_id,
        depth: fire.depth,
        request: fire.request.clone(),
    })])
}

/// Allowed in an archive too, so that what runs there can end. A repeated step is no event; a queued run may fail or be
/// cancelled without having begun, and nothing follows an end.
fn moved_run(
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
        RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => false,
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
