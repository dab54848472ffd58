//! Logging in and out, which only a person does.
//!
//! A login always begins anew: it asks the server what it demands, gains a token as that says, and replaces
//! whatever was kept. Logging out forgets the token here in any case and tells the issuer where it can be told.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};

use super::Oauth;
use super::challenge::Challenge;
use super::discover::discover;
use super::error::OauthError;
use super::web::{TokenForm, Web, shown_url};
use crate::mcp::error::McpError;
use crate::mcp::http::client::HttpCaller;
use crate::mcp::http::fault::HttpFault;
use crate::mcp::settings::HttpEndpoint;

/// For the one question that is asked without a token.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);

/// What a login has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedIn {
    /// Who granted it, by its address.
    pub issuer: String,
    /// What the token is good for, with spaces in between; empty where nothing was said.
    pub scope: String,
    /// Whether it is renewed without a person.
    pub is_renewed: bool,
    /// Where the tokens are kept; only its owner can read it.
    pub file: PathBuf,
}

/// Logs in to a server anew, whatever is kept of an older login. The endpoint's `oauth` must be attended and
/// have a directory for tokens. Boxed, so that it is compiled with this crate and not with whoever awaits it.
pub fn login<'a>(
    server: &'a str,
    endpoint: &'a HttpEndpoint,
) -> BoxFuture<'a, Result<LoggedIn, McpError>> {
    Box::pin(logged_in(server, endpoint))
}

async fn logged_in(server: &str, endpoint: &HttpEndpoint) -> Result<LoggedIn, McpError> {
    let caller = HttpCaller::new(server, endpoint)?;
    let fault = |error: OauthError| McpError::Login {
        server: server.into(),
        source: Box::new(error),
    };
    let Some(oauth) = &caller.oauth else {
        return Err(fault(OauthError::NoPlace));
    };
    anew(&caller, oauth).await.map_err(fault)
}

async fn anew(caller: &HttpCaller, oauth: &Oauth) -> Result<LoggedIn, OauthError> {
    let server = &caller.url;
    if oauth.settings.grant.needs_no_login() {
        return Err(OauthError::NotNeeded);
    }
    let file = oauth.file(server).ok_or(OauthError::NoPlace)?;
    let refusal = refusal(caller).await?;
    let challenge = Challenge::of(&refusal);
    if refusal.status().as_u16() != 401 {
        // A server that tells nobody who grants access, and lets everybody in, wants no login.
        let web = Web::new(server, oauth.settings.reach);
        let found = discover(&web, &challenge, oauth.settings.issuer.as_deref()).await?;
        if found.is_assumed {
            return Err(OauthError::NotDemanded);
        }
    }
    let kept = oauth.gain(server, &challenge, None).await?;
    Ok(LoggedIn {
        issuer: kept.issuer,
        scope: kept.scope,
        is_renewed: kept.refresh_token.is_some(),
        file: file.path().to_owned(),
    })
}

/// What the server says to somebody without a token. It is asked for nothing that begins a session.
async fn refusal(caller: &HttpCaller) -> Result<Response, OauthError> {
    let asking = caller
        .client
        .post(caller.url.clone())
        .headers(caller.headers.clone())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .timeout(ASK_TIMEOUT)
        .body(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#)
        .send();
    asking.await.map_err(|error| OauthError::Unreachable {
        url: shown_url(&caller.url),
        why: HttpFault::from(error).to_string(),
    })
}

/// Forgets a login, and tells the issuer where it wants to know. Whether there was one.
pub fn logout<'a>(
    server: &'a str,
    endpoint: &'a HttpEndpoint,
) -> BoxFuture<'a, Result<bool, McpError>> {
    Box::pin(logged_out(server, endpoint))
}

async fn logged_out(server: &str, endpoint: &HttpEndpoint) -> Result<bool, McpError> {
    let caller = HttpCaller::new(server, endpoint)?;
    let forgotten = match &caller.oauth {
        Some(oauth) => forget(oauth, &caller.url).await,
        None => Ok(false),
    };
    forgotten.map_err(|error| McpError::Login {
        server: server.into(),
        source: Box::new(error),
    })
}

/// A file that cannot be understood is removed all the same. The token that renews others is revoked where
/// there is one, since the standard
/// wants the tokens that came of it to go with it.
async fn forget(oauth: &Oauth, server: &Url) -> Result<bool, OauthError> {
    let Some(file) = oauth.file(server) else {
        return Ok(false);
    };
    let Some(kept) = file.read()? else {
        return file.remove();
    };
    let _held = file.lock().await?;
    oauth.learn_all(&kept);
    if let Some(place) = &kept.revocation_endpoint {
        let web = Web::new(server, oauth.settings.reach);
        let token = kept.refresh_token.as_ref().unwrap_or(&kept.access_token);
        let mut form = TokenForm::default();
        form.fields.push(("token", token.clone()));
        // The token is forgotten here, whether the issuer hears of it or not.
        if kept
            .client
            .prove(&mut form, &oauth.settings, &kept.issuer)
            .is_ok()
        {
            let _ = web.post_form(place, &form).await;
        }
    }
    file.remove()
}
