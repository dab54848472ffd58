//! Who is a member of a workspace, and who owns it.
//!
//! A workspace has exactly one owner at any time after a hand-over, so that somebody can always manage it. Where the
//! owner of the installation owns a workspace, no other person takes that away from them.

use bonded_kernel::{UserId, WorkspaceId};

use super::permit::{permit_in_any, permit_in_archive};
use crate::actor::Actor;
use crate::change::View;
use crate::event::{MemberSet, WorkspaceEvent};
use crate::note::Workspace;
use crate::refused::Refused;
use crate::role::{Permission, Role};

/// The workspace, if the actor may say who is a member of it. In a deleted workspace that is the system's to say, which hands over what belonged to
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
/// The change of the former owners and that of the new one are events of one change: there is no moment without an
/// owner.
pub(super) fn set_member(
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

/// Leaving needs no more than being a member; taking out an owner needs what owners may.
pub(super) fn remove_member(
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
            "this is the owner of the workspace; make another member its owner first",
        )),
        false => Ok(()),
    }
}
