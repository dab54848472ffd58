//! Who may do something in a workspace, by the state that it is in.
//!
//! Three functions, from the strictest to the widest: active only, archived too, deleted too. The system may all; a
//! person may what the role says; an agent may write notes in the one workspace of its run, and nothing else, however
//! its rule was written.

use bonded_kernel::WorkspaceId;

use crate::actor::Actor;
use crate::change::View;
use crate::note::{Workspace, WorkspaceState};
use crate::refused::Refused;
use crate::role::Permission;

/// The workspace, if the actor may do this in it now.
pub(super) fn permit<'a>(
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
pub(super) fn permit_in_archive<'a>(
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
/// For somebody who is no member, a workspace that exists is forbidden, and one that does not is not found.
pub(super) fn permit_in_any<'a>(
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
            why: "you are not a member of it; ask one of its admins".into(),
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
