//! Workspaces.
//!
//! The caller's role is there in the list of their own workspaces only.

use bonded_kernel::WorkspaceId;
use bonded_workspace_rules::Role;
use serde::{Deserialize, Serialize};

use super::scalars::{Id, Timestamp};
use super::words::{MemberRole, WorkspaceState};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Workspace {
    workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    name: String,
    state: WorkspaceState,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// What the caller is there, in the list of their workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "MemberRole"))]
    role: Option<MemberRole>,
}

impl From<&bonded_workspace_rules::Workspace> for Workspace {
    fn from(workspace: &bonded_workspace_rules::Workspace) -> Self {
        Self {
            workspace_id: Id(workspace.workspace_id),
            name: workspace.name.clone(),
            state: workspace.state.into(),
            created_at: workspace.created_at.into(),
            updated_at: workspace.updated_at.into(),
            role: None,
        }
    }
}

impl Workspace {
    pub(crate) fn with_role(self, role: Role) -> Self {
        let role = Some(role.into());
        Self { role, ..self }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Workspaces {
    pub(crate) workspaces: Vec<Workspace>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewWorkspace {
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minProperties" = 1)))]
pub(crate) struct WorkspaceEdit {
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    pub(crate) name: Option<String>,
    pub(crate) state: Option<WorkspaceState>,
}
