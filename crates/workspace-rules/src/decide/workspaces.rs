//! Changes of a workspace itself.
//!
//! Nobody needs a role to make a workspace: whoever does owns it. Everything else is for its owner.

use bonded_kernel::WorkspaceId;

use super::permit::{permit_in_any, permit_in_archive};
use crate::actor::Actor;
use crate::change::View;
use crate::event::{MemberSet, WorkspaceEvent};
use crate::note::{NAME_CHARS_MAX, WorkspaceState};
use crate::refused::Refused;
use crate::role::{Permission, Role};

/// Made by the system it has no member yet. An agent makes none.
pub(super) fn create_workspace(
    view: &View,
    workspace_id: WorkspaceId,
    name: &str,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    if view.workspace.is_some() {
        return Err(Refused::bad(format!(
            "there is a workspace {workspace_id} already; choose another id"
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

/// A deleted workspace is open to nothing but its owner's wish to have it back.
pub(super) fn update_workspace(
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

/// Without blanks around it, and without control characters.
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
