//! Pages of other origins: those that a person has listed may ask, and nobody else's.
//!
//! Without a list nothing of this is answered, and browsers keep pages of other origins out by themselves. A listed
//! origin may send the cookie too; that it may change something still needs the second secret.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::site::Site;

/// All that the table has.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
/// What a page may read of an answer beside its body.
const EXPOSED: HeaderValue = HeaderValue::from_static("x-request-id, retry-after");
/// What requests have of headers that a page may not send without asking, besides that of the configuration.
const HEADERS: &str = "authorization, content-type, idempotency-key, x-request-id";
/// How long a browser may keep an answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
/// What an answer depends on.
const VARIES: HeaderValue = HeaderValue::from_static(
    "origin, access-control-request-method, access-control-request-headers",
);

/// Answers what a browser asks before it lets a page ask, and says of each answer who may read it.
pub(super) async fn answer(
    State(site): State<Arc<Site>>,
    request: Request,
    next: Next,
) -> Response {
    let origins = &site.settings.origins;
    if origins.is_empty() {
        return next.run(request).await;
    }
    let listed = origins.listed(request.headers());
    let asks_first = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match asks_first && listed.is_some() {
        true => permission(&site),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    // An answer that a cache keeps for one origin is no answer for another.
    headers.append(VARY, VARIES);
    if let Some(origin) = listed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        );
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// The answer to what a browser asks first.
fn permission(site: &Site) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let allowed = format!("{HEADERS}, {}", site.settings.csrf_header);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}
