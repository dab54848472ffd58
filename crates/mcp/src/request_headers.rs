//! What the headers of a request say.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use super::http_refusal::{HttpRefusal, refused};
use super::{lifecycle, standard_headers};

pub(super) const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
pub(super) const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// What a client can read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Without a word a client takes JSON; events are for those who name them.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let accepted = texts.join(",").to_ascii_lowercase();
        let takes = |kind: &str| accepted.contains(kind);
        Self {
            json: accepted.is_empty() || takes(JSON) || takes("*/*") || takes("application/*"),
            events: takes(EVENTS),
        }
    }
}

/// A version that is not named is good: clients before 2025-06-18 name none.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    let version = headers.get(standard_headers::VERSION);
    let is_known = |value: &HeaderValue| value.to_str().is_ok_and(lifecycle::is_known);
    if version.is_none_or(is_known) {
        return Ok(());
    }
    let message = "this version of the protocol (mcp-protocol-version) is not supported";
    Err(refused(StatusCode::BAD_REQUEST, message))
}

/// Only whether it is named; whether there is such a session is for `Sessions` to say.
pub(super) fn session_id(headers: &HeaderMap) -> Result<&str, HttpRefusal> {
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok());
    id.ok_or_else(|| {
        let message = "the header mcp-session-id is missing: send initialize, which gives one";
        refused(StatusCode::BAD_REQUEST, message)
    })
}

/// The event after which a client wants to read on.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT)?.to_str().ok()
}
