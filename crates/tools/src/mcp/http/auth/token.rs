//! Tokens: asked for, renewed, and what is kept of them.

use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};

use super::error::OauthError;
use super::identity::Identity;
use super::places::EndpointUrl;
use super::settings::OauthSettings;
use super::web::{TokenForm, Web, WebAnswer, shown_url};

/// A token is renewed this long before it expires, or after three quarters of a short life.
const MARGIN_S: u64 = 30;

/// A token, and all that is needed to renew it. It is good for one server.
///
/// It is what the file of a login holds. Fields that are added must be optional, or older files are not
/// understood and a person has to log in again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) server: String,
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: EndpointUrl,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<EndpointUrl>,
    pub(super) client: Identity,
    pub(super) access_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970; without it the token is used until it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) renew_at_s: Option<u64>,
    /// What it is good for, with spaces in between.
    pub(super) scope: String,
}

/// What an issuer answers.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

impl Kept {
    pub(super) fn is_due(&self) -> bool {
        self.renew_at_s.is_some_and(|at_s| now_s() >= at_s)
    }

    pub(super) fn has_scopes(&self, wanted: &str) -> bool {
        let own: Vec<&str> = self.scope.split_whitespace().collect();
        wanted.split_whitespace().all(|scope| own.contains(&scope))
    }

    /// Whatever of it nobody may see.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let refresh = self
            .refresh_token
            .as_deref()
            .map(|it| ("refresh_token", it));
        let client = self.client.secret.as_deref();
        [("access_token", self.access_token.as_str())]
            .into_iter()
            .chain(refresh)
            .chain(client.map(|it| ("client_secret", it)))
    }

    /// Asks for a token. What is asked is in the form; `self` says who asks, and what is kept if the answer
    /// leaves it out.
    pub(super) async fn ask(
        mut self,
        web: &Web,
        settings: &OauthSettings,
        mut form: TokenForm,
    ) -> Result<Self, OauthError> {
        form.fields.push(("resource", self.resource.clone()));
        self.client.prove(&mut form, settings, &self.issuer)?;
        let answer = web.post_form(&self.token_endpoint, &form).await?;
        let granted = self.granted(&answer)?;
        self.access_token = granted.access_token;
        // An issuer that gives no new one means that the old one goes on being good.
        self.refresh_token = granted.refresh_token.or(self.refresh_token);
        self.scope = granted.scope.unwrap_or(self.scope);
        self.renew_at_s = granted.expires_in.map(|life_s| {
            let margin_s = MARGIN_S.min(life_s.div_ceil(4));
            now_s().saturating_add(life_s - margin_s)
        });
        Ok(self)
    }

    /// A token that could not be sent is refused here, where the issuer can be named.
    fn granted(&self, answer: &WebAnswer) -> Result<Granted, OauthError> {
        if !answer.is_good {
            return Err(OauthError::Refused {
                issuer: self.issuer.clone(),
                error: answer.refusal(),
            });
        }
        let granted: Granted = answer.read()?;
        let bad = |why: &str| OauthError::BadDocument {
            url: shown_url(&self.token_endpoint),
            why: why.into(),
        };
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(bad("the token is of another kind than Bearer"));
        }
        if HeaderValue::from_str(&granted.access_token).is_err() {
            return Err(bad("the token holds characters that no header may have"));
        }
        Ok(granted)
    }

    pub(super) async fn renew(
        self,
        web: &Web,
        settings: &OauthSettings,
        refresh_token: String,
    ) -> Result<Self, OauthError> {
        let form = TokenForm {
            fields: vec![
                ("grant_type", "refresh_token".into()),
                ("refresh_token", refresh_token),
            ],
            authorization: None,
        };
        self.ask(web, settings, form).await
    }
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
