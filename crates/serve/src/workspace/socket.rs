//! `GET /ws`: the events of notes and workspaces as they happen, and patches of notes.
//!
//! A socket opens as a request does: with a token, or with a cookie and a page that may. From then on it is one task
//! that talks to one client.

mod connection;
mod heard;
mod message;
mod patch;
mod recent_events;
mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::access;
use super::site::Site;
use crate::json_api::refusal::{ApiRefusal, refused};
use connection::Connection;
pub(super) use recent_events::RecentEvents;

/// What RFC 6455 has both sides add to the client's key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A refusal before the upgrade is an answer as any other.
pub(super) async fn upgrade(State(site): State<Arc<Site>>, request: Request) -> Response {
    let headers = request.headers().clone();
    match upgraded(site, request).await {
        Ok(response) => response,
        Err(refusal) => refused(&headers, &refusal),
    }
}

/// Who asks is found out first, then the handshake, then a place: strangers take none.
async fn upgraded(site: Arc<Site>, mut request: Request) -> Result<Response, ApiRefusal> {
    if request.method() != Method::GET {
        return Err(ApiRefusal::unknown_method(request.method().as_str(), "/ws"));
    }
    let headers = request.headers().clone();
    let caller = access::caller(&site, &headers, false).await?;
    if caller.session.is_some() {
        access::check_page(&site, &headers)?;
    }
    let accept = accepted(&headers)?;
    let place = site.sockets.clone().try_acquire_owned();
    let place =
        place.map_err(|_| ApiRefusal::unavailable("too many sockets are open; try again later"))?;
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        // A client that went away before the upgrade needs no answer.
        if let Ok(stream) = upgraded.await {
            Connection::new(site, caller.user_id, headers, TokioIo::new(stream))
                .talk()
                .await;
        }
        drop(place);
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// The answer to the client's key, if the request is one for a socket.
fn accepted(headers: &HeaderMap) -> Result<HeaderValue, ApiRefusal> {
    let says = |name: HeaderName, word: &str| {
        let lines = headers
            .get_all(name)
            .iter()
            .filter_map(|line| line.to_str().ok());
        let mut words = lines.flat_map(|line| line.split(','));
        words.any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    let is_upgrade = says(UPGRADE, "websocket") && says(CONNECTION, "upgrade");
    if !is_upgrade || !says(SEC_WEBSOCKET_VERSION, "13") {
        return Err(ApiRefusal::bad(
            "/ws is a WebSocket: ask with Upgrade: websocket, version 13",
        ));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map(|key| key.as_bytes());
    let key = key.ok_or_else(|| ApiRefusal::bad("the header Sec-WebSocket-Key is missing"))?;
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID.as_bytes()].concat());
    HeaderValue::from_str(&BASE64.encode(hash))
        .map_err(|_| ApiRefusal::internal("the answer to the key cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_answered_as_the_standard_shows() {
        let rows = [
            (UPGRADE, "websocket"),
            (CONNECTION, "keep-alive, Upgrade"),
            (SEC_WEBSOCKET_VERSION, "13"),
            (SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let headers = |leave_out: usize| -> HeaderMap {
            let kept = rows.iter().enumerate().filter(|(at, _)| *at != leave_out);
            kept.map(|(_, (name, value))| (name.clone(), HeaderValue::from_static(value)))
                .collect()
        };
        let answer = accepted(&headers(9)).expect("all headers are there");
        assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for (leave_out, row) in rows.iter().enumerate() {
            let refused = accepted(&headers(leave_out));
            assert!(refused.is_err(), "without {row:?}");
        }
    }
}
