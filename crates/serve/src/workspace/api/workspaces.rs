//! Workspaces: made, listed, renamed, archived.

use bonded_workspace_rules::{Change, Role, Workspace, WorkspaceState};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::ids;
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

pub(in crate::workspace) async fn list(ask: Ask) -> Result<Answer, Refusal> {
    let user = ask.caller()?.user_id;
    let workspaces = ask.site.store.workspaces(user).await?;
    // What was deleted is there for who can have it back.
    let is_there = |(workspace, role): &&(Workspace, Role)| {
        workspace.state != WorkspaceState::Deleted || *role == Role::Owner
    };
    let shown: Vec<Value> = workspaces
        .iter()
        .filter(is_there)
        .map(|(workspace, role)| shown::workspace_with_role(workspace, *role))
        .collect();
    Ok(Answer::ok(&json!({ "workspaces": shown })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewWorkspace {
    name: String,
}

pub(in crate::workspace) async fn create(mut ask: Ask) -> Result<Answer, Refusal> {
    let new: NewWorkspace = ask.body()?;
    let written = ask
        .write(Change::CreateWorkspace {
            workspace_id: ids::workspace(),
            name: new.name,
        })
        .await?;
    Ok(Answer::created(&shown::outcome(&written.outcome)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkspaceEdit {
    name: Option<String>,
    state: Option<WorkspaceState>,
}

pub(in crate::workspace) async fn update(mut ask: Ask) -> Result<Answer, Refusal> {
    let edit: WorkspaceEdit = ask.body()?;
    if edit.name.is_none() && edit.state.is_none() {
        return Err(Refusal::bad("nothing to change: give name, state or both"));
    }
    let written = ask
        .write(Change::UpdateWorkspace {
            workspace_id: ask.id("workspace_id")?,
            name: edit.name,
            state: edit.state,
        })
        .await?;
    Ok(Answer::ok(&shown::outcome(&written.outcome)?))
}
