//! The owner's first registration, and sessions for browsers.

use bonded_workspace_rules::Code;

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use bonded_kernel::{Hash, Millis, UserId, folded};
use bonded_workspace::store::UserState;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::workspace::access::{Caller, SESSION_COOKIE};
use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::password::{self, Checked, random_token};
use crate::workspace::refusal::Refusal;
use crate::workspace::site::Site;
use bonded_workspace::times;

const SESSION_SECONDS: u64 = 7 * 24 * 60 * 60;
const NAME_CHARS_MAX: usize = 64;
const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    username: String,
    password: String,
}

/// Gives the owner a name and a password, once.
pub(in crate::workspace) async fn register(mut ask: Ask) -> Result<Answer, Refusal> {
    let given: Credentials = ask.body()?;
    if !ask.caller()?.is_owner {
        let message = "only the owner registers: send the token in the file owner-token";
        return Err(Refusal::new(Code::RoleForbidden, message));
    }
    check_name(&given.username)?;
    check_password(&given.password)?;
    let hashed = ask.site.hash_password(given.password).await?;
    let owner = ask
        .site
        .store
        .register_owner(ask.by()?, given.username, hashed)
        .await?;
    let shown = json!({ "user_id": owner.user_id, "username": owner.name });
    Ok(Answer::created(&shown))
}

/// Whether this can be a password.
pub fn check_password(password: &str) -> Result<(), Refusal> {
    if PASSWORD_CHARS.contains(&password.chars().count()) {
        return Ok(());
    }
    let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
    Err(Refusal::bad(format!(
        "a password has {least} to {most} characters"
    )))
}

/// Whether this can be somebody's name.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let chars = name.chars().count();
    let is_plain = !name.contains(char::is_control) && name.trim() == name;
    if (1..=NAME_CHARS_MAX).contains(&chars) && is_plain {
        return Ok(());
    }
    let message =
        format!("a name is one line of 1 to {NAME_CHARS_MAX} characters without blanks around it");
    Err(Refusal::bad(message))
}

pub(in crate::workspace) async fn login(mut ask: Ask) -> Result<Answer, Refusal> {
    let given: Credentials = ask.body()?;
    let site = ask.site.clone();
    let account = *Hash::of(folded(&given.username).as_bytes()).as_bytes();
    let attempt = site.guesses.begin(ask.from, account)?;
    let (user, hashed) = match site.store.user_named(given.username).await? {
        Some((user, hashed)) if user.state == UserState::Active => (Some(user), hashed),
        _ => (None, None),
    };
    let fitting = match user {
        Some(user) => {
            let fitting = site.fits(user.user_id, given.password, hashed).await?;
            fitting.map(|hashed| (user, hashed))
        }
        None => {
            site.fits_nobody(given.password).await?;
            None
        }
    };
    let (user, hashed) = fitting.ok_or_else(|| {
        Refusal::new(
            Code::InvalidCredentials,
            "this name and this password do not belong together",
        )
    })?;
    site.guesses.right(&attempt);
    let (session, csrf_token) = (random_token()?, random_token()?);
    let now = site.now();
    let expires_at = Millis(now.0.saturating_add(SESSION_SECONDS * 1000));
    let kept = csrf_token.clone();
    site.store
        .add_session(user.user_id, Some(hashed), &session, kept, now, expires_at)
        .await?;
    let body = json!({
        "user_id": user.user_id,
        "username": user.name,
        "csrf_token": csrf_token,
        "expires_at": times::rfc3339(expires_at),
    });
    Ok(Answer::ok(&body).with(SET_COOKIE, cookie(&site, &session, SESSION_SECONDS)?))
}

/// Who is logged in, and what their page must send to change something.
pub(in crate::workspace) async fn session(ask: Ask) -> Result<Answer, Refusal> {
    let caller: &Caller = ask.caller()?;
    let csrf_token = caller.session.as_ref().map(|session| &session.csrf_token);
    let body: Value = json!({
        "user_id": caller.user_id,
        "username": caller.name,
        "is_owner": caller.is_owner,
        "csrf_token": csrf_token,
    });
    Ok(Answer::ok(&body))
}

/// Ends the session; a token is no session and stays what it is.
pub(in crate::workspace) async fn logout(ask: Ask) -> Result<Answer, Refusal> {
    if let Some(session) = &ask.caller()?.session {
        ask.site.store.end_session(&session.token).await?;
    }
    Ok(Answer::nothing().with(SET_COOKIE, cookie(&ask.site, "", 0)?))
}

fn cookie(site: &Site, session: &str, seconds: u64) -> Result<HeaderValue, Refusal> {
    let secure = if site.settings.secure_cookies {
        "; Secure"
    } else {
        ""
    };
    let same_site = site.settings.same_site;
    let text = format!(
        "{SESSION_COOKIE}={session}; Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}"
    );
    HeaderValue::from_str(&text)
        .map_err(|_| Refusal::internal("the session cannot be written as a cookie"))
}

/// Passwords are hashed on threads of their own, few at a time: each takes a core for a while.
impl Site {
    pub(in crate::workspace) async fn hash_password(
        &self,
        password: String,
    ) -> Result<String, Refusal> {
        self.slowly(move || password::hash(&password)).await?
    }

    /// What is kept of the user's password, if this is it. A hash of before is made anew on this occasion.
    pub(in crate::workspace) async fn fits(
        &self,
        user_id: UserId,
        password: String,
        mut hashed: Option<String>,
    ) -> Result<Option<String>, Refusal> {
        loop {
            let (given, kept) = (password.clone(), hashed.clone());
            let checked = self.slowly(move || password::check(&given, kept.as_deref()));
            match (checked.await?, hashed) {
                (Checked::Wrong, _) => return Ok(None),
                (Checked::Outdated, Some(old)) => {
                    let new = self.hash_password(password.clone()).await?;
                    let store = &self.store;
                    if store.rehash_password(user_id, old, new.clone()).await? {
                        return Ok(Some(new));
                    }
                    // It was changed meanwhile, or only kept in the other way by somebody else who came in with it.
                    hashed = store.password_of(user_id).await?;
                }
                (_, hashed) => return Ok(hashed),
            }
        }
    }

    /// Takes as long for a user that there is not.
    async fn fits_nobody(&self, password: String) -> Result<(), Refusal> {
        let checked = self.slowly(move || password::check(&password, None));
        checked.await.map(|_| ())
    }

    async fn slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let _place = self.hashing.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Refusal::internal("the password could not be looked at"))
    }
}
