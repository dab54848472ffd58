//! Responses whose body is a stream of server-sent events.
//!
//! Proxies keep answers, hold them back until they are large enough, and close connections on which nothing comes.
//! The headers here forbid the first two, and whoever makes the pieces sends a comment in time against the third.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::Stream;

/// How long a stream may be silent: whatever stands between takes a silent connection for a dead one.
pub const SILENCE_MAX: Duration = Duration::from_secs(10);

/// A response that nothing between here and the client keeps or holds back.
pub fn event_stream(
    pieces: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
