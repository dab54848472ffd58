//! How tokens of a server are had: `oauth` of an MCP server.

use bonded_tools::mcp::{Grant, OauthSettings};
use bonded_tools::rest::Reach;

use super::ConfigError;
use super::entry::Entry;

const SECRETS: [&str; 2] = ["clientSecret", "privateKey"];

/// `None` where nothing is said.
pub(super) fn oauth(entry: &Entry<'_>, problems: &mut Vec<ConfigError>) -> Option<OauthSettings> {
    entry.value("oauth")?.as_object()?;
    let own = entry.below("oauth");
    let grants = [
        ("authorization_code", Grant::AuthorizationCode),
        ("client_credentials", Grant::ClientCredentials),
    ];
    let port = own.whole("redirectPort");
    let redirect_port = port.and_then(|port| u16::try_from(port).ok());
    if port.is_some() && redirect_port.is_none() {
        problems.push(own.wrong("redirectPort", "a port, from 1 to 65535"));
    }
    let settings = OauthSettings {
        grant: own.word("grant", &grants, problems).unwrap_or_default(),
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
        redirect_port,
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

fn contradiction(settings: &OauthSettings) -> Option<&'static str> {
    let has_secret = settings.client_secret.is_some();
    let has_key = settings.private_key_pem.is_some();
    let is_program = settings.grant == Grant::ClientCredentials;
    match settings.client_id {
        None if has_secret || has_key => Some("it has a secret and no clientId; add the clientId"),
        None if is_program => Some("the grant client_credentials needs a clientId"),
        _ if has_secret && has_key => Some(
            "it has a clientSecret and a privateKey; take out the one that the issuer does not know",
        ),
        _ => None,
    }
}

/// What nobody may see.
pub(super) fn oauth_secrets(entry: &Entry<'_>) -> impl Iterator<Item = (&'static str, String)> {
    let own = entry.below("oauth");
    SECRETS
        .into_iter()
        .filter_map(move |name| Some((name, own.text(name)?)))
}
