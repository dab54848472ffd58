//! Addresses: where servers describe themselves, in the order in which one looks, and those that they name.

use std::ops::Deref;

use reqwest::Url;
use serde::{Deserialize, Serialize};

/// An address in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct EndpointUrl(pub(super) Url);

impl TryFrom<String> for EndpointUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let url = text.parse().map(Self);
        url.map_err(|error| format!("an invalid address: {error}"))
    }
}

impl From<EndpointUrl> for String {
    fn from(place: EndpointUrl) -> Self {
        place.0.into()
    }
}

impl Deref for EndpointUrl {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
    }
}

/// Where a server says who grants access to it: beside its own path, then at the root.
pub(super) fn of_resource(server: &Url) -> Vec<Url> {
    let name = "/.well-known/oauth-protected-resource";
    let path = bare_path(server);
    let mut places = vec![at(server, &format!("{name}{path}"))];
    if !path.is_empty() {
        places.push(at(server, name));
    }
    places
}

/// Where an issuer says how it is asked.
pub(super) fn of_issuer(issuer: &Url) -> Vec<Url> {
    let oauth = "/.well-known/oauth-authorization-server";
    let openid = "/.well-known/openid-configuration";
    let path = bare_path(issuer);
    if path.is_empty() {
        return vec![at(issuer, oauth), at(issuer, openid)];
    }
    vec![
        at(issuer, &format!("{oauth}{path}")),
        at(issuer, &format!("{openid}{path}")),
        at(issuer, &format!("{path}{openid}")),
    ]
}

/// Another path of the same origin.
pub(super) fn at(url: &Url, path: &str) -> Url {
    let mut place = url.clone();
    place.set_path(path);
    place.set_query(None);
    place.set_fragment(None);
    place
}

/// Whether `resource` names the server or a place above it.
pub(super) fn covers(resource: &Url, server: &Url) -> bool {
    let (above, own) = (bare_path(resource), bare_path(server));
    let is_above = own
        .strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && resource.origin().is_tuple() && is_above
}

/// Whether two issuers are the same. Many programs add a slash to an address that has no path.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn bare_path(url: &Url) -> &str {
    url.path().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect("a URL")
    }

    fn check(places: &[Url], expected: &[&str]) {
        let places: Vec<&str> = places.iter().map(Url::as_str).collect();
        assert_eq!(places, expected);
    }

    #[test]
    fn a_server_is_looked_up_beside_its_path_and_then_at_the_root() {
        for (server, expected) in [
            (
                "https://h:1/a/mcp/?x=1#y",
                &[
                    "https://h:1/.well-known/oauth-protected-resource/a/mcp",
                    "https://h:1/.well-known/oauth-protected-resource",
                ][..],
            ),
            (
                "https://h/",
                &["https://h/.well-known/oauth-protected-resource"],
            ),
        ] {
            check(&of_resource(&url(server)), expected);
        }
    }

    #[test]
    fn an_issuer_is_looked_up_in_the_order_of_the_specification() {
        for (issuer, expected) in [
            (
                "https://h",
                &[
                    "https://h/.well-known/oauth-authorization-server",
                    "https://h/.well-known/openid-configuration",
                ][..],
            ),
            (
                "https://h/tenant/",
                &[
                    "https://h/.well-known/oauth-authorization-server/tenant",
                    "https://h/.well-known/openid-configuration/tenant",
                    "https://h/tenant/.well-known/openid-configuration",
                ],
            ),
        ] {
            check(&of_issuer(&url(issuer)), expected);
        }
    }

    #[test]
    fn a_resource_covers_what_lies_below_it_at_the_same_origin() {
        for (resource, server, expected) in [
            ("https://h/mcp", "https://h/mcp", true),
            ("https://h/", "https://h/mcp", true),
            ("https://h/mcp/", "https://h/mcp", true),
            ("https://h/mc", "https://h/mcp", false),
            ("https://h/mcp/x", "https://h/mcp", false),
            ("http://h/mcp", "https://h/mcp", false),
            ("https://h:444/mcp", "https://h/mcp", false),
            ("https://evil.example/mcp", "https://h/mcp", false),
        ] {
            let found = covers(&url(resource), &url(server));
            assert_eq!(found, expected, "{resource} {server}");
        }
    }
}
