//! Who is in a workspace, and as what.
//!
//! What a role may is judged by the rules, in the transaction of the change.

use bonded_kernel::{UserId, WorkspaceId};
use bonded_workspace_rules::{Change, Code, Permission};

use crate::json_api::answer::{NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{Id, Member, Members, NewMember};
use crate::workspace::handler::RequiredBody;

/// With the names of people, for those who are members themselves.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<Members>, ApiRefusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let mut members = vec![];
    for (user_id, role) in ask.site.store.members(workspace_id).await? {
        let user = ask.site.store.user(user_id).await?;
        members.push(Member {
            user_id: Id(user_id),
            name: user.map(|user| user.name),
            role: role.into(),
        });
    }
    Ok(OkJson(Members { members }))
}

/// Makes somebody a member, or a member something else. Said twice, it is as if it were said once.
pub(in crate::workspace) async fn set(
    ask: WorkspaceAsk,
    body: RequiredBody<NewMember>,
) -> Result<OkJson<Member>, ApiRefusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    let new = body.read()?;
    permit(&ask, workspace_id, Permission::ManageMembers).await?;
    let store = &ask.site.store;
    let (user, asked) = match (new.user_id, new.name) {
        (Some(id), None) => (store.user(id.0).await?, id.0.to_string()),
        (None, Some(name)) => {
            let found = store.user_named(name.clone()).await?;
            (found.map(|(user, _)| user), name)
        }
        _ => return Err(ApiRefusal::bad("give either user_id or name")),
    };
    let user = user.ok_or_else(|| {
        let message = format!("there is no user {asked}; POST /api/users makes one");
        ApiRefusal::new(Code::UserNotFound, message)
    })?;
    let user_id = user.user_id;
    ask.write(Change::SetMember {
        workspace_id,
        user_id,
        role: new.role.into(),
    })
    .await?;
    Ok(OkJson(Member {
        user_id: Id(user_id),
        name: Some(user.name),
        role: new.role,
    }))
}

/// Whether the caller may is for the rules to say: whoever is no owner may leave.
pub(in crate::workspace) async fn remove(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let workspace_id: WorkspaceId = ask.id("workspace_id")?;
    let user_id: UserId = ask.id("user_id")?;
    ask.write(Change::RemoveMember {
        workspace_id,
        user_id,
    })
    .await?;
    Ok(NoContent)
}
