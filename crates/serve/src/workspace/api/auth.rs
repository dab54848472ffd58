//! The owner's first registration, and sessions for browsers.
//!
//! Passwords are checked slowly, few at a time, and as slowly for names that nobody has; guesses are counted by address
//! and account. A session is kept as the hash of its cookie.

use bonded_workspace_rules::Code;

use axum::http::HeaderValue;
use bonded_kernel::{Hash, Millis, UserId, folded};
use bonded_workspace::store::UserState;

use crate::json_api::SESSION_COOKIE;
use crate::json_api::answer::{CreatedJson, NoContent, OkJson, WithCookie};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::access::WorkspaceCaller;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{Credentials, Id, LoggedIn, Registered, SessionAnswer};
use crate::workspace::handler::RequiredBody;
use crate::workspace::password::{self, PasswordCheck, random_token};
use crate::workspace::site::Site;

/// A week.
const SESSION_SECONDS: u64 = 7 * 24 * 60 * 60;
/// In characters.
pub(in crate::workspace) const NAME_CHARS_MAX: usize = 64;
/// In characters; the upper bound keeps hashing from being fed without end.
pub(in crate::workspace) const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=1024;

/// Gives the owner a name and a password, once.
pub(in crate::workspace) async fn register(
    ask: WorkspaceAsk,
    body: RequiredBody<Credentials>,
) -> Result<CreatedJson<Registered>, ApiRefusal> {
    let given = body.read()?;
    if !ask.caller()?.is_owner {
        let message = "only the owner registers: send the token in the file owner-token";
        return Err(ApiRefusal::new(Code::RoleForbidden, message));
    }
    check_name(&given.username)?;
    check_password(&given.password)?;
    let hashed = ask.site.hash_password(given.password).await?;
    let owner = ask
        .site
        .store
        .register_owner(ask.by()?, given.username, hashed)
        .await?;
    Ok(CreatedJson(Registered {
        user_id: Id(owner.user_id),
        username: owner.name,
    }))
}

/// Whether this can be a password.
pub fn check_password(password: &str) -> Result<(), ApiRefusal> {
    if PASSWORD_CHARS.contains(&password.chars().count()) {
        return Ok(());
    }
    let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
    Err(ApiRefusal::bad(format!(
        "a password has {least} to {most} characters"
    )))
}

/// Whether this can be somebody's name.
pub fn check_name(name: &str) -> Result<(), ApiRefusal> {
    let chars = name.chars().count();
    let is_plain = !name.contains(char::is_control) && name.trim() == name;
    if (1..=NAME_CHARS_MAX).contains(&chars) && is_plain {
        return Ok(());
    }
    let message = format!(
        "a name is one line of 1 to {NAME_CHARS_MAX} characters without surrounding blanks"
    );
    Err(ApiRefusal::bad(message))
}

/// The attempt is counted before the password is looked at, so that many at once are as many. The session is refused if
/// the password was changed while it was checked.
pub(in crate::workspace) async fn login(
    ask: WorkspaceAsk,
    body: RequiredBody<Credentials>,
) -> Result<WithCookie<OkJson<LoggedIn>>, ApiRefusal> {
    let given = body.read()?;
    let site = ask.site.clone();
    let account = *Hash::of(folded(&given.username).as_bytes()).as_bytes();
    let attempt = site.begin_guess(ask.from, account).await?;
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
        ApiRefusal::new(
            Code::InvalidCredentials,
            "this name and password do not match",
        )
    })?;
    site.right_guess(&attempt).await?;
    let (session, csrf_token) = (random_token()?, random_token()?);
    let now = site.now();
    let expires_at = Millis(now.0.saturating_add(SESSION_SECONDS * 1000));
    let kept = csrf_token.clone();
    site.store
        .add_session(user.user_id, Some(hashed), &session, kept, now, expires_at)
        .await?;
    let body = LoggedIn {
        user_id: Id(user.user_id),
        username: user.name,
        csrf_token,
        expires_at: expires_at.into(),
    };
    let cookie = cookie(&site, &session, SESSION_SECONDS)?;
    Ok(WithCookie(OkJson(body), cookie))
}

/// Who is logged in, and what their page must send to change something.
pub(in crate::workspace) async fn session(
    ask: WorkspaceAsk,
) -> Result<OkJson<SessionAnswer>, ApiRefusal> {
    let caller: &WorkspaceCaller = ask.caller()?;
    let session = caller.session.as_ref();
    Ok(OkJson(SessionAnswer {
        user_id: Id(caller.user_id),
        username: caller.name.clone(),
        is_owner: caller.is_owner,
        csrf_token: session.map(|session| session.csrf_token.clone()),
    }))
}

/// Ends the session; a token is no session and stays what it is.
pub(in crate::workspace) async fn logout(
    ask: WorkspaceAsk,
) -> Result<WithCookie<NoContent>, ApiRefusal> {
    if let Some(session) = &ask.caller()?.session {
        ask.site.store.end_session(&session.token).await?;
    }
    Ok(WithCookie(NoContent, cookie(&ask.site, "", 0)?))
}

/// An empty value with no time to live takes the cookie away.
fn cookie(site: &Site, session: &str, seconds: u64) -> Result<HeaderValue, ApiRefusal> {
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
        .map_err(|_| ApiRefusal::internal("the session cannot be written as a cookie"))
}

/// Passwords are hashed on threads of their own, few at a time: each takes a core for a while.
impl Site {
    /// Waits for one of the few places where passwords are hashed.
    pub(in crate::workspace) async fn hash_password(
        &self,
        password: String,
    ) -> Result<String, ApiRefusal> {
        self.slowly(move || password::hash(&password)).await?
    }

    /// What is kept of the user's password, if this is it. A hash of before is made anew on this occasion.
    pub(in crate::workspace) async fn fits(
        &self,
        user_id: UserId,
        password: String,
        mut hashed: Option<String>,
    ) -> Result<Option<String>, ApiRefusal> {
        loop {
            let (given, kept) = (password.clone(), hashed.clone());
            let checked = self.slowly(move || password::check(&given, kept.as_deref()));
            match (checked.await?, hashed) {
                (PasswordCheck::Wrong, _) => return Ok(None),
                (PasswordCheck::Outdated, Some(old)) => {
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
    async fn fits_nobody(&self, password: String) -> Result<(), ApiRefusal> {
        let checked = self.slowly(move || password::check(&password, None));
        checked.await.map(|_| ())
    }

    /// Off the threads that answer requests.
    async fn slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiRefusal> {
        let _place = self.hashing.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| ApiRefusal::internal("the password could not be checked"))
    }
}
