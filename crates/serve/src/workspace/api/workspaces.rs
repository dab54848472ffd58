//! Workspaces: made, listed, renamed, archived.

use bonded_workspace_rules::{Change, Role, Workspace, WorkspaceState};

use crate::json_api::answer::{CreatedJson, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{self, NewWorkspace, WorkspaceEdit, Workspaces};
use crate::workspace::handler::RequiredBody;
use crate::workspace::ids;

/// Only those that the caller is a member of.
pub(in crate::workspace) async fn list(
    ask: WorkspaceAsk,
) -> Result<OkJson<Workspaces>, ApiRefusal> {
    let user = ask.caller()?.user_id;
    let workspaces = ask.site.store.workspaces(user).await?;
    // What was deleted is there for who can have it back.
    let is_there = |(workspace, role): &&(Workspace, Role)| {
        workspace.state != WorkspaceState::Deleted || *role == Role::Owner
    };
    let workspaces = workspaces
        .iter()
        .filter(is_there)
        .map(|(workspace, role)| dto::Workspace::from(workspace).with_role(*role))
        .collect();
    Ok(OkJson(Workspaces { workspaces }))
}

/// Everybody who is known may.
pub(in crate::workspace) async fn create(
    ask: WorkspaceAsk,
    body: RequiredBody<NewWorkspace>,
) -> Result<CreatedJson<dto::Workspace>, ApiRefusal> {
    let new = body.read()?;
    let written = ask
        .write(Change::CreateWorkspace {
            workspace_id: ids::workspace(),
            name: new.name,
        })
        .await?;
    Ok(CreatedJson((&written.outcome).try_into()?))
}

/// A body without any change is refused.
pub(in crate::workspace) async fn update(
    ask: WorkspaceAsk,
    body: RequiredBody<WorkspaceEdit>,
) -> Result<OkJson<dto::Workspace>, ApiRefusal> {
    let edit = body.read()?;
    if edit.name.is_none() && edit.state.is_none() {
        return Err(ApiRefusal::bad(
            "nothing to change: give name, state or both",
        ));
    }
    let written = ask
        .write(Change::UpdateWorkspace {
            workspace_id: ask.id("workspace_id")?,
            name: edit.name,
            state: edit.state.map(Into::into),
        })
        .await?;
    Ok(OkJson((&written.outcome).try_into()?))
}
