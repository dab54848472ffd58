//! What the status and the kind of an answer mean.
//!
//! A status decides what is known of a request: a refusal says that nothing was done, a lost session that
//! another may be opened, a failure of the server leaves it open. What a server writes beside it is shown cut
//! and quoted, and of a redirect only the host.

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;

use super::body::refusal;
use super::fault::HttpFault;

/// How much of a refusal's text is shown.
const WORDS_CHARS_MAX: usize = 200;

pub(super) fn is_of(response: &Response, kind: &str) -> bool {
    content_type(response).is_some_and(|found| found.to_ascii_lowercase().starts_with(kind))
}

fn content_type(response: &Response) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

pub(super) fn no_message(response: &Response) -> HttpFault {
    let what = match content_type(response) {
        Some(kind) => kind.chars().take(WORDS_CHARS_MAX).collect(),
        None => "nothing".into(),
    };
    HttpFault::NoMessage { what }
}

/// The answer, unless it is a refusal.
pub(super) async fn accepted(response: Response, has_session: bool) -> Result<Response, HttpFault> {
    if response.status().is_success() {
        return Ok(response);
    }
    let body = HttpRefusal::read(response).await;
    Err(body.fault(has_session))
}

/// An answer that is none.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    status: StatusCode,
    location: Option<String>,
    body: Vec<u8>,
}

impl HttpRefusal {
    pub(super) async fn read(response: Response) -> Self {
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|to| to.to_str().ok()).map(shown_target);
        Self {
            status: response.status(),
            location,
            body: refusal(response).await,
        }
    }

    /// The error of JSON-RPC that the body is, if it is one.
    pub(super) fn error(&self) -> Option<Value> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get("error").filter(|error| error.is_object()).cloned()
    }

    pub(super) fn fault(&self, has_session: bool) -> HttpFault {
        let status = self.status.as_u16();
        match status {
            401 | 403 => HttpFault::Unauthorised { status },
            404 if has_session => HttpFault::SessionLost,
            // The protocol demands 404 here; many servers say 400.
            400 if has_session && self.names_session() => HttpFault::SessionLost,
            300..=399 => HttpFault::Redirected {
                to: self.location.clone().unwrap_or("nowhere".into()),
            },
            500..=599 => HttpFault::Failed {
                status,
                words: self.words(),
            },
            _ => HttpFault::Refused {
                status,
                words: self.words(),
            },
        }
    }

    /// A guess from the words of the error, taken only where there is a session to lose.
    fn names_session(&self) -> bool {
        let error = self.error();
        let message = error.as_ref().and_then(|error| error.get("message"));
        let message = message.and_then(Value::as_str).unwrap_or_default();
        message.to_lowercase().contains("session")
    }

    /// What the server says about it, to be put behind the status.
    fn words(&self) -> String {
        let error = self.error();
        let message = error.as_ref().and_then(|error| error.get("message"));
        let text = match message.and_then(Value::as_str) {
            Some(message) => message.into(),
            None => String::from_utf8_lossy(&self.body),
        };
        let words: String = text.trim().chars().take(WORDS_CHARS_MAX).collect();
        if words.is_empty() {
            words
        } else {
            format!(": {words:?}")
        }
    }
}

/// The host of a redirect's target; the rest may hold a secret.
fn shown_target(location: &str) -> String {
    match location.parse::<Url>() {
        Ok(url) => match url.host_str() {
            Some(host) => format!("another place at {host:?}"),
            None => "another place".into(),
        },
        Err(_) => "another path of the same host".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::http::fault::Arrival;

    #[test]
    fn a_status_says_whether_the_session_is_lost_and_whether_something_was_done() {
        let session = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID"},"id":null}"#;
        for (status, body, has_session, unknown, part) in [
            (404, "", true, false, "forgotten the session"),
            (404, "", false, false, "HTTP 404"),
            (400, session, true, false, "forgotten the session"),
            (
                400,
                session,
                false,
                false,
                "HTTP 400: \"No valid session ID\"",
            ),
            (400, "odd", true, false, "HTTP 400: \"odd\""),
            (401, "", true, false, "secretHeaders"),
            (403, "", false, false, "OAuth"),
            (302, "", true, false, "not followed"),
            (500, "<html>", true, true, "HTTP 500: \"<html>\""),
            (
                503,
                session,
                true,
                true,
                "HTTP 503: \"No valid session ID\"",
            ),
        ] {
            let refusal = HttpRefusal {
                status: StatusCode::from_u16(status).expect("a status"),
                location: None,
                body: body.into(),
            };
            let fault = refusal.fault(has_session);
            assert!(fault.to_string().contains(part), "{status}: {fault}");
            let is_unknown = fault.arrival() == Arrival::Unknown;
            assert_eq!(is_unknown, unknown, "{status} {body}");
        }
    }

    #[test]
    fn a_redirects_target_is_shown_without_what_may_be_secret() {
        for (location, shown) in [
            (
                "https://a:b@evil.example/x?token=1",
                "another place at \"evil.example\"",
            ),
            ("/login?token=1", "another path of the same host"),
        ] {
            assert_eq!(shown_target(location), shown);
        }
    }
}
