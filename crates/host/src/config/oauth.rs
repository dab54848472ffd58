//! How tokens of a server are had: `oauth` of an MCP server.
//!
//! Only what is contradictory by itself is refused here; whether a login works is found out by whoever
//! logs in. A secret goes to the issuer, so that the issuer's address is held to the same rule as that
//! of a provider.

use bonded_tools::mcp::{
    Grant, IdentityProvider, OauthSettings, ProviderPlace, Subject, SubjectKind,
};
use bonded_tools::rest::Reach;

use super::entry::ConfigEntry;
use super::{Config, ConfigError};
use crate::beneath;

/// Keys that are learnt as secrets.
const SECRETS: [&str; 2] = ["clientSecret", "privateKey"];
const PROVIDER: &str = "identityProvider";
const PROVIDER_SECRETS: [&str; 2] = ["clientSecret", "token"];
/// The words of `grant`.
pub(super) const GRANTS: [(&str, Grant); 3] = [
    ("authorization_code", Grant::AuthorizationCode),
    ("client_credentials", Grant::ClientCredentials),
    ("identity_assertion", Grant::IdentityAssertion),
];
/// The words of `tokenType`.
pub(super) const TOKEN_TYPES: [(&str, SubjectKind); 2] = [
    ("id_token", SubjectKind::IdToken),
    ("refresh_token", SubjectKind::RefreshToken),
];
/// A token is short.
const TOKEN_BYTES_MAX: u64 = 64 * 1024;

/// What goes to an issuer, and what says who that is: the server itself, where nobody is pinned.
pub(super) const OAUTH_SECRETS: [&str; 5] = [
    "oauth.clientSecret",
    "oauth.privateKey",
    "oauth.identityProvider.clientSecret",
    "oauth.identityProvider.token",
    "oauth.identityProvider.tokenFile",
];
/// Who could name another address here would get the secrets above.
pub(super) const OAUTH_ADDRESSES: [&str; 4] = [
    "url",
    "oauth.issuer",
    "oauth.identityProvider.issuer",
    "oauth.identityProvider.tokenEndpoint",
];

impl Config {
    /// `None` where nothing is said.
    pub(super) fn oauth(
        &self,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> Option<OauthSettings> {
        entry.value("oauth")?.as_object()?;
        let own = entry.below("oauth");
        let port = own.whole("redirectPort");
        let settings = OauthSettings {
            grant: own.word("grant", &GRANTS, problems).unwrap_or_default(),
            client_id: own.text("clientId"),
            client_secret: own.text("clientSecret"),
            private_key_pem: own.text("privateKey"),
            scopes: own
                .texts("scopes")
                .iter()
                .flat_map(|text| text.split_whitespace())
                .map(str::to_owned)
                .collect(),
            issuer: own.text("issuer"),
            identity_provider: self.identity_provider(&own, problems),
            // The shape of the layer bounds it.
            redirect_port: port.and_then(|port| u16::try_from(port).ok()),
            reach: match own.flag("privateAddresses") {
                Some(true) => Reach::Private,
                _ => Reach::Public,
            },
        };
        if let Some(why) = contradiction(&settings) {
            problems.push(own.unusable(why));
        }
        Some(settings)
    }

    /// The token of a file. What was found names only files beneath its own directory, and is read at once: nobody can
    /// put another file there.
    fn token_file(&self, entry: &ConfigEntry<'_>, file: &str) -> Result<Subject, String> {
        let node = self.tree.at(&entry.path.child("tokenFile"));
        let found = node
            .map(|node| &self.layers[node.layer()])
            .filter(|layer| !layer.origin.is_persons());
        let Some(layer) = found else {
            return Ok(Subject::InFile(file.into()));
        };
        let read = beneath::open(&layer.dir(), file.as_ref())
            .and_then(|opened| opened.read(TOKEN_BYTES_MAX));
        let text = read
            .map_err(|error| format!("its tokenFile cannot be used: {error}"))?
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or("its tokenFile holds no token")?;
        Ok(Subject::Token(text.trim().to_owned()))
    }
}

/// The first one that is found, in words for a person.
fn contradiction(settings: &OauthSettings) -> Option<&'static str> {
    let has_secret = settings.client_secret.is_some();
    let has_key = settings.private_key_pem.is_some();
    let is_vouched = settings.grant == Grant::IdentityAssertion;
    match settings.client_id {
        _ if is_vouched != settings.identity_provider.is_some() => {
            Some("an identityProvider and the grant identity_assertion need each other")
        }
        None if has_secret || has_key => Some("it has a secret and no clientId; add the clientId"),
        None if settings.grant == Grant::ClientCredentials => {
            Some("the grant client_credentials needs a clientId")
        }
        None if is_vouched => Some("the grant identity_assertion needs a clientId"),
        _ if has_secret && has_key => Some(
            "it has a clientSecret and a privateKey; remove the one that the issuer does not use",
        ),
        _ => None,
    }
}

/// Who vouches for a person; `None` where nobody is named, or what is said cannot be used.
impl Config {
    fn identity_provider(
        &self,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> Option<IdentityProvider> {
        entry.value(PROVIDER)?.as_object()?;
        let own = entry.below(PROVIDER);
        let subject_kind = own
            .word("tokenType", &TOKEN_TYPES, problems)
            .unwrap_or_default();
        let place = match (own.text("issuer"), own.text("tokenEndpoint")) {
            (Some(issuer), None) => Ok(ProviderPlace::Issuer(issuer)),
            (None, Some(endpoint)) => Ok(ProviderPlace::TokenEndpoint(endpoint)),
            _ => Err("it needs an issuer, or a tokenEndpoint, and not both"),
        };
        let subject = match (own.text("token"), own.text("tokenFile")) {
            (Some(token), None) => Ok(Subject::Token(token)),
            (None, Some(file)) if file.starts_with('/') => self.token_file(&own, &file),
            (None, Some(_)) => Err("its tokenFile must be an absolute path".to_owned()),
            _ => Err("it needs a token, or a tokenFile, and not both".to_owned()),
        };
        let place = place.map_err(str::to_owned);
        let client_id = own.text("clientId").ok_or("it needs a clientId".to_owned());
        match (place, subject, client_id) {
            (Ok(place), Ok(subject), Ok(client_id)) => Some(IdentityProvider {
                place,
                client_id,
                client_secret: own.text("clientSecret"),
                subject,
                subject_kind,
            }),
            (place, subject, client_id) => {
                let faults = [place.err(), subject.err(), client_id.err()];
                problems.extend(faults.into_iter().flatten().map(|why| own.unusable(why)));
                None
            }
        }
    }
}

/// What nobody may see.
pub(super) fn oauth_secrets(
    entry: &ConfigEntry<'_>,
) -> impl Iterator<Item = (&'static str, String)> {
    let own = entry.below("oauth");
    let provider = own.below(PROVIDER);
    let of_provider = PROVIDER_SECRETS
        .into_iter()
        .filter_map(move |name| Some((name, provider.text(name)?)));
    SECRETS
        .into_iter()
        .filter_map(move |name| Some((name, own.text(name)?)))
        .chain(of_provider)
}
