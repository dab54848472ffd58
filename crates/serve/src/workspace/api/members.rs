//! Who is in a workspace, and as what.

use bonded_kernel::{UserId, WorkspaceId};
use bonded_workspace_rules::{Change, Code, Permission, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::workspace::answer::Answer;
use crate::workspace::ask::{Ask, permit};
use crate::workspace::refusal::Refusal;

pub(in crate::workspace) async fn list(ask: Ask) -> Result<Answer, Refusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let members = ask.site.store.members(workspace_id).await?;
    let mut shown: Vec<Value> = vec![];
    for (user_id, role) in members {
        let user = ask.site.store.user(user_id).await?;
        let name = user.map(|user| user.name);
        shown.push(json!({ "user_id": user_id, "name": name, "role": role }));
    }
    Ok(Answer::ok(&json!({ "members": shown })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMember {
    user_id: UserId,
    role: Role,
}

/// Makes somebody a member, or a member something else. Said twice, it is as if it were said once.
pub(in crate::workspace) async fn set(mut ask: Ask) -> Result<Answer, Refusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    let new: NewMember = ask.body()?;
    permit(&ask, workspace_id, Permission::ManageMembers).await?;
    let user = ask.site.store.user(new.user_id).await?;
    let user = user.ok_or_else(|| {
        let message = format!(
            "there is no user {}; POST /api/users makes one",
            new.user_id
        );
        Refusal::new(Code::UserNotFound, message)
    })?;
    ask.write(Change::SetMember {
        workspace_id,
        user_id: new.user_id,
        role: new.role,
    })
    .await?;
    let shown = json!({ "user_id": new.user_id, "name": user.name, "role": new.role });
    Ok(Answer::ok(&shown))
}

pub(in crate::workspace) async fn remove(ask: Ask) -> Result<Answer, Refusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    let user_id: UserId = ask.id("user_id")?;
    ask.write(Change::RemoveMember {
        workspace_id,
        user_id,
    })
    .await?;
    Ok(Answer::nothing())
}
