//! What servers and issuers say about themselves.

use reqwest::Url;
use serde::Deserialize;

use super::error::OauthError;
use super::places::{EndpointUrl, at};

/// Of a server that demands tokens (RFC 9728).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceMetadata {
    pub(super) resource: Option<String>,
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Vec<String>,
}

/// Of an issuer (RFC 8414, or OpenID Connect Discovery).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct IssuerMetadata {
    pub(super) issuer: String,
    /// Issuers that only talk to programs have none.
    pub(super) authorization_endpoint: Option<EndpointUrl>,
    pub(super) token_endpoint: EndpointUrl,
    pub(super) registration_endpoint: Option<EndpointUrl>,
    pub(super) revocation_endpoint: Option<EndpointUrl>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    /// An issuer that names none does not promise to check the code, and no login is begun.
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl IssuerMetadata {
    /// What version 2025-03-26 of the protocol assumes of a server that describes nothing.
    pub(super) fn assumed(server: &Url) -> Self {
        Self {
            issuer: server.origin().ascii_serialization(),
            authorization_endpoint: Some(EndpointUrl(at(server, "/authorize"))),
            token_endpoint: EndpointUrl(at(server, "/token")),
            registration_endpoint: Some(EndpointUrl(at(server, "/register"))),
            revocation_endpoint: None,
            scopes_supported: vec![],
            code_challenge_methods_supported: vec!["S256".into()],
            token_endpoint_auth_methods_supported: vec![],
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        }
    }

    /// Every address that something is sent to.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &EndpointUrl> {
        [&self.token_endpoint].into_iter().chain(
            [
                &self.authorization_endpoint,
                &self.registration_endpoint,
                &self.revocation_endpoint,
            ]
            .into_iter()
            .flatten(),
        )
    }

    /// Where a person logs in, if what comes back from there can be protected.
    pub(super) fn login_page(&self) -> Result<&EndpointUrl, OauthError> {
        let methods = &self.code_challenge_methods_supported;
        match &self.authorization_endpoint {
            Some(page) if methods.iter().any(|method| method == "S256") => Ok(page),
            _ => Err(OauthError::NoS256 {
                issuer: self.issuer.clone(),
            }),
        }
    }
}
