//! People beside the owner: made, listed, kept out and let in again, deleted; and who the owner is.

use bonded_workspace_rules::Code;

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{User, UserState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::{check_name, check_password};
use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::data_dir::TransferError;
use crate::workspace::ids;
use crate::workspace::password::random_token;
use crate::workspace::refusal::Refusal;
use bonded_workspace::times;

/// How long an invitation is good.
pub const INVITATION_HOURS: u64 = 72;
const HOUR_MS: u64 = 60 * 60 * 1000;

fn shown(user: &User) -> Value {
    json!({
        "user_id": user.user_id,
        "name": user.name,
        "is_owner": user.is_owner,
        "state": user.state,
        "has_password": user.has_password,
        "created_at": times::rfc3339(user.created_at),
    })
}

fn only_the_owner(ask: &Ask, what: &str) -> Result<(), Refusal> {
    if ask.caller()?.is_owner {
        return Ok(());
    }
    let message = format!("only the owner of the installation {what}");
    Err(Refusal::new(Code::RoleForbidden, message))
}

/// The user of the path, who is known.
pub(in crate::workspace) async fn found(ask: &Ask) -> Result<User, Refusal> {
    let user_id: UserId = ask.id("user_id")?;
    let user = ask.site.store.user(user_id).await?;
    user.filter(|user| user.state != UserState::Deleted)
        .ok_or_else(|| no_user(user_id))
}

fn no_user(user_id: UserId) -> Refusal {
    Refusal::new(Code::UserNotFound, format!("there is no user {user_id}"))
}

/// The user of the path, if it is the caller, or the caller is the owner.
pub(in crate::workspace) async fn own(ask: &Ask) -> Result<User, Refusal> {
    let caller = ask.caller()?;
    let is_own = caller.user_id == ask.id("user_id")?;
    if !is_own {
        // Whether there is such a user is the owner's business too.
        only_the_owner(ask, "looks after other users")?;
    }
    found(ask).await
}

pub(in crate::workspace) async fn list(ask: Ask) -> Result<Answer, Refusal> {
    only_the_owner(&ask, "lists users")?;
    let users = ask.site.store.users().await?;
    let shown: Vec<Value> = users.iter().map(shown).collect();
    Ok(Answer::ok(&json!({ "users": shown })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
    #[serde(default)]
    invite: bool,
}

/// Makes a user. The token, or the invitation, is shown this once; only its hash is kept.
pub(in crate::workspace) async fn add(mut ask: Ask) -> Result<Answer, Refusal> {
    let new: NewUser = ask.body()?;
    only_the_owner(&ask, "makes users")?;
    check_name(&new.name)?;
    let (store, now) = (&ask.site.store, ask.site.now());
    if store.user_named(new.name.clone()).await?.is_some() {
        let message = "there is a user of this name already; choose another";
        return Err(Refusal::new(Code::Conflict, message));
    }
    let by = ask.by()?;
    let user = store.add_user(by, ids::user(), new.name, now).await?;
    let mut shown = json!({ "user_id": user.user_id, "name": user.name });
    match new.invite {
        true => {
            let (invitation, expires_at) = invitation(&ask, user.user_id).await?;
            shown["invitation"] = json!(invitation);
            shown["expires_at"] = json!(expires_at);
        }
        false => {
            let token = random_token()?;
            let label = "made with the user".to_owned();
            store
                .add_token(by, user.user_id, &token, label, now)
                .await?;
            shown["token"] = json!(token);
        }
    }
    Ok(Answer::created(&shown))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserEdit {
    state: Entry,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Active,
    Disabled,
}

/// Keeps somebody out with all that they have, or lets them in again.
pub(in crate::workspace) async fn update(mut ask: Ask) -> Result<Answer, Refusal> {
    let edit: UserEdit = ask.body()?;
    only_the_owner(&ask, "disables users")?;
    let user = found(&ask).await?;
    refuse_owner(&user)?;
    let state = match edit.state {
        Entry::Active => UserState::Active,
        Entry::Disabled => UserState::Disabled,
    };
    let (store, by) = (&ask.site.store, ask.by()?);
    let user = store.set_state(by, user.user_id, state).await?;
    Ok(Answer::ok(&shown(&user)))
}

pub(in crate::workspace) async fn delete(ask: Ask) -> Result<Answer, Refusal> {
    only_the_owner(&ask, "deletes users")?;
    let user = found(&ask).await?;
    refuse_owner(&user)?;
    let (store, now) = (&ask.site.store, ask.site.now());
    store.delete_user(ask.by()?, user.user_id, now).await?;
    Ok(Answer::nothing())
}

fn refuse_owner(user: &User) -> Result<(), Refusal> {
    if !user.is_owner {
        return Ok(());
    }
    let message = "this is the owner of the installation; make somebody else the owner first: POST /api/owner";
    Err(Refusal::new(Code::Conflict, message))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOwner {
    user_id: UserId,
}

/// Makes somebody else the owner of the installation. The token in the data directory is theirs from now on.
pub(in crate::workspace) async fn transfer(mut ask: Ask) -> Result<Answer, Refusal> {
    let new: NewOwner = ask.body()?;
    only_the_owner(&ask, "makes somebody else the owner")?;
    let user = ask.site.store.user(new.user_id).await?;
    let user = user.filter(|user| user.state != UserState::Deleted);
    let user = user.ok_or_else(|| no_user(new.user_id))?;
    if user.state != UserState::Active {
        let message = "this user is disabled; enable them first";
        return Err(Refusal::new(Code::Conflict, message));
    }
    if user.is_owner {
        return Ok(Answer::ok(&shown(&user)));
    }
    let (site, by) = (&ask.site, ask.by()?);
    match site.dir.transfer(&site.store, by, user.user_id).await {
        Ok(owner) => Ok(Answer::ok(&shown(&owner))),
        Err(TransferError::Store(error)) => Err(error.into()),
        Err(TransferError::File(error)) => {
            let message = format!("error: owner-token: {error}");
            tracing::error!("{message}");
            let message = "they are the owner now, but their token could not be written; start the server again";
            Err(Refusal::internal(message))
        }
    }
}

/// Invites a user who is there to set a password, for instance because they forgot it. An earlier one is void.
pub(in crate::workspace) async fn invite(ask: Ask) -> Result<Answer, Refusal> {
    only_the_owner(&ask, "invites users")?;
    let user = found(&ask).await?;
    let (invitation, expires_at) = invitation(&ask, user.user_id).await?;
    let shown = json!({
        "user_id": user.user_id, "name": user.name, "invitation": invitation, "expires_at": expires_at,
    });
    Ok(Answer::created(&shown))
}

async fn invitation(ask: &Ask, user_id: UserId) -> Result<(String, String), Refusal> {
    let (invitation, now) = (random_token()?, ask.site.now());
    let expires_at = Millis(now.0.saturating_add(INVITATION_HOURS * HOUR_MS));
    let store = &ask.site.store;
    store
        .add_invitation(ask.by()?, user_id, &invitation, now, expires_at)
        .await?;
    Ok((invitation, times::rfc3339(expires_at)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    invitation: String,
    password: String,
}

/// Uses an invitation up: whoever was invited has this password from now on.
pub(in crate::workspace) async fn accept(mut ask: Ask) -> Result<Answer, Refusal> {
    let given: Accepted = ask.body()?;
    check_password(&given.password)?;
    let site = ask.site.clone();
    // Nobody hashes passwords here without an invitation.
    let unknown = || {
        let message =
            "this invitation is not known, was used, or is over; ask the owner for another";
        Refusal::new(Code::InvalidCredentials, message)
    };
    let invited = site.store.invited(&given.invitation, site.now()).await?;
    invited.ok_or_else(unknown)?;
    let hashed = site.hash_password(given.password).await?;
    let accepted = site
        .store
        .accept_invitation(&given.invitation, hashed, site.now())
        .await?;
    let user = accepted.ok_or_else(unknown)?;
    let shown = json!({ "user_id": user.user_id, "username": user.name });
    Ok(Answer::ok(&shown))
}
