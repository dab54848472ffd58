//! The HTTP client of one server: where it goes, and what it sends with every request.
//!
//! A client is made for one server and keeps to it: addresses without encryption and those of this machine are
//! reached without a proxy, and every header that the protocol sets itself is refused to a person. Errors name
//! neither an address nor a header's value, since either may hold a key.

use std::sync::Arc;
use std::time::Duration;

use bonded_outbound::{IDLE_TIMEOUT, Proxy, builder, encrypted, for_scheme, is_loopback, plain};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Request, Response, Url};

use super::auth::{Oauth, Remedies, bearer};
use super::fault::HttpFault;
use crate::mcp::error::McpError;
use crate::mcp::settings::HttpEndpoint;
use crate::rest::JudgingResolver;

/// How long one question to somebody whom a server has named may take.
const JUDGED_TIMEOUT: Duration = Duration::from_secs(30);

/// What the protocol itself says in headers.
///
/// Two values of one of them would leave it to the server which one counts.
const RESERVED: [&str; 14] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "upgrade",
];

/// Where requests go, and with what.
#[derive(Debug)]
pub(super) struct HttpCaller {
    /// What a person calls the server.
    pub(super) name: String,
    pub(super) client: Client,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) oauth: Option<Arc<Oauth>>,
}

impl HttpCaller {
    pub(super) fn new(server: &str, endpoint: &HttpEndpoint) -> Result<Self, McpError> {
        let bad_url = |why: String| McpError::BadUrl {
            server: server.into(),
            why,
        };
        let url = address(&endpoint.url).map_err(bad_url)?;
        let client = match url.scheme() {
            "https" if is_loopback(&url) => encrypted(Proxy::Never, IDLE_TIMEOUT),
            "https" => encrypted(Proxy::FromEnvironment, IDLE_TIMEOUT),
            _ => plain(),
        };
        Ok(Self {
            name: server.into(),
            client: client.map_err(bad_url)?,
            url,
            headers: headers(server, endpoint)?,
            oauth: endpoint.oauth.clone(),
        })
    }

    /// The same for a web socket, which begins as a request.
    pub(super) fn for_socket(server: &str, endpoint: &HttpEndpoint) -> Result<Self, McpError> {
        let url = socket_address(&endpoint.url).map_err(|why| McpError::BadUrl {
            server: server.into(),
            why,
        })?;
        let url = url.into();
        Self::new(
            server,
            &HttpEndpoint {
                url,
                ..endpoint.clone()
            },
        )
    }
}

/// Whether a web socket can be opened at an address. The error says why not, without the address.
pub fn check_socket_url(url: &str) -> Result<(), String> {
    socket_address(url).map(drop)
}

/// The address at which a web socket begins.
fn socket_address(url: &str) -> Result<Url, String> {
    let url: Url = url
        .parse()
        .map_err(|error| format!("it is not a URL: {error}"))?;
    let (from, to) = match url.scheme() {
        "ws" => ("ws", "http"),
        "wss" => ("wss", "https"),
        other => {
            return Err(format!(
                "the scheme is {other:?}, and web sockets need ws or wss"
            ));
        }
    };
    address(&url.as_str().replacen(from, to, 1))
}

/// Whether requests can be sent to an address. The error says why not, without the address: it may hold a key.
pub fn check_url(url: &str) -> Result<(), String> {
    address(url).map(drop)
}

fn address(url: &str) -> Result<Url, String> {
    let url: Url = url
        .parse()
        .map_err(|error| format!("it is not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!("the scheme is {other:?}")),
    }
}

impl HttpCaller {
    /// Sends a request with the token that there is. One that is refused for its token has done nothing, so
    /// it is sent again with another.
    pub(super) async fn send(&self, request: Request) -> Result<Response, HttpFault> {
        let Some(oauth) = &self.oauth else {
            return Ok(self.client.execute(request).await?);
        };
        let mut done = Remedies::default();
        loop {
            let token = oauth.token(&self.url).await;
            let mut sent = request.try_clone().expect("its body is no stream");
            if let Some(bearer) = token.as_deref().and_then(bearer) {
                sent.headers_mut().insert(AUTHORIZATION, bearer);
            }
            let response = self.client.execute(sent).await?;
            let remedy = oauth.remedy(&self.name, &self.url, &response, token, done);
            match remedy.await? {
                Some(remedies) => done = remedies,
                None => return Ok(response),
            }
        }
    }
}

/// The error names a header and never its value.
///
/// Values are marked as sensitive, so that the library shows none of them either.
fn headers(server: &str, endpoint: &HttpEndpoint) -> Result<HeaderMap, McpError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &endpoint.headers {
        let bad = |why| McpError::BadHeader {
            server: server.into(),
            header: name.clone(),
            why,
        };
        let header: HeaderName = name
            .parse()
            .map_err(|_| bad("its name holds characters that no header may have"))?;
        if RESERVED.contains(&header.as_str()) {
            return Err(bad("the protocol itself sets it"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| bad("its value holds characters that no header may have"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// For an address that a server has named. No proxy: it would look up the name by itself, out of our sight.
pub(super) fn judged(url: &Url, resolver: JudgingResolver) -> Result<Client, String> {
    let client = builder()
        .no_proxy()
        .timeout(JUDGED_TIMEOUT)
        .dns_resolver(Arc::new(resolver));
    let client = for_scheme(client, url)?;
    client.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_address_or_a_header_that_cannot_be_used_is_named_without_its_value() {
        for (url, header, value, parts) in [
            ("nowhere", "a", "b", &["\"s\"", "`url`"][..]),
            ("ftp://h/", "a", "b", &["\"s\"", "ftp"]),
            ("http://h/", "a b", "hunter2", &["\"s\"", "\"a b\"", "name"]),
            (
                "http://h/",
                "x",
                "hunter2\n",
                &["\"s\"", "\"x\"", "its value"],
            ),
            (
                "http://h/",
                "Mcp-Session-Id",
                "hunter2",
                &["Mcp-Session-Id", "protocol"],
            ),
        ] {
            let endpoint = HttpEndpoint {
                url: url.into(),
                headers: BTreeMap::from([(header.into(), value.into())]),
                oauth: None,
            };
            let error = HttpCaller::new("s", &endpoint).expect_err("it is unusable");
            let error = error.to_string();
            for part in parts {
                assert!(error.contains(part), "{part} in {error}");
            }
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
