//! People beside the owner: made, listed, kept out and let in again, deleted; and who the owner is.

use bonded_workspace_rules::Code;

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{User, UserState};

use super::auth::{check_name, check_password};
use crate::json_api::answer::{CreatedJson, NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::data_dir::TransferError;
use crate::workspace::dto::{
    self, Acceptance, EntryState, Id, Invitation, ListedUser, NewOwner, NewUser, Registered,
    Timestamp, UserEdit, UserList,
};
use crate::workspace::handler::RequiredBody;
use crate::workspace::ids;
use crate::workspace::password::random_token;

/// How long an invitation is good.
pub const INVITATION_HOURS: u64 = 72;
/// In milliseconds.
const HOUR_MS: u64 = 60 * 60 * 1000;

/// A first answer in good words; the store asks again in the transaction.
pub(super) fn only_the_owner(ask: &WorkspaceAsk, what: &str) -> Result<(), ApiRefusal> {
    if ask.caller()?.is_owner {
        return Ok(());
    }
    let message = format!("only the owner of the installation may {what}");
    Err(ApiRefusal::new(Code::RoleForbidden, message))
}

/// The user of the path, who is known.
pub(in crate::workspace) async fn found(ask: &WorkspaceAsk) -> Result<User, ApiRefusal> {
    let user_id: UserId = ask.id("user_id")?;
    let user = ask.site.store.user(user_id).await?;
    user.filter(|user| user.state != UserState::Deleted)
        .ok_or_else(|| no_user(user_id))
}

/// The same words wherever a user is missing.
fn no_user(user_id: UserId) -> ApiRefusal {
    ApiRefusal::new(Code::UserNotFound, format!("there is no user {user_id}"))
}

/// The user of the path, if it is the caller, or the caller is the owner.
pub(in crate::workspace) async fn own(ask: &WorkspaceAsk) -> Result<User, ApiRefusal> {
    let caller = ask.caller()?;
    let is_own = caller.user_id == ask.id("user_id")?;
    if !is_own {
        // Whether there is such a user is the owner's business too.
        only_the_owner(ask, "manage other users")?;
    }
    found(ask).await
}

/// Those who were deleted are not in it.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<UserList>, ApiRefusal> {
    only_the_owner(&ask, "lists users")?;
    let users = ask.site.store.users().await?;
    let invited = ask.site.store.invited_until(ask.site.now()).await?;
    let listed = users.iter().map(|user| {
        let until = invited.get(&user.user_id).copied();
        ListedUser::from(user).invited_until(until)
    });
    Ok(OkJson(UserList {
        users: listed.collect(),
    }))
}

/// Makes a user. The token, or the invitation, is shown this once; only its hash is kept.
pub(in crate::workspace) async fn add(
    ask: WorkspaceAsk,
    body: RequiredBody<NewUser>,
) -> Result<CreatedJson<dto::User>, ApiRefusal> {
    let new = body.read()?;
    only_the_owner(&ask, "makes users")?;
    check_name(&new.name)?;
    let (store, now) = (&ask.site.store, ask.site.now());
    if store.user_named(new.name.clone()).await?.is_some() {
        let message = "there is a user of this name already; choose another";
        return Err(ApiRefusal::new(Code::Conflict, message));
    }
    let by = ask.by()?;
    let user = store.add_user(by, ids::user(), new.name, now).await?;
    let mut shown = dto::User {
        user_id: Id(user.user_id),
        name: user.name,
        token: None,
        invitation: None,
        expires_at: None,
    };
    match new.invite {
        true => {
            let (invitation, expires_at) = invitation(&ask, user.user_id).await?;
            shown.invitation = Some(invitation);
            shown.expires_at = Some(expires_at);
        }
        false => {
            let token = random_token()?;
            let label = "made with the user".to_owned();
            store
                .add_token(by, user.user_id, &token, label, now)
                .await?;
            shown.token = Some(token);
        }
    }
    Ok(CreatedJson(shown))
}

/// Keeps somebody out with all that they have, or lets them in again.
pub(in crate::workspace) async fn update(
    ask: WorkspaceAsk,
    body: RequiredBody<UserEdit>,
) -> Result<OkJson<ListedUser>, ApiRefusal> {
    let edit = body.read()?;
    only_the_owner(&ask, "disables users")?;
    let user = found(&ask).await?;
    refuse_owner(&user)?;
    let state = match edit.state {
        EntryState::Active => UserState::Active,
        EntryState::Disabled => UserState::Disabled,
    };
    let (store, by) = (&ask.site.store, ask.by()?);
    let user = store.set_state(by, user.user_id, state).await?;
    Ok(OkJson(ListedUser::from(&user)))
}

/// What belonged to them is handed over by the store.
pub(in crate::workspace) async fn delete(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    only_the_owner(&ask, "deletes users")?;
    let user = found(&ask).await?;
    refuse_owner(&user)?;
    let (store, now) = (&ask.site.store, ask.site.now());
    store.delete_user(ask.by()?, user.user_id, now).await?;
    Ok(NoContent)
}

/// With the way out in the message.
fn refuse_owner(user: &User) -> Result<(), ApiRefusal> {
    if !user.is_owner {
        return Ok(());
    }
    let message =
        "this is the owner of the installation; make another user the owner first: POST /api/owner";
    Err(ApiRefusal::new(Code::Conflict, message))
}

/// Makes somebody else the owner of the installation. The token in the data directory is theirs from now on.
pub(in crate::workspace) async fn transfer(
    ask: WorkspaceAsk,
    body: RequiredBody<NewOwner>,
) -> Result<OkJson<ListedUser>, ApiRefusal> {
    let new = body.read()?;
    only_the_owner(&ask, "make another user the owner")?;
    let user = ask.site.store.user(new.user_id.0).await?;
    let user = user.filter(|user| user.state != UserState::Deleted);
    let user = user.ok_or_else(|| no_user(new.user_id.0))?;
    if user.state != UserState::Active {
        let message = "this user is disabled; enable them first";
        return Err(ApiRefusal::new(Code::Conflict, message));
    }
    if user.is_owner {
        return Ok(OkJson(ListedUser::from(&user)));
    }
    let (site, by) = (&ask.site, ask.by()?);
    match site.dir.transfer(&site.store, by, user.user_id).await {
        Ok(owner) => Ok(OkJson(ListedUser::from(&owner))),
        Err(TransferError::Store(error)) => Err(error.into()),
        Err(TransferError::File(error)) => {
            let message = format!("error: owner-token: {error}");
            tracing::error!("{message}");
            let message = "they are the owner now, but their token could not be written; start the server again";
            Err(ApiRefusal::internal(message))
        }
    }
}

/// Invites a user who is there to set a password, for instance because they forgot it. An earlier one is void.
pub(in crate::workspace) async fn invite(
    ask: WorkspaceAsk,
) -> Result<CreatedJson<Invitation>, ApiRefusal> {
    only_the_owner(&ask, "invites users")?;
    let user = found(&ask).await?;
    let (invitation, expires_at) = invitation(&ask, user.user_id).await?;
    Ok(CreatedJson(Invitation {
        user_id: Id(user.user_id),
        name: user.name,
        invitation,
        expires_at,
    }))
}

/// Shown this once; only its hash is kept.
async fn invitation(
    ask: &WorkspaceAsk,
    user_id: UserId,
) -> Result<(String, Timestamp), ApiRefusal> {
    let (invitation, now) = (random_token()?, ask.site.now());
    let expires_at = Millis(now.0.saturating_add(INVITATION_HOURS * HOUR_MS));
    let store = &ask.site.store;
    store
        .add_invitation(ask.by()?, user_id, &invitation, now, expires_at)
        .await?;
    Ok((invitation, expires_at.into()))
}

/// Whoever has the invitation can do nothing with it any more.
pub(in crate::workspace) async fn withdraw(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    only_the_owner(&ask, "withdraw invitations")?;
    let user = found(&ask).await?;
    let by = ask.by()?;
    ask.site.store.withdraw_invitation(by, user.user_id).await?;
    Ok(NoContent)
}

/// Uses an invitation up: whoever was invited has this password from now on.
pub(in crate::workspace) async fn accept(
    ask: WorkspaceAsk,
    body: RequiredBody<Acceptance>,
) -> Result<OkJson<Registered>, ApiRefusal> {
    let given = body.read()?;
    check_password(&given.password)?;
    let site = ask.site.clone();
    // Nobody hashes passwords here without an invitation.
    let unknown = || {
        let message = "this invitation is unknown, used or expired; ask the owner for another";
        ApiRefusal::new(Code::InvalidCredentials, message)
    };
    let invited = site.store.invited(&given.invitation, site.now()).await?;
    invited.ok_or_else(unknown)?;
    let hashed = site.hash_password(given.password).await?;
    let accepted = site
        .store
        .accept_invitation(&given.invitation, hashed, site.now())
        .await?;
    let user = accepted.ok_or_else(unknown)?;
    Ok(OkJson(Registered {
        user_id: Id(user.user_id),
        username: user.name,
    }))
}
