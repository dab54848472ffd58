//! Questions to those whom a server has named: judged before they are asked, and bounded.
//!
//! Who answers is chosen by the server, so it is trusted with nothing: its address must be encrypted or on
//! this machine, no redirect is followed, and a name must not lead into a private network, unless the person
//! has said so or the server itself is there.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use bonded_outbound::is_loopback;
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use serde::de::DeserializeOwned;

use super::error::{OauthError, shown};
use crate::mcp::http::client::judged;
use crate::mcp::http::fault::HttpFault;
use crate::rest::{JudgingResolver, Reach, may_reach, system_lookup};

/// Documents and tokens are a few kilobytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A form with the secrets that go into a header instead.
#[derive(Debug, Default)]
pub(super) struct TokenForm {
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) authorization: Option<HeaderValue>,
}

/// An answer that is neither lost nor endless.
pub(super) struct WebAnswer {
    pub(super) is_good: bool,
    pub(super) status: u16,
    body: Vec<u8>,
    url: String,
}

/// Asks on behalf of one server.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) server: Url,
    reach: Reach,
    /// By origin.
    clients: Mutex<BTreeMap<String, Client>>,
}

impl Web {
    /// A server in a private network may name an issuer there: the person who named the server is in that
    /// network.
    pub(super) fn new(server: &Url, reach: Reach) -> Self {
        let is_private = is_loopback(server) || literal(server).is_some_and(is_no_public);
        Self {
            server: server.clone(),
            reach: if is_private { Reach::Private } else { reach },
            clients: Mutex::default(),
        }
    }

    /// Whether something may be asked for, or sent to, an address that the server has named.
    pub(super) fn judge(&self, url: &Url) -> Result<(), OauthError> {
        let host = url.host_str().unwrap_or_default();
        let is_near = literal(url).is_none_or(|ip| may_reach(host, self.reach, ip));
        let why = match url.scheme() {
            _ if !url.username().is_empty() || url.password().is_some() => "it holds a password",
            _ if !is_near => "it is in a private network",
            "http" | "https" if is_loopback(url) && self.reach != Reach::Private => {
                "it is this machine"
            }
            "https" => return Ok(()),
            "http" if is_loopback(url) => return Ok(()),
            "http" => "it is not encrypted",
            _ => "it is not a web address",
        };
        let url = shown_url(url);
        Err(OauthError::Forbidden { url, why })
    }

    /// A document, or `None` where there is none.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        url: &Url,
    ) -> Result<Option<T>, OauthError> {
        // A server that is itself reached without encryption may be asked about itself.
        if url.origin() != self.server.origin() {
            self.judge(url)?;
        }
        let answer = self
            .ask(Method::GET, url, HeaderMap::new(), String::new())
            .await?;
        if answer.status >= 500 {
            let (url, status) = (answer.url, answer.status);
            return Err(OauthError::Failed { url, status });
        }
        // Many servers answer every question with their start page.
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&answer.body).is_ok();
        match answer.is_good && is_json {
            true => answer.read().map(Some),
            false => Ok(None),
        }
    }

    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &TokenForm,
    ) -> Result<WebAnswer, OauthError> {
        self.judge(url)?;
        let mut headers = kind("application/x-www-form-urlencoded");
        if let Some(authorization) = &form.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        self.ask(Method::POST, url, headers, encoded(&form.fields))
            .await
    }

    pub(super) async fn post_json(
        &self,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<WebAnswer, OauthError> {
        self.judge(url)?;
        let headers = kind("application/json");
        self.ask(Method::POST, url, headers, body.to_string()).await
    }

    async fn ask(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<WebAnswer, OauthError> {
        let unreachable = |fault: HttpFault| OauthError::Unreachable {
            url: shown_url(url),
            why: fault.to_string(),
        };
        let request = self
            .client(url)?
            .request(method, url.clone())
            .headers(headers)
            .header(ACCEPT, "application/json")
            .body(body);
        let response = request.send().await;
        let response = response.map_err(|error| unreachable(error.into()))?;
        let status = response.status();
        let body = read(response).await.map_err(unreachable)?;
        let url = shown_url(url);
        match body {
            Some(body) => Ok(WebAnswer {
                is_good: status.is_success(),
                status: status.as_u16(),
                body,
                url,
            }),
            None => {
                let bytes_max = ANSWER_BYTES_MAX;
                Err(OauthError::TooLarge { url, bytes_max })
            }
        }
    }

    /// One for each origin, with a resolver that knows its host alone.
    fn client(&self, url: &Url) -> Result<Client, OauthError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = url.origin().ascii_serialization();
        if let Some(client) = clients.get(&origin) {
            return Ok(client.clone());
        }
        let is_own = url.origin() == self.server.origin();
        let resolver = JudgingResolver {
            host: url.host_str().unwrap_or_default().to_owned(),
            // The server's own name is the person's word.
            reach: if is_own { Reach::Private } else { self.reach },
            lookup: system_lookup(),
        };
        let client = judged(url, resolver).map_err(|why| OauthError::Unreachable {
            url: shown_url(url),
            why,
        })?;
        clients.insert(origin, client.clone());
        Ok(client)
    }
}

impl WebAnswer {
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, OauthError> {
        serde_json::from_slice(&self.body).map_err(|error| OauthError::BadDocument {
            url: self.url.clone(),
            why: shown(&error.to_string()),
        })
    }

    /// What a refusal says, as it may be shown.
    pub(super) fn refusal(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let text = |name: &str| body.get(name).and_then(|it| it.as_str());
        match (text("error"), text("error_description")) {
            (Some(code), Some(words)) => format!("{} ({})", shown(code), shown(words)),
            (Some(code), None) => shown(code),
            (None, _) => format!("HTTP {}", self.status),
        }
    }
}

/// The whole body, unless it is too large.
async fn read(response: Response) -> Result<Option<Vec<u8>>, HttpFault> {
    let mut pieces = response.bytes_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
        if whole.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(Some(whole))
}

fn kind(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

/// The address with these fields added to its query.
pub(super) fn with_query(url: &Url, fields: &[(&'static str, String)]) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url.query_pairs_mut().extend_pairs(fields);
    url
}

/// The fields as the body of a form.
fn encoded(fields: &[(&'static str, String)]) -> String {
    let nowhere = Url::parse("http://nowhere/").expect("it is an address");
    let query = with_query(&nowhere, fields);
    query.query().unwrap_or_default().to_owned()
}

/// An address without what may be a secret.
pub(super) fn shown_url(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}

fn is_no_public(ip: IpAddr) -> bool {
    !may_reach(&ip.to_string(), Reach::Public, ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_are_safe_to_ask_are_asked() {
        let far = "https://mcp.example/mcp";
        let near = "http://127.0.0.1:1/mcp";
        for (server, reach, url, part) in [
            (far, Reach::Public, "https://login.example/x", ""),
            (far, Reach::Public, "http://login.example/x", "encrypted"),
            (far, Reach::Private, "http://10.0.0.1/x", "encrypted"),
            (far, Reach::Private, "https://10.0.0.1/x", ""),
            (far, Reach::Public, "https://10.0.0.1/x", "private"),
            (far, Reach::Private, "https://169.254.169.254/x", "private"),
            (far, Reach::Public, "http://localhost/x", "this machine"),
            (far, Reach::Public, "https://[::1]/x", "private"),
            (far, Reach::Public, "https://u:p@login.example/", "password"),
            (
                far,
                Reach::Public,
                "file:///etc/passwd",
                "not a web address",
            ),
            (
                far,
                Reach::Public,
                "javascript:alert(1)",
                "not a web address",
            ),
            (near, Reach::Public, "http://localhost:2/x", ""),
            (near, Reach::Public, "http://[::1]:2/x", ""),
            (near, Reach::Public, "http://login.example/x", "encrypted"),
        ] {
            let web = Web::new(&server.parse().expect("a URL"), reach);
            let judged = web.judge(&url.parse().expect("a URL"));
            let refusal = judged
                .err()
                .map_or(String::new(), |error| error.to_string());
            assert!(refusal.contains(part), "{url}: {refusal}");
            assert_eq!(refusal.is_empty(), part.is_empty(), "{url}: {refusal}");
        }
    }
}
