//! Who we are to an issuer, and how we prove it.
//!
//! A client is either one that a person has registered, whose secret stays in the configuration, or one that
//! this program registers for itself, whose secret is kept with the token. A secret is only ever used with the
//! client that it belongs to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::assertion::Signer;
use super::discover::Authority;
use super::document::IssuerMetadata;
use super::error::OauthError;
use super::settings::OauthSettings;
use super::web::{TokenForm, Web};

/// How a client proves at the token endpoint that it is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Proof {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

const PROOFS: [(&str, Proof); 4] = [
    // Of two that are offered, the first here is taken.
    ("client_secret_basic", Proof::ClientSecretBasic),
    ("client_secret_post", Proof::ClientSecretPost),
    ("private_key_jwt", Proof::PrivateKeyJwt),
    ("none", Proof::None),
];

/// A client as an issuer knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) id: String,
    /// Only one that the issuer has made up: that of a person stays in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    pub(super) proof: Proof,
}

/// What an issuer answers to a registration.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl Identity {
    /// The client that a person has named, or a new one. A client id that is an address is a document which
    /// describes the client; issuers that read none get a new client.
    pub(super) async fn gain(
        web: &Web,
        authority: &Authority,
        settings: &OauthSettings,
        redirect_uri: &str,
    ) -> Result<Self, OauthError> {
        let issuer = &authority.issuer;
        let takes_document = issuer.client_id_metadata_document_supported;
        match &settings.client_id {
            Some(id) if !id.starts_with("https://") || takes_document => {
                Ok(Self::named(id, settings, issuer))
            }
            _ => Self::register(web, issuer, redirect_uri).await,
        }
    }

    /// The client of a person.
    pub(super) fn named(id: &str, settings: &OauthSettings, issuer: &IssuerMetadata) -> Self {
        let supported = &issuer.token_endpoint_auth_methods_supported;
        let proof = match &settings.private_key_pem {
            Some(_) => Proof::PrivateKeyJwt,
            None => proof(settings.client_secret.is_some(), None, supported),
        };
        let (id, secret) = (id.to_owned(), None);
        Self { id, secret, proof }
    }

    /// A client that somebody else than the server's issuer knows.
    pub(super) fn known(id: &str, secret: Option<&String>, supported: &[String]) -> Self {
        Self {
            id: id.to_owned(),
            secret: secret.cloned(),
            proof: proof(secret.is_some(), None, supported),
        }
    }

    /// A client without a secret is preferred: a program on a person's machine can keep none from that person.
    async fn register(
        web: &Web,
        issuer: &IssuerMetadata,
        redirect_uri: &str,
    ) -> Result<Self, OauthError> {
        let Some(place) = &issuer.registration_endpoint else {
            let issuer = issuer.issuer.clone();
            return Err(OauthError::NoRegistration { issuer });
        };
        let supported = &issuer.token_endpoint_auth_methods_supported;
        let offered = |name: &str| supported.iter().any(|it| it == name);
        let method = match offered("none") || supported.is_empty() {
            true => "none",
            false if offered("client_secret_basic") => "client_secret_basic",
            false => "client_secret_post",
        };
        let body = json!({
            "client_name": "bonded",
            "application_type": "native",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        });
        let answer = web.post_json(place, &body).await?;
        if !answer.is_good {
            return Err(OauthError::Refused {
                issuer: issuer.issuer.clone(),
                error: format!("the registration of a client: {}", answer.refusal()),
            });
        }
        let made: Registered = answer.read()?;
        let method = made.token_endpoint_auth_method.as_deref();
        let proof = proof(made.client_secret.is_some(), method, supported);
        Ok(Self {
            id: made.client_id,
            secret: made.client_secret.filter(|_| proof != Proof::None),
            proof,
        })
    }

    /// Adds to a request for a token what proves that it is ours.
    ///
    /// The secret of a person goes only with the client id of that person, even where a kept login is of
    /// another client.
    pub(super) fn prove(
        &self,
        form: &mut TokenForm,
        settings: &OauthSettings,
        issuer: &str,
    ) -> Result<(), OauthError> {
        let is_persons = settings.client_id.as_ref() == Some(&self.id);
        let persons = settings.client_secret.as_ref().filter(|_| is_persons);
        let secret = self.secret.as_ref().or(persons);
        match (self.proof, secret) {
            (Proof::ClientSecretBasic, Some(secret)) => {
                form.authorization = Some(basic(&self.id, secret));
                return Ok(());
            }
            (Proof::ClientSecretPost, Some(secret)) => {
                form.fields.push(("client_secret", secret.clone()));
            }
            (Proof::PrivateKeyJwt, _) => {
                let pem = settings.private_key_pem.as_deref().unwrap_or_default();
                let assertion = Signer::new(pem)?.assertion(&self.id, issuer)?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.fields.push(("client_assertion_type", kind.into()));
                form.fields.push(("client_assertion", assertion));
            }
            (Proof::None, _) | (Proof::ClientSecretBasic | Proof::ClientSecretPost, None) => {}
        }
        form.fields.push(("client_id", self.id.clone()));
        Ok(())
    }

    /// The client of a grant that needs no person.
    pub(super) fn of_program(
        settings: &OauthSettings,
        issuer: &IssuerMetadata,
    ) -> Result<Self, OauthError> {
        let id = settings.client_id.as_ref().ok_or(OauthError::NoClient)?;
        Ok(Self::named(id, settings, issuer))
    }
}

/// What was agreed upon, else the first that both sides can.
fn proof(has_secret: bool, agreed: Option<&str>, supported: &[String]) -> Proof {
    let usable = |proof: Proof| match proof {
        Proof::ClientSecretBasic | Proof::ClientSecretPost => has_secret,
        Proof::PrivateKeyJwt => false,
        Proof::None => true,
    };
    let known = |name: &str| PROOFS.iter().find(|(known, _)| *known == name);
    if let Some((_, proof)) = agreed.and_then(known)
        && usable(*proof)
    {
        return *proof;
    }
    // An issuer that says nothing takes a secret in the header.
    let is_offered = |name: &str| supported.is_empty() || supported.iter().any(|it| it == name);
    let mut both = PROOFS
        .iter()
        .filter(|(name, proof)| usable(*proof) && is_offered(name));
    both.next().map_or(Proof::None, |(_, proof)| *proof)
}

/// The header of RFC 6749: both parts are encoded before they are joined.
fn basic(id: &str, secret: &str) -> HeaderValue {
    let mut nowhere = Url::parse("http://nowhere/").expect("it is an address");
    let mut part = |text: &str| {
        nowhere.set_query(None);
        nowhere.query_pairs_mut().append_key_only(text);
        nowhere.query().unwrap_or_default().to_owned()
    };
    let both = format!("{}:{}", part(id), part(secret));
    let value = format!("Basic {}", STANDARD.encode(both));
    let mut value = HeaderValue::from_str(&value).expect("base64 may stand in a header");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_proves_itself_as_it_was_agreed_or_as_both_sides_can() {
        for (has_secret, agreed, supported, expected) in [
            (false, None, &[][..], Proof::None),
            (true, None, &[], Proof::ClientSecretBasic),
            (true, None, &["none"], Proof::None),
            (
                true,
                None,
                &["none", "client_secret_post"],
                Proof::ClientSecretPost,
            ),
            (true, Some("none"), &["client_secret_basic"], Proof::None),
            (
                true,
                Some("client_secret_post"),
                &[],
                Proof::ClientSecretPost,
            ),
            (false, Some("client_secret_post"), &[], Proof::None),
            (
                true,
                Some("tls_client_auth"),
                &["client_secret_basic"],
                Proof::ClientSecretBasic,
            ),
            (true, None, &["private_key_jwt"], Proof::None),
        ] {
            let supported: Vec<String> = supported.iter().map(|it| (*it).to_owned()).collect();
            let found = proof(has_secret, agreed, &supported);
            assert_eq!(found, expected, "{has_secret} {agreed:?} {supported:?}");
        }
    }

    #[test]
    fn a_secret_is_encoded_before_it_goes_into_the_header() {
        let header = basic("a:b", "c d%");
        let header = header.to_str().expect("it is ASCII");
        let encoded = header.strip_prefix("Basic ").expect("its kind");
        let decoded = STANDARD.decode(encoded).expect("base64");
        assert_eq!(decoded, b"a%3Ab:c+d%25");
    }
}
