//! What people prove themselves with: their tokens, their sessions, their passwords. Each looks after their own, and the
//! owner after everybody's.

use bonded_workspace_rules::Code;

use bonded_kernel::{Hash, folded};
use bonded_workspace::store::proof_id;
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::check_password;
use super::users::own;
use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::password::random_token;
use crate::workspace::refusal::Refusal;
use bonded_workspace::times;

const LABEL_CHARS_MAX: usize = 100;
/// The label of the token that lies in the data directory.
const RESERVED_LABEL: &str = "owner-token";

pub(in crate::workspace) async fn tokens(ask: Ask) -> Result<Answer, Refusal> {
    let user = own(&ask).await?;
    let tokens = ask.site.store.tokens(user.user_id).await?;
    let shown: Vec<Value> = tokens
        .iter()
        .map(|token| {
            json!({
                "token_id": token.token_id,
                "label": token.label,
                "created_at": times::rfc3339(token.created_at),
                "last_used_at": times::shown(token.last_used_at),
            })
        })
        .collect();
    Ok(Answer::ok(&json!({ "tokens": shown })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    label: Option<String>,
    /// Whether the tokens of before are revoked.
    #[serde(default)]
    revoke_others: bool,
}

/// Makes a token, which is shown this once.
pub(in crate::workspace) async fn add_token(mut ask: Ask) -> Result<Answer, Refusal> {
    let new: NewToken = ask.body_or_empty()?;
    let user = own(&ask).await?;
    let label = new.label.unwrap_or_else(|| "made by request".to_owned());
    let is_line = !label.trim().is_empty() && !label.contains(char::is_control);
    if !is_line || label.chars().count() > LABEL_CHARS_MAX || label == RESERVED_LABEL {
        let message = format!(
            "label: one line of 1 to {LABEL_CHARS_MAX} characters, and not {RESERVED_LABEL}"
        );
        return Err(Refusal::bad(message));
    }
    let (store, now) = (&ask.site.store, ask.site.now());
    let (by, token) = (ask.by()?, random_token()?);
    let kept = label.clone();
    let id = user.user_id;
    match new.revoke_others {
        true => store.replace_tokens(by, id, &token, kept, now).await?,
        false => store.add_token(by, id, &token, kept, now).await?,
    }
    let shown = json!({
        "user_id": id, "token_id": proof_id(&token), "label": label, "token": token,
    });
    Ok(Answer::created(&shown))
}

pub(in crate::workspace) async fn revoke_token(ask: Ask) -> Result<Answer, Refusal> {
    let user = own(&ask).await?;
    let (token_id, now) = (ask.param("token_id").to_owned(), ask.site.now());
    let store = &ask.site.store;
    let by = ask.by()?;
    match store.revoke_token(by, user.user_id, token_id, now).await? {
        true => Ok(Answer::nothing()),
        false => Err(Refusal::new(Code::NotFound, "this user has no such token")),
    }
}

pub(in crate::workspace) async fn sessions(ask: Ask) -> Result<Answer, Refusal> {
    let user = own(&ask).await?;
    let sessions = ask
        .site
        .store
        .sessions(user.user_id, ask.site.now())
        .await?;
    let session = ask.caller()?.session.as_ref();
    let current = session.map(|session| proof_id(&session.token));
    let shown: Vec<Value> = sessions
        .iter()
        .map(|session| {
            json!({
                "session_id": session.session_id,
                "created_at": times::rfc3339(session.created_at),
                "expires_at": times::rfc3339(session.expires_at),
                "is_current": current.as_ref() == Some(&session.session_id),
            })
        })
        .collect();
    Ok(Answer::ok(&json!({ "sessions": shown })))
}

pub(in crate::workspace) async fn end_session(ask: Ask) -> Result<Answer, Refusal> {
    let user = own(&ask).await?;
    let session_id = ask.param("session_id").to_owned();
    let (store, by) = (&ask.site.store, ask.by()?);
    match store.end_session_of(by, user.user_id, session_id).await? {
        true => Ok(Answer::nothing()),
        false => Err(Refusal::new(
            Code::NotFound,
            "this user has no such session",
        )),
    }
}

pub(in crate::workspace) async fn end_sessions(ask: Ask) -> Result<Answer, Refusal> {
    let user = own(&ask).await?;
    let store = &ask.site.store;
    store.end_sessions(ask.by()?, user.user_id).await?;
    Ok(Answer::nothing())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    password: String,
    current_password: Option<String>,
}

/// Sets a password; all sessions end. Who has one says it too, so that a stolen token or an open page is not enough;
/// the owner sets those of others.
pub(in crate::workspace) async fn set_password(mut ask: Ask) -> Result<Answer, Refusal> {
    let given: NewPassword = ask.body()?;
    let user = own(&ask).await?;
    check_password(&given.password)?;
    let site = ask.site.clone();
    let by = ask.by()?;
    if ask.caller()?.user_id != user.user_id {
        let hashed = site.hash_password(given.password).await?;
        site.store.set_password(by, user.user_id, hashed).await?;
        return Ok(Answer::nothing());
    }
    let mut old = None;
    if user.has_password {
        let account = *Hash::of(folded(&user.name).as_bytes()).as_bytes();
        let attempt = site.guesses.begin(ask.from, account)?;
        let hashed = site.store.password_of(user.user_id).await?;
        let current = given.current_password.unwrap_or_default();
        old = site.fits(user.user_id, current, hashed).await?;
        if old.is_none() {
            let message = "current_password is missing or wrong; an invitation by the owner helps who forgot it";
            return Err(Refusal::new(Code::InvalidCredentials, message));
        }
        site.guesses.right(&attempt);
    }
    let hashed = site.hash_password(given.password).await?;
    let store = &site.store;
    store.change_password(by, user.user_id, old, hashed).await?;
    Ok(Answer::nothing())
}
