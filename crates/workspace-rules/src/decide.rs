//! What a change comes to: its events, or why it is refused.

mod automation;
mod note_fields;
mod notes;
mod review;

use bonded_kernel::{Millis, UserId, WorkspaceId};

use super::change::{Actor, Change, View};
use super::event::{MemberSet, WorkspaceEvent};
use super::note::{NAME_CHARS_MAX, Workspace, WorkspaceState};
use super::refused::Refused;
use super::role::{Permission, Role};

/// What comes of a change. No event means that things are already as the change wants them.
pub fn decide(
    view: &View,
    change: &Change,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    match change {
        Change::CreateWorkspace { workspace_id, name } => {
            create_workspace(view, *workspace_id, name, actor)
        }
        Change::UpdateWorkspace {
            workspace_id,
            name,
            state,
        } => update_workspace(view, *workspace_id, name.as_deref(), *state, actor),
        Change::SetMember {
            workspace_id,
            user_id,
            role,
        } => set_member(view, *workspace_id, *user_id, *role, actor),
        Change::RemoveMember {
            workspace_id,
            user_id,
        } => remove_member(view, *workspace_id, *user_id, actor),
        Change::CreateNote(new) => notes::create_note(view, new, actor, now),
        Change::UpdateNote(write) => notes::update_note(view, write, actor),
        Change::DeleteNote {
            note_id,
            base_version,
        } => notes::delete_note(view, *note_id, *base_version, actor),
        Change::UndeleteNote {
            note_id,
            base_version,
        } => notes::undelete_note(view, *note_id, *base_version, actor),
        Change::SetMetadata {
            note_id,
            base_version,
            key,
            value,
        } => notes::set_metadata(view, *note_id, *base_version, (key, value), actor),
        Change::DeleteMetadata {
            note_id,
            base_version,
            key,
        } => notes::delete_metadata(view, *note_id, *base_version, key, actor),
        Change::CreateRule { rule_id, draft } => {
            automation::create_rule(view, *rule_id, draft, actor, now)
        }
        Change::UpdateRule {
            rule_id,
            base_version,
            draft,
        } => automation::update_rule(view, *rule_id, *base_version, draft, actor, now),
        Change::DeleteRule {
            rule_id,
            base_version,
        } => automation::delete_rule(view, *rule_id, *base_version, actor),
        Change::Fire(fire) => automation::fire_rule(view, fire, actor),
        Change::MoveRun { run_id, to } => automation::move_run(view, run_id, to, actor),
        // They have no view of one workspace: the store fires each of their rules as a change of its own.
        Change::Considered { .. } | Change::ConsideredSchedule { .. } => Ok(vec![]),
        Change::Propose {
            operation_id,
            workspace_id,
            proposal,
        } => review::propose(view, *operation_id, *workspace_id, proposal, actor, now),
        Change::Review {
            operation_id,
            review,
        } => review::review(view, *operation_id, review, actor, now),
        Change::RecordIssue {
            workspace_id,
            issue,
        } => review::record_issue(view, *workspace_id, issue, actor),
    }
}

/// The workspace, if the actor may do this in it now.
fn permit<'a>(
    view: &'a View,
    workspace_id: WorkspaceId,
    actor: &Actor,
    permission: Permission,
) -> Result<&'a Workspace, Refused> {
    let workspace = permit_in_archive(view, workspace_id, actor, permission)?;
    if workspace.state == WorkspaceState::Archived {
        return Err(Refused::WorkspaceForbidden {
            workspace_id,
            why: "it is archived; make it active again to write to it".into(),
        });
    }
    Ok(workspace)
}

/// The same, for what may be done in an archived workspace too.
fn permit_in_archive<'a>(
    view: &'a View,
    workspace_id: WorkspaceId,
    actor: &Actor,
    permission: Permission,
) -> Result<&'a Workspace, Refused> {
    let workspace = view.workspace.as_ref();
    if workspace.is_some_and(|it| it.state == WorkspaceState::Deleted) {
        return Err(Refused::WorkspaceNotFound { workspace_id });
    }
    permit_in_any(view, workspace_id, actor, permission)
}

/// The same, for what may be done in a deleted one too.
fn permit_in_any<'a>(
    view: &'a View,
    workspace_id: WorkspaceId,
    actor: &Actor,
    permission: Permission,
) -> Result<&'a Workspace, Refused> {
    let workspace = view.workspace.as_ref();
    let workspace = workspace.ok_or(Refused::WorkspaceNotFound { workspace_id })?;
    match (actor, view.role) {
        (Actor::System, _) => Ok(workspace),
        (Actor::User { .. }, Some(role)) if role.may(permission) => Ok(workspace),
        (Actor::User { .. }, Some(_)) => Err(Refused::RoleForbidden {
            needs: permission.least_role(),
        }),
        (Actor::User { .. }, None) => Err(Refused::WorkspaceForbidden {
            workspace_id,
            why: "you are no member of it; ask an admin of it".into(),
        }),
        (Actor::Agent { .. }, _) if view.agent_workspace != Some(workspace_id) => {
            Err(Refused::CrossWorkspaceRejected { workspace_id })
        }
        (Actor::Agent { .. }, _) if permission == Permission::WriteNotes => Ok(workspace),
        (Actor::Agent { .. }, _) => Err(Refused::RoleForbidden {
            needs: permission.least_role(),
        }),
    }
}

fn create_workspace(
    view: &View,
    workspace_id: WorkspaceId,
    name: &str,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    if view.workspace.is_some() {
        return Err(Refused::bad(format!(
            "there is a workspace {workspace_id} already; draw another id"
        )));
    }
    let created = WorkspaceEvent::WorkspaceCreated {
        name: checked_name(name)?,
    };
    let owned = match actor {
        Actor::User { user_id } => Some(WorkspaceEvent::MemberSet(MemberSet {
            user_id: *user_id,
            role: Role::Owner,
        })),
        Actor::System => None,
        Actor::Agent { .. } => return Err(Refused::RoleForbidden { needs: Role::Owner }),
    };
    Ok([created].into_iter().chain(owned).collect())
}

fn update_workspace(
    view: &View,
    workspace_id: WorkspaceId,
    name: Option<&str>,
    state: Option<WorkspaceState>,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let is_back = state.is_some_and(|state| state != WorkspaceState::Deleted);
    match is_back && view.role == Some(Role::Owner) {
        // What its owner deleted, its owner can have back.
        true => permit_in_any(view, workspace_id, actor, Permission::ManageWorkspace)?,
        false => permit_in_archive(view, workspace_id, actor, Permission::ManageWorkspace)?,
    };
    let name = name.map(checked_name).transpose()?;
    Ok(vec![WorkspaceEvent::WorkspaceUpdated { name, state }])
}

fn checked_name(name: &str) -> Result<String, Refused> {
    let name = name.trim();
    let is_line = !name.is_empty() && !name.contains(char::is_control);
    if is_line && name.chars().count() <= NAME_CHARS_MAX {
        Ok(name.to_owned())
    } else {
        Err(Refused::bad(format!(
            "the name of a workspace is one line of 1 to {NAME_CHARS_MAX} characters"
        )))
    }
}

/// The same for who is a member. In a deleted workspace that is the system's to say, which hands over what belonged to
/// somebody who has gone: without an owner, nobody could have it back.
fn permit_members<'a>(
    view: &'a View,
    workspace_id: WorkspaceId,
    actor: &Actor,
    permission: Permission,
) -> Result<&'a Workspace, Refused> {
    match actor {
        Actor::System => permit_in_any(view, workspace_id, actor, permission),
        Actor::User { .. } | Actor::Agent { .. } => {
            permit_in_archive(view, workspace_id, actor, permission)
        }
    }
}

/// Makes somebody something. A workspace has one owner: who is made that takes the place of the one before, who stays
/// as an admin.
fn set_member(
    view: &View,
    workspace_id: WorkspaceId,
    user_id: UserId,
    role: Role,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit_members(view, workspace_id, actor, Permission::ManageMembers)?;
    let is_set = view.member == Some(role);
    let is_handed_over = role == Role::Owner;
    let before = view
        .owners
        .iter()
        .filter(|it| is_handed_over && **it != user_id);
    let before: Vec<UserId> = before.copied().collect();
    if is_set && before.is_empty() {
        return Ok(vec![]);
    }
    if is_handed_over || view.member == Some(Role::Owner) {
        permit_members(view, workspace_id, actor, Permission::ManageWorkspace)?;
    }
    keep_the_owner_of_all(view, &before, actor)?;
    if !is_handed_over {
        keep_the_owner(view, user_id, actor)?;
    }
    let stays = before.into_iter().map(|user_id| MemberSet {
        user_id,
        role: Role::Admin,
    });
    let set = Some(MemberSet { user_id, role }).filter(|_| !is_set);
    Ok(stays.chain(set).map(WorkspaceEvent::MemberSet).collect())
}

fn remove_member(
    view: &View,
    workspace_id: WorkspaceId,
    user_id: UserId,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let is_self = *actor == Actor::User { user_id };
    let is_owner = view.member == Some(Role::Owner);
    let needed = match (is_self, is_owner) {
        (true, _) => Permission::ReadNotes,
        (false, true) => Permission::ManageWorkspace,
        (false, false) => Permission::ManageMembers,
    };
    permit_members(view, workspace_id, actor, needed)?;
    if view.member.is_none() {
        return Ok(vec![]);
    }
    keep_the_owner(view, user_id, actor)?;
    Ok(vec![WorkspaceEvent::MemberRemoved { user_id }])
}

/// Whoever owns a workspace beside the owner of the installation, as was possible once, does not get rid of them.
fn keep_the_owner_of_all(view: &View, less: &[UserId], actor: &Actor) -> Result<(), Refused> {
    let is_less = |it: &UserId| less.contains(it) && *actor != Actor::User { user_id: *it };
    let is_refused = match actor {
        Actor::User { .. } => view.owner_of_all.as_ref().is_some_and(is_less),
        Actor::Agent { .. } | Actor::System => false,
    };
    match is_refused {
        true => Err(Refused::OwnerOfAll),
        false => Ok(()),
    }
}

/// The owner stays one: without an owner nobody could manage the workspace.
fn keep_the_owner(view: &View, user_id: UserId, actor: &Actor) -> Result<(), Refused> {
    if view.member != Some(Role::Owner) {
        return Ok(());
    }
    keep_the_owner_of_all(view, &[user_id], actor)?;
    match view.owners.len() <= 1 {
        true => Err(Refused::bad(
            "this is the owner of the workspace; hand it over first, by making somebody else its owner",
        )),
        false => Ok(()),
    }
}
