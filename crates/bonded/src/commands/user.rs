//! `bonded user`: people on a terminal, directly on the store, for whoever has the data directory.
//!
//! Whoever has the data directory is the keeper and needs no token: it is how an owner who lost his comes in again.
//! Every change goes through the store, as a server's does, and counts for a server that runs meanwhile. Tokens and
//! invitations are shown once, on stdout alone; the store has hashes of them.

use std::io::Read as _;
use std::process::ExitCode;

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{By, User, UserState, WorkspaceStore, proof_id};

use crate::args::{UserArgs, UserCommand};
use crate::error::{CliError, Code, store_error};
use crate::output;
use crate::render::table::{self, Side};
use crate::workspace::place;
use bonded_host::shapes::text;
use bonded_serve::json_api::refusal::ApiRefusal;
use bonded_serve::workspace::api::auth::{check_name, check_password};
use bonded_serve::workspace::api::users::INVITATION_HOURS;
use bonded_serve::workspace::clock::now;
use bonded_serve::workspace::data_dir::{DataDir, TransferError};
use bonded_serve::workspace::ids;
use bonded_serve::workspace::password::{self, random_token};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// More than any password may have; the rest of stdin is not read.
const PASSWORD_BYTES_MAX: u64 = 8 << 10;

/// Commands that only look do with a store that cannot be written.
pub(crate) async fn user(args: &UserArgs) -> Result<ExitCode, CliError> {
    let dir = place::open(&args.data.data)?;
    let only_looks = matches!(
        args.command,
        UserCommand::List { .. } | UserCommand::Tokens { .. }
    );
    let store = &*match only_looks {
        true => dir.open_store_to_read()?,
        false => dir.open_store()?,
    };
    match &args.command {
        UserCommand::List { json } => list(store, *json).await?,
        UserCommand::Add { name, invite } => add(store, name, *invite).await?,
        UserCommand::Invite { user } => {
            let user = found(store, user).await?;
            invite(store, user.user_id).await?;
        }
        UserCommand::Disable { user } => set_state(store, user, UserState::Disabled).await?,
        UserCommand::Enable { user } => set_state(store, user, UserState::Active).await?,
        UserCommand::Delete { user } => {
            let user = found(store, user).await?.user_id;
            let deleted = store.delete_user(By::Keeper, user, now()).await;
            deleted.map_err(store_error)?;
        }
        UserCommand::Token { user, label, only } => token(store, user, label, *only).await?,
        UserCommand::Tokens { user } => tokens(store, user).await?,
        UserCommand::Revoke { user, token } => {
            let user = found(store, user).await?.user_id;
            let revoked = store.revoke_token(By::Keeper, user, token.clone(), now());
            let revoked = revoked.await;
            if !revoked.map_err(store_error)? {
                let message = format!("NOT_FOUND: this user has no token {token:?}");
                return Err(CliError::new(Code::Refused, message)
                    .hint("`bonded user tokens USER` shows what there is"));
            }
        }
        UserCommand::Password { user } => set_password(store, user).await?,
        UserCommand::Logout { user } => {
            let user = found(store, user).await?.user_id;
            let ended = store.end_sessions(By::Keeper, user).await;
            ended.map_err(store_error)?;
        }
        UserCommand::Owner { user } => transfer(&dir, store, user).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The code first, as programs meet it over HTTP.
fn refused(refusal: &ApiRefusal) -> CliError {
    CliError::new(
        Code::Refused,
        format!("{}: {}", refusal.code, refusal.message),
    )
}

/// Who is meant by a name or an id.
/// Names are looked up by the store, which knows how they are compared.
async fn found(store: &WorkspaceStore, named: &str) -> Result<User, CliError> {
    let users = store.users().await.map_err(store_error)?;
    let id: Option<UserId> = named.parse().ok();
    let by_name = store.user_named(named.to_owned()).await;
    let by_name = by_name.map_err(store_error)?.map(|(user, _)| user.user_id);
    let is_it = |user: &User| Some(user.user_id) == id || Some(user.user_id) == by_name;
    users.into_iter().find(is_it).ok_or_else(|| {
        let message = format!("USER_NOT_FOUND: there is no user {named:?}");
        CliError::new(Code::Refused, message).hint("`bonded user list` shows who there is")
    })
}

async fn list(store: &WorkspaceStore, json: bool) -> Result<(), CliError> {
    let users = store.users().await.map_err(store_error)?;
    if json {
        for user in &users {
            output::object(user);
        }
        return Ok(());
    }
    let titles = ["NAME", "STATE", "OWNER", "PASSWORD", "SINCE", "ID"].map(|it| (it, Side::Left));
    let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let rows = users.iter().map(|user| {
        let state = match user.state {
            UserState::Active => "active",
            UserState::Disabled => "disabled",
            UserState::Deleted => "deleted",
        };
        [
            user.name.clone(),
            state.to_owned(),
            word(user.is_owner),
            word(user.has_password),
            text::local_time(user.created_at),
            user.user_id.to_string(),
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}

/// A new person has no password. With an invitation they choose one; else they have a token.
async fn add(store: &WorkspaceStore, name: &str, invites: bool) -> Result<(), CliError> {
    check_name(name).map_err(|refusal| refused(&refusal))?;
    let added = store.add_user(By::Keeper, ids::user(), name.to_owned(), now());
    let user = added.await.map_err(store_error)?;
    output::stderr(&format!("the user has the id {}", user.user_id));
    match invites {
        true => invite(store, user.user_id).await,
        false => add_token(store, user.user_id, "made with the user", false).await,
    }
}

/// Makes a token and shows it; where it is to be the only one, those of before are revoked.
async fn add_token(
    store: &WorkspaceStore,
    user: UserId,
    label: &str,
    only: bool,
) -> Result<(), CliError> {
    let token = random_token().map_err(|refusal| refused(&refusal))?;
    let (by, label) = (By::Keeper, label.to_owned());
    let added = match only {
        true => store.replace_tokens(by, user, &token, label, now()).await,
        false => store.add_token(by, user, &token, label, now()).await,
    };
    added.map_err(store_error)?;
    output::stderr(&format!(
        "the token with the id {} is shown only once:",
        proof_id(&token)
    ));
    output::stdout(&token);
    Ok(())
}

/// An invitation is good once and for a limited time, because it is sent to people in ways that others may read.
async fn invite(store: &WorkspaceStore, user: UserId) -> Result<(), CliError> {
    let invitation = random_token().map_err(|refusal| refused(&refusal))?;
    let expires_at = Millis(now().0.saturating_add(INVITATION_HOURS * HOUR_MS));
    let added = store.add_invitation(By::Keeper, user, &invitation, now(), expires_at);
    added.await.map_err(store_error)?;
    output::stderr(&format!(
        "POST /api/auth/invitation accepts it once, with a password, within {INVITATION_HOURS} hours:"
    ));
    output::stdout(&invitation);
    Ok(())
}

/// Whoever is disabled is kept out with all that they have; the owner cannot be.
async fn set_state(store: &WorkspaceStore, named: &str, state: UserState) -> Result<(), CliError> {
    let user = found(store, named).await?.user_id;
    let set = store.set_state(By::Keeper, user, state).await;
    set.map_err(store_error)?;
    Ok(())
}

async fn token(
    store: &WorkspaceStore,
    named: &str,
    label: &str,
    only: bool,
) -> Result<(), CliError> {
    let user = found(store, named).await?.user_id;
    add_token(store, user, label, only).await
}

/// Their ids, never the tokens: those are known to nobody here.
async fn tokens(store: &WorkspaceStore, named: &str) -> Result<(), CliError> {
    let user = found(store, named).await?.user_id;
    let tokens = store.tokens(user).await.map_err(store_error)?;
    let titles = ["TOKEN", "LABEL", "MADE", "LAST USED"].map(|it| (it, Side::Left));
    let rows = tokens.iter().map(|token| {
        [
            token.token_id.clone(),
            token.label.clone(),
            text::local_time(token.created_at),
            token
                .last_used_at
                .map_or("never".to_owned(), text::local_time),
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}

/// The password is the first line of stdin, so that it stands neither in the history of a shell nor in a list of
/// processes.
async fn set_password(store: &WorkspaceStore, named: &str) -> Result<(), CliError> {
    let user = found(store, named).await?.user_id;
    let mut given = String::new();
    let read = std::io::stdin()
        .take(PASSWORD_BYTES_MAX)
        .read_to_string(&mut given);
    read.map_err(|error| CliError::new(Code::Usage, format!("stdin: {error}")))?;
    let given = given.lines().next().unwrap_or_default();
    let hashed = check_password(given).and_then(|()| password::hash(given));
    let hashed = hashed.map_err(|refusal| refused(&refusal))?;
    store
        .set_password(By::Keeper, user, hashed)
        .await
        .map_err(store_error)?;
    Ok(())
}

/// The owner's token lies in a file of the directory, so that the directory does it together with the store.
async fn transfer(dir: &DataDir, store: &WorkspaceStore, named: &str) -> Result<(), CliError> {
    let user = found(store, named).await?;
    if user.is_owner {
        return Ok(());
    }
    match dir.transfer(store, By::Keeper, user.user_id).await {
        Ok(_) => Ok(()),
        Err(TransferError::Store(error)) => Err(store_error(error)),
        Err(TransferError::File(error)) => Err(error.into()),
    }
}
