//! What is done when a server refuses a request: another token is had, a bounded number of times.
//!
//! The remedies are tried from the cheapest on: a token that somebody else has gained meanwhile, a renewal, a
//! new grant. Each is used at most once for a request, except the first, so that a server that refuses
//! everything is not asked for ever. The lock on the token is held meanwhile: requests that were refused
//! together wait, and find the new token.

use std::sync::Arc;

use reqwest::{Response, Url};
use tokio::sync::MutexGuard;

use super::Oauth;
use super::challenge::Challenge;
use super::error::OauthError;
use super::token::Kept;
use super::web::Web;
use crate::mcp::http::fault::HttpFault;

/// How often a token that somebody else has just gained is tried instead.
const TAKEN_MAX: u8 = 3;

/// What was done about the refusals of one request.
///
/// It is handed from one refusal of a request to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mcp::http) struct Remedies {
    taken: u8,
    renewed: bool,
    gained: bool,
    widened: bool,
}

/// A refusal that another token may cure.
struct TokenRefusal {
    server: Url,
    challenge: Challenge,
    /// What the request carried.
    used: Option<String>,
}

impl Oauth {
    /// Has another token if the answer is a refusal that one may cure. `None` leaves the answer as it is.
    pub(in crate::mcp::http) async fn remedy(
        self: &Arc<Self>,
        name: &str,
        server: &Url,
        response: &Response,
        used: Option<String>,
        done: Remedies,
    ) -> Result<Option<Remedies>, HttpFault> {
        let challenge = Challenge::of(response);
        match response.status().as_u16() {
            401 => {}
            403 if challenge.wants_more_scope() => {}
            _ => return Ok(None),
        }
        let refusal = TokenRefusal {
            server: server.clone(),
            challenge,
            used,
        };
        let (oauth, name) = (Arc::clone(self), name.to_owned());
        // Its own task: what an issuer has given is kept, even if the request is given up.
        let curing = tokio::spawn(async move { oauth.cure(&name, &refusal, done).await });
        let cured = curing.await.unwrap_or_else(|error| {
            let why = error.to_string();
            Err(HttpFault::NotGranted { why })
        });
        cured.map(Some)
    }

    async fn cure(
        &self,
        name: &str,
        refusal: &TokenRefusal,
        mut done: Remedies,
    ) -> Result<Remedies, HttpFault> {
        let mut kept = self.kept.lock().await;
        let current = kept.as_ref().map(|kept| &kept.access_token);
        if current.is_some() && current != refusal.used.as_ref() && done.taken < TAKEN_MAX {
            done.taken += 1;
            return Ok(done);
        }
        if refusal.challenge.wants_more_scope() {
            return self.widen(name, refusal, done, kept).await;
        }
        let mut over = String::new();
        if !done.renewed {
            done.renewed = true;
            let used = refusal.used.as_deref();
            match self.renew(&refusal.server, &mut kept, used).await {
                Ok(true) => return Ok(done),
                Ok(false) => {}
                Err(error) => over = format!("; the last login has expired: {error}"),
            }
        }
        let login_needed = || HttpFault::LoginNeeded {
            server: name.into(),
            over,
        };
        if done.gained || !self.can_gain() {
            return Err(login_needed());
        }
        done.gained = true;
        self.replace(refusal, kept).await?;
        Ok(done)
    }

    /// The token is good, and for too little.
    async fn widen(
        &self,
        name: &str,
        refusal: &TokenRefusal,
        mut done: Remedies,
        kept: MutexGuard<'_, Option<Kept>>,
    ) -> Result<Remedies, HttpFault> {
        let wanted = refusal.challenge.scope.as_deref().unwrap_or_default();
        // Who has all that is demanded and is still refused gains nothing by asking for it again.
        let has_all = kept.as_ref().is_some_and(|kept| kept.has_scopes(wanted));
        if has_all || done.widened || !self.can_gain() {
            return Err(HttpFault::ScopeMissing {
                server: name.into(),
                scope: plain(wanted),
            });
        }
        done.widened = true;
        self.replace(refusal, kept).await?;
        Ok(done)
    }

    /// Whether a token can be had without a person who is not there.
    fn can_gain(&self) -> bool {
        self.settings.grant.needs_no_login() || self.visit.is_some()
    }

    /// The old token stays in use if no new one is granted.
    async fn replace(
        &self,
        refusal: &TokenRefusal,
        mut kept: MutexGuard<'_, Option<Kept>>,
    ) -> Result<(), OauthError> {
        let held = kept.as_ref();
        let gained = self.gain(&refusal.server, &refusal.challenge, held);
        *kept = Some(gained.await?);
        Ok(())
    }

    /// Takes the token that another process has left, or has a new one for what renews it. Whether there is
    /// another one now.
    pub(super) async fn renew(
        &self,
        server: &Url,
        kept: &mut Option<Kept>,
        used: Option<&str>,
    ) -> Result<bool, OauthError> {
        let Some(file) = self.file(server) else {
            return Ok(false);
        };
        let Some(found) = self.login_in(&file)? else {
            *kept = None;
            return Ok(false);
        };
        // Only who has something to renew needs the lock, and looks again once it is had.
        let _held = match &found.refresh_token {
            Some(_) => Some(file.lock().await?),
            None => None,
        };
        let found = self.login_in(&file)?.unwrap_or(found);
        self.learn_all(&found);
        let is_other = Some(found.access_token.as_str()) != used;
        *kept = Some(found.clone());
        if is_other {
            return Ok(true);
        }
        let Some(refresh_token) = found.refresh_token.clone() else {
            return Ok(false);
        };
        let web = Web::new(server, self.settings.reach);
        let renewing = found.renew(&web, &self.settings, refresh_token);
        let fresh = renewing.await?;
        self.learn_all(&fresh);
        file.write(&fresh)?;
        *kept = Some(fresh);
        Ok(true)
    }
}

impl From<OauthError> for HttpFault {
    fn from(error: OauthError) -> Self {
        let why = error.to_string();
        Self::NotGranted { why }
    }
}

/// Scopes as they may stand in a command that a person copies.
fn plain(scope: &str) -> String {
    let usable = |c: &char| c.is_ascii_alphanumeric() || "_-.:/+*=@ ,".contains(*c);
    scope.chars().filter(usable).take(500).collect()
}
