//! What people prove themselves with: their tokens, their sessions, their passwords. Each looks after their own, and the
//! owner after everybody's.

use bonded_workspace_rules::Code;

use bonded_kernel::{Hash, folded};
use bonded_workspace::store::proof_id;

use super::auth::check_password;
use super::users::own;
use crate::json_api::answer::{CreatedJson, NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{
    Id, MadeToken, NewPassword, NewToken, SessionList, SessionSummary, TokenList, TokenSummary,
};
use crate::workspace::handler::{OptionalBody, RequiredBody};
use crate::workspace::password::random_token;

/// In characters.
pub(in crate::workspace) const LABEL_CHARS_MAX: usize = 100;
/// The label of the token that lies in the data directory.
const RESERVED_LABEL: &str = "owner-token";

/// By parts of their hashes, never themselves.
pub(in crate::workspace) async fn tokens(
    ask: WorkspaceAsk,
) -> Result<OkJson<TokenList>, ApiRefusal> {
    let user = own(&ask).await?;
    let tokens = ask.site.store.tokens(user.user_id).await?;
    let tokens = tokens.into_iter().map(TokenSummary::from).collect();
    Ok(OkJson(TokenList { tokens }))
}

/// Makes a token, which is shown this once.
pub(in crate::workspace) async fn add_token(
    ask: WorkspaceAsk,
    body: OptionalBody<NewToken>,
) -> Result<CreatedJson<MadeToken>, ApiRefusal> {
    let new = body.read()?;
    let user = own(&ask).await?;
    let label = new.label.unwrap_or_else(|| "made by request".to_owned());
    let is_line = !label.trim().is_empty() && !label.contains(char::is_control);
    if !is_line || label.chars().count() > LABEL_CHARS_MAX || label == RESERVED_LABEL {
        let message = format!(
            "label: one line of 1 to {LABEL_CHARS_MAX} characters, and not {RESERVED_LABEL}"
        );
        return Err(ApiRefusal::bad(message));
    }
    let (store, now) = (&ask.site.store, ask.site.now());
    let (by, token) = (ask.by()?, random_token()?);
    let kept = label.clone();
    let id = user.user_id;
    match new.revoke_others {
        true => store.replace_tokens(by, id, &token, kept, now).await?,
        false => store.add_token(by, id, &token, kept, now).await?,
    }
    Ok(CreatedJson(MadeToken {
        user_id: Id(id),
        token_id: proof_id(&token),
        label,
        token,
    }))
}

/// What it opened is closed with the next request.
pub(in crate::workspace) async fn revoke_token(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let user = own(&ask).await?;
    let (token_id, now) = (ask.param("token_id").to_owned(), ask.site.now());
    let store = &ask.site.store;
    let by = ask.by()?;
    match store.revoke_token(by, user.user_id, token_id, now).await? {
        true => Ok(NoContent),
        false => Err(ApiRefusal::new(
            Code::NotFound,
            "this user has no such token",
        )),
    }
}

/// Says which of them is the caller's own.
pub(in crate::workspace) async fn sessions(
    ask: WorkspaceAsk,
) -> Result<OkJson<SessionList>, ApiRefusal> {
    let user = own(&ask).await?;
    let sessions = ask
        .site
        .store
        .sessions(user.user_id, ask.site.now())
        .await?;
    let session = ask.caller()?.session.as_ref();
    let current = session.map(|session| proof_id(&session.token));
    let sessions = sessions.into_iter();
    let sessions = sessions.map(|it| SessionSummary::of(it, current.as_deref()));
    Ok(OkJson(SessionList {
        sessions: sessions.collect(),
    }))
}

/// Its cookie opens nothing from then on.
pub(in crate::workspace) async fn end_session(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let user = own(&ask).await?;
    let session_id = ask.param("session_id").to_owned();
    let (store, by) = (&ask.site.store, ask.by()?);
    match store.end_session_of(by, user.user_id, session_id).await? {
        true => Ok(NoContent),
        false => Err(ApiRefusal::new(
            Code::NotFound,
            "this user has no such session",
        )),
    }
}

/// Tokens stay.
pub(in crate::workspace) async fn end_sessions(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let user = own(&ask).await?;
    let store = &ask.site.store;
    store.end_sessions(ask.by()?, user.user_id).await?;
    Ok(NoContent)
}

/// Sets a password; all sessions end. Who has one says it too, so that a stolen token or an open page is not enough;
/// the owner sets those of others.
pub(in crate::workspace) async fn set_password(
    ask: WorkspaceAsk,
    body: RequiredBody<NewPassword>,
) -> Result<NoContent, ApiRefusal> {
    let given = body.read()?;
    let user = own(&ask).await?;
    check_password(&given.password)?;
    let site = ask.site.clone();
    let by = ask.by()?;
    if ask.caller()?.user_id != user.user_id {
        let hashed = site.hash_password(given.password).await?;
        site.store.set_password(by, user.user_id, hashed).await?;
        return Ok(NoContent);
    }
    let mut old = None;
    if user.has_password {
        let account = *Hash::of(folded(&user.name).as_bytes()).as_bytes();
        let attempt = site.begin_guess(ask.from, account).await?;
        let hashed = site.store.password_of(user.user_id).await?;
        let current = given.current_password.unwrap_or_default();
        old = site.fits(user.user_id, current, hashed).await?;
        if old.is_none() {
            let message = "current_password is missing or wrong; if you forgot it, ask the owner for an invitation";
            return Err(ApiRefusal::new(Code::InvalidCredentials, message));
        }
        site.right_guess(&attempt).await?;
    }
    let hashed = site.hash_password(given.password).await?;
    let store = &site.store;
    store.change_password(by, user.user_id, old, hashed).await?;
    Ok(NoContent)
}
