//! Access on the word of a company's identity provider, where a person has logged in once for everything
//! ("enterprise-managed authorization").
//!
//! The provider exchanges the person's identity token for a grant that is good at one issuer for one server
//! (RFC 8693), and the issuer gives a token for that (RFC 7523). The identity token goes to the provider and to
//! nobody else.

use std::io::Read as _;
use std::path::Path;

use reqwest::Url;
use serde::Deserialize;

use super::Oauth;
use super::discover::{Authority, named_issuer};
use super::error::OauthError;
use super::gain::{bare, wanted};
use super::identity::Identity;
use super::settings::{IdentityProvider, ProviderPlace, Subject, SubjectKind};
use super::token::Kept;
use super::web::{TokenForm, Web, WebAnswer, shown_url};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// More than any identity token has.
const SUBJECT_BYTES_MAX: u64 = 64 * 1024;

/// What the provider answers.
#[derive(Deserialize)]
struct Exchanged {
    issued_token_type: String,
    /// For historical reasons it is called so.
    access_token: String,
}

impl SubjectKind {
    fn name(self) -> &'static str {
        match self {
            Self::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            Self::RefreshToken => "urn:ietf:params:oauth:token-type:refresh_token",
        }
    }
}

impl Oauth {
    pub(super) async fn of_vouched(
        &self,
        web: &Web,
        authority: &Authority,
        scope: String,
    ) -> Result<Kept, OauthError> {
        let provider = self.settings.identity_provider.as_ref();
        let provider = provider.ok_or(OauthError::NoProvider)?;
        let client = Identity::of_program(&self.settings, &authority.issuer)?;
        let assertion = self.assertion(provider, authority, &scope).await?;
        let mut fields = vec![("grant_type", BEARER.into()), ("assertion", assertion)];
        fields.extend(wanted(&scope));
        let form = TokenForm {
            fields,
            authorization: None,
        };
        let asking = bare(web, authority, client, scope).ask(web, &self.settings, form);
        asking.await
    }

    /// The provider's word that the person may use the server.
    async fn assertion(
        &self,
        provider: &IdentityProvider,
        authority: &Authority,
        scope: &str,
    ) -> Result<String, OauthError> {
        let subject = provider.subject()?;
        self.learn("identity_token", &subject);
        let (web, endpoint, proofs) = provider.find(self.settings.reach).await?;
        let mut fields = vec![
            ("grant_type", EXCHANGE.into()),
            ("requested_token_type", ID_JAG.into()),
            ("audience", authority.issuer.issuer.clone()),
            ("resource", authority.resource.clone()),
            ("subject_token", subject),
            ("subject_token_type", provider.subject_kind.name().into()),
        ];
        fields.extend(wanted(scope));
        let mut form = TokenForm {
            fields,
            authorization: None,
        };
        let secret = provider.client_secret.as_ref();
        let client = Identity::known(&provider.client_id, secret, &proofs);
        client.prove(&mut form, &self.settings, endpoint.as_str())?;
        let answer = web.post_form(&endpoint, &form).await?;
        let assertion = provider.exchanged(&endpoint, &answer)?;
        self.learn("identity_assertion", &assertion);
        Ok(assertion)
    }
}

impl IdentityProvider {
    /// Where it exchanges tokens, and how clients prove themselves there. Its address is the person's word.
    async fn find(&self, reach: crate::rest::Reach) -> Result<(Web, Url, Vec<String>), OauthError> {
        let parse = |text: &str| {
            let parsed = text.parse::<Url>();
            parsed.map_err(|error| OauthError::BadProvider {
                url: text.chars().take(200).collect(),
                why: error.to_string(),
            })
        };
        match &self.place {
            ProviderPlace::TokenEndpoint(endpoint) => {
                let endpoint = parse(endpoint)?;
                Ok((Web::new(&endpoint, reach), endpoint, vec![]))
            }
            ProviderPlace::Issuer(issuer) => {
                let place = parse(issuer)?;
                let web = Web::new(&place, reach);
                let metadata = named_issuer(&web, issuer, Some(&place)).await?;
                let proofs = metadata.token_endpoint_auth_methods_supported;
                Ok((web, metadata.token_endpoint.0, proofs))
            }
        }
    }

    fn exchanged(&self, endpoint: &Url, answer: &WebAnswer) -> Result<String, OauthError> {
        if !answer.is_good {
            return Err(OauthError::NotVouched {
                provider: shown_url(endpoint),
                error: answer.refusal(),
                place: self.subject.place(),
            });
        }
        let exchanged: Exchanged = answer.read()?;
        if exchanged.issued_token_type != ID_JAG || exchanged.access_token.is_empty() {
            return Err(OauthError::BadDocument {
                url: shown_url(endpoint),
                why: format!("it has not issued a token of the type {ID_JAG}"),
            });
        }
        Ok(exchanged.access_token)
    }

    fn subject(&self) -> Result<String, OauthError> {
        let text = match &self.subject {
            Subject::Token(text) => text.clone(),
            Subject::InFile(path) => read(path).map_err(|source| OauthError::Subject {
                path: path.clone(),
                source,
            })?,
        };
        match text.trim() {
            "" => Err(OauthError::NoSubject {
                place: self.subject.place(),
            }),
            text => Ok(text.to_owned()),
        }
    }
}

impl Subject {
    /// Where a person has to look.
    fn place(&self) -> String {
        match self {
            Self::Token(_) => "`token` of `identityProvider`".into(),
            Self::InFile(path) => format!("{path:?}"),
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(SUBJECT_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
