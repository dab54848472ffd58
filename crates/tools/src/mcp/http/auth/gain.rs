//! A token from the beginning: who grants it, who we are to them, and the grant itself.
//!
//! Nothing is kept before all of it has succeeded. Every secret is told to whoever keeps secrets out of logs
//! before it is used or written.

use std::time::Duration;

use reqwest::Url;

use super::challenge::Challenge;
use super::discover::{Authority, canonical, discover};
use super::error::OauthError;
use super::identity::Identity;
use super::redirect::Redirect;
use super::secret::{code_challenge, random_text};
use super::settings::Grant;
use super::token::Kept;
use super::web::{TokenForm, Web, with_query};
use super::{Oauth, Visit};

/// How long a person may take to log in.
const LOGIN_PATIENCE: Duration = Duration::from_secs(600);

/// A scope that asks for a token which renews others.
const OFFLINE: &str = "offline_access";

impl Oauth {
    /// Gains a token and keeps it. A scope that `held` has is asked for again.
    pub(super) async fn gain(
        &self,
        server: &Url,
        challenge: &Challenge,
        held: Option<&Kept>,
    ) -> Result<Kept, OauthError> {
        let web = Web::new(server, self.settings.reach);
        let authority = discover(&web, challenge, self.settings.issuer.as_deref()).await?;
        let scope = self.scope(challenge, &authority, held);
        let kept = match (self.settings.grant, &self.visit) {
            (Grant::ClientCredentials, _) => self.of_program(&web, &authority, scope).await?,
            (Grant::IdentityAssertion, _) => self.of_vouched(&web, &authority, scope).await?,
            (Grant::AuthorizationCode, Some(visit)) => {
                let asking = self.of_person(&web, &authority, scope, visit);
                Box::pin(asking).await?
            }
            (Grant::AuthorizationCode, None) => return Err(OauthError::Unattended),
        };
        self.learn_all(&kept);
        if let Some(file) = self.file(server) {
            let _held = file.lock().await?;
            file.write(&kept)?;
        }
        Ok(kept)
    }

    /// What is asked for: what the person says, else what the refusal demands, else all that the server
    /// knows, else nothing in particular.
    fn scope(&self, challenge: &Challenge, authority: &Authority, held: Option<&Kept>) -> String {
        let demanded = challenge.scope.as_deref().unwrap_or_default();
        let mut scopes: Vec<&str> = match &self.settings.scopes[..] {
            [] if !demanded.is_empty() => demanded.split_whitespace().collect(),
            [] => authority.scopes.iter().map(String::as_str).collect(),
            configured => configured.iter().map(String::as_str).collect(),
        };
        if challenge.wants_more_scope() {
            let held = held.map_or("", |held| &held.scope);
            scopes.extend(demanded.split_whitespace());
            scopes.extend(held.split_whitespace());
        }
        let mut offered = authority.issuer.scopes_supported.iter();
        let is_offered = offered.any(|scope| scope == OFFLINE);
        let is_login = !self.settings.grant.needs_no_login();
        if is_offered && is_login && !scopes.is_empty() {
            scopes.push(OFFLINE);
        }
        let mut once: Vec<&str> = vec![];
        for scope in scopes {
            if !once.contains(&scope) {
                once.push(scope);
            }
        }
        once.join(" ")
    }

    /// No token that renews others is asked for: the program can ask again at any time.
    async fn of_program(
        &self,
        web: &Web,
        authority: &Authority,
        scope: String,
    ) -> Result<Kept, OauthError> {
        let client = Identity::of_program(&self.settings, &authority.issuer)?;
        let mut fields = vec![("grant_type", "client_credentials".into())];
        fields.extend(wanted(&scope));
        let form = TokenForm {
            fields,
            authorization: None,
        };
        let asking = bare(web, authority, client, scope).ask(web, &self.settings, form);
        asking.await
    }

    /// The port is bound before the client is registered, because the registration names it. The verifier stays
    /// here and proves later that the code came to whoever began; the state proves that the browser brings the
    /// answer to this login and to no other.
    async fn of_person(
        &self,
        web: &Web,
        authority: &Authority,
        scope: String,
        visit: &Visit,
    ) -> Result<Kept, OauthError> {
        let page = authority.issuer.login_page()?;
        let redirect = Redirect::bind(self.settings.redirect_port).await?;
        let client = Identity::gain(web, authority, &self.settings, redirect.uri()).await?;
        let (verifier, state) = (random_text()?, random_text()?);
        let mut fields = vec![
            ("response_type", "code".into()),
            ("client_id", client.id.clone()),
            ("redirect_uri", redirect.uri().into()),
            ("state", state.clone()),
            ("code_challenge", code_challenge(&verifier)),
            ("code_challenge_method", "S256".into()),
            ("resource", authority.resource.clone()),
        ];
        fields.extend(wanted(&scope));
        visit(with_query(page, &fields).as_str());
        let coming = redirect.code(&state, &authority.issuer);
        let code = tokio::time::timeout(LOGIN_PATIENCE, coming).await;
        let code = code.map_err(|_| OauthError::NotEnded {
            patience_s: LOGIN_PATIENCE.as_secs(),
        })??;
        let form = TokenForm {
            fields: vec![
                ("grant_type", "authorization_code".into()),
                ("code", code),
                ("redirect_uri", redirect.uri().into()),
                ("code_verifier", verifier),
            ],
            authorization: None,
        };
        let asking = bare(web, authority, client, scope).ask(web, &self.settings, form);
        asking.await
    }
}

/// All but the token.
pub(super) fn bare(web: &Web, authority: &Authority, client: Identity, scope: String) -> Kept {
    Kept {
        server: canonical(&web.server),
        issuer: authority.issuer.issuer.clone(),
        resource: authority.resource.clone(),
        token_endpoint: authority.issuer.token_endpoint.clone(),
        revocation_endpoint: authority.issuer.revocation_endpoint.clone(),
        client,
        access_token: String::new(),
        refresh_token: None,
        renew_at_s: None,
        scope,
    }
}

/// Nothing in particular is left out.
pub(super) fn wanted(scope: &str) -> Option<(&'static str, String)> {
    (!scope.is_empty()).then(|| ("scope", scope.to_owned()))
}
