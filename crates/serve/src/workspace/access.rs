//! Who asks, by a token or by a session, and what they may do where.
//!
//! A token is for programs and is all that is needed. A session is for browsers, and a browser sends its cookie
//! whichever page asks: whoever changes something with it must show a second secret that only our pages can read. What
//! was shown is kept as a proof and looked at again when something is written.

use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderMap, HeaderName};
use bonded_kernel::{Millis, UserId, WorkspaceId};
use bonded_workspace::store::Proof;
use bonded_workspace_rules::{Code, Permission, Role, WorkspaceState};
use subtle::ConstantTimeEq as _;

use super::dto::RoleDetails;
use super::site::Site;
use crate::json_api::SESSION_COOKIE;
use crate::json_api::refusal::ApiRefusal;

/// When a token was used last is known to the minute.
const USE_NOTED_MS: u64 = 60_000;

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct WorkspaceCaller {
    /// Who it is.
    pub(super) user_id: UserId,
    /// As others call them.
    pub(super) name: String,
    /// Whether it is the owner of the whole installation.
    pub(super) is_owner: bool,
    /// What they showed; whether it is still good is looked at again wherever something is changed.
    pub(super) proof: Proof,
    /// The session, where it is by one; whoever shows a token has none.
    pub(super) session: Option<BrowserSession>,
}

/// A session that a browser keeps.
#[derive(Clone, Debug)]
pub(super) struct BrowserSession {
    /// What the cookie holds.
    pub(super) token: String,
    /// What a page must send beside the cookie; no page of others can read it.
    pub(super) csrf_token: String,
    /// From this moment on it opens nothing.
    pub(super) expires_at: Millis,
}

/// Finds out who asks, or why they may not. With a cookie, whoever `changes` something must show that no other page
/// made the browser do so.
pub(super) async fn caller(
    site: &Site,
    headers: &HeaderMap,
    changes: bool,
) -> Result<WorkspaceCaller, ApiRefusal> {
    if let Some(header) = headers.get(AUTHORIZATION) {
        return by_token(site, header.as_bytes()).await;
    }
    let Some(cookie) = cookie(headers) else {
        return Err(ApiRefusal::auth_required());
    };
    let (caller, csrf_token) = by_session(site, cookie).await?;
    if changes {
        check_page(site, headers)?;
        check_csrf(headers, &site.settings.csrf_header, &csrf_token)?;
    }
    Ok(caller)
}

/// Whether the token is known is all that a stranger learns.
async fn by_token(site: &Site, header: &[u8]) -> Result<WorkspaceCaller, ApiRefusal> {
    let token = bearer(header).ok_or_else(ApiRefusal::auth_required)?;
    let held = site.store.token_holder(token).await?;
    let (user, last_used_at) =
        held.ok_or_else(|| ApiRefusal::new(Code::InvalidCredentials, "this token is not valid"))?;
    note_use(site, token, last_used_at);
    Ok(WorkspaceCaller {
        user_id: user.user_id,
        name: user.name,
        is_owner: user.is_owner,
        proof: Proof::token(token),
        session: None,
    })
}

/// Writes down that a token is in use, not more often than it is worth.
fn note_use(site: &Site, token: &str, last: Option<Millis>) {
    let now = site.now();
    if last.is_some_and(|last| now.0.saturating_sub(last.0) < USE_NOTED_MS) {
        return;
    }
    let (store, token) = (site.store.clone(), token.to_owned());
    tokio::spawn(async move {
        // It is noted with the next request then.
        let _unnoted = store.note_use(&token, now).await;
    });
}

/// A session that is over is told from one that is not known, so that a page can say so.
async fn by_session(site: &Site, cookie: &str) -> Result<(WorkspaceCaller, String), ApiRefusal> {
    let found = site.store.session(cookie).await?;
    let Some(found) = found else {
        return Err(ApiRefusal::new(
            Code::AuthRequired,
            "this session has ended; log in again",
        ));
    };
    if found.expires_at <= site.now() {
        return Err(ApiRefusal::new(
            Code::SessionExpired,
            "the session has expired; log in again",
        ));
    }
    let caller = WorkspaceCaller {
        user_id: found.user.user_id,
        name: found.user.name,
        is_owner: found.user.is_owner,
        proof: Proof::session(cookie),
        session: Some(BrowserSession {
            token: cookie.to_owned(),
            csrf_token: found.csrf_token.clone(),
            expires_at: found.expires_at,
        }),
    };
    Ok((caller, found.csrf_token))
}

/// The scheme in any case, the token without surrounding blanks.
fn bearer(value: &[u8]) -> Option<&str> {
    let (scheme, token) = value.split_at_checked(7)?;
    let token = std::str::from_utf8(token).ok()?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// The session that the browser shows.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| (name == SESSION_COOKIE).then_some(value))
}

/// A cookie comes along whichever page makes the browser ask.
pub(super) fn check_page(site: &Site, headers: &HeaderMap) -> Result<(), ApiRefusal> {
    if site.settings.origins.admit(headers) {
        return Ok(());
    }
    let message = "a page of another origin asks; list it in server.cors_allowed_origins if it may";
    Err(ApiRefusal::new(Code::CsrfInvalid, message))
}

/// Compared in constant time.
fn check_csrf(headers: &HeaderMap, name: &HeaderName, csrf_token: &str) -> Result<(), ApiRefusal> {
    let header = headers.get(name).map(|value| value.as_bytes());
    let fits = header.is_some_and(|header| bool::from(header.ct_eq(csrf_token.as_bytes())));
    if fits {
        return Ok(());
    }
    let message =
        "the header X-CSRF-Token is missing or wrong; GET /api/auth/session gives the right one";
    Err(ApiRefusal::new(Code::CsrfInvalid, message))
}

/// What a person is in a workspace, if they may do this there.
/// Deleted workspaces are as good as missing. Reading is judged here; writing is judged again in the transaction.
pub(super) async fn role(
    site: &Site,
    user: UserId,
    workspace_id: WorkspaceId,
    permission: Permission,
) -> Result<Role, ApiRefusal> {
    let standing = site.store.standing(workspace_id, user).await?;
    let standing = standing.filter(|it| it.state != WorkspaceState::Deleted);
    let standing = standing.ok_or_else(|| {
        let message = format!("there is no workspace {workspace_id}");
        ApiRefusal::new(Code::WorkspaceNotFound, message)
    })?;
    let role = standing.role.ok_or_else(|| {
        let message =
            format!("you are not a member of workspace {workspace_id}; ask one of its admins");
        ApiRefusal::new(Code::WorkspaceForbidden, message)
    })?;
    if role.may(permission) {
        return Ok(role);
    }
    let needs = permission.least_role();
    let message = format!(
        "this needs the role {needs} in the workspace, yours is {role}; ask one of its admins"
    );
    Err(ApiRefusal::new(Code::RoleForbidden, message).details(RoleDetails { role_needed: needs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(rows: &[(HeaderName, &str)]) -> HeaderMap {
        let header = |text: &str| text.parse().expect("the row is a header");
        rows.iter()
            .map(|(name, value)| (name.clone(), header(value)))
            .collect()
    }

    #[test]
    fn a_session_is_found_among_cookies_of_others() {
        let rows = [
            ("bonded_session=abc", Some("abc")),
            ("a=1; bonded_session=abc; b=2", Some("abc")),
            ("xbonded_session=abc", None),
            ("bonded_session", None),
            ("", None),
        ];
        for (header, expected) in rows {
            assert_eq!(
                cookie(&headers(&[(COOKIE, header)])),
                expected,
                "{header:?}"
            );
        }
    }

    #[test]
    fn a_cookie_changes_nothing_without_the_token_that_belongs_to_it() {
        let name = HeaderName::from_static("x-csrf-token");
        let rows = [
            ("abc", true),
            ("", false),
            ("ab", false),
            ("abcd", false),
            ("abd", false),
        ];
        for (header, expected) in rows {
            let checked = check_csrf(&headers(&[(name.clone(), header)]), &name, "abc");
            assert_eq!(checked.is_ok(), expected, "{header:?}");
        }
        assert!(check_csrf(&HeaderMap::new(), &name, "abc").is_err());
    }
}
