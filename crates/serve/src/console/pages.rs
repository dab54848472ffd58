//! The files of the app, with headers that let them do what they need and nothing else.

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use bonded_pages::{Asset, INDEX, asset};

/// Nothing comes from elsewhere, nothing is inline, nothing frames us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Where files lie: a name that is missing there is missing, and not an address of the app. Ids of runs may have a dot.
const DIRECTORIES: [&str; 3] = ["css/", "src/", "vendor/"];

/// What begins so is for programs, also where it is not there: they read why, and no page.
const FOR_PROGRAMS: [&str; 8] = [
    "api", "health", "healthz", "mcp", "metrics", "readyz", "v1", "ws",
];

const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// For every response, pages and API alike.
pub(super) fn guard(headers: &mut HeaderMap) {
    headers.extend(HEADERS);
}

/// A file of the app, or its first page where a person's browser goes to an address of the app. `None` for everything
/// else: other servers stand at the same door and say themselves what they have not.
pub(crate) fn page(method: &Method, headers: &HeaderMap, uri: &Uri) -> Option<Response> {
    let path = uri.path().trim_start_matches('/');
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    let is_person = accepted.is_some_and(|it| it.contains("text/html"));
    let first = path.split('/').next().unwrap_or_default();
    let is_address = path.is_empty() || is_person && !FOR_PROGRAMS.contains(&first);
    let is_look = [Method::GET, Method::HEAD].contains(method);
    let is_ours = is_look && (is_address || asset(path).is_some());
    is_ours.then(|| any(method, headers, uri))
}

/// A file of the app, or the page that every other address begins with: the app reads the address itself.
pub(super) fn any(method: &Method, headers: &HeaderMap, uri: &Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_file = DIRECTORIES.iter().any(|dir| path.starts_with(dir));
    let found = asset(path).or_else(|| asset(INDEX).filter(|_| !is_file));
    let mut response = match (method, found) {
        (&Method::GET | &Method::HEAD, Some(found)) => file(found, headers),
        (&Method::GET | &Method::HEAD, None) => status(StatusCode::NOT_FOUND),
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    };
    guard(response.headers_mut());
    response
}

/// Asked for again each time and sent only if it changed: pages of another version never mix with ours.
fn file(asset: &Asset, headers: &HeaderMap) -> Response {
    let is_known = |value: &HeaderValue| value.as_bytes() == asset.tag.as_bytes();
    let is_same = headers.get(IF_NONE_MATCH).is_some_and(is_known);
    let takes_gzip = headers
        .get(ACCEPT_ENCODING)
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.contains("gzip"));
    let mut response = match (is_same, takes_gzip) {
        (true, _) => status(StatusCode::NOT_MODIFIED),
        (false, true) => Response::new(Body::from(asset.gzip)),
        (false, false) => Response::new(Body::from(asset.content())),
    };
    let answered = response.headers_mut();
    if takes_gzip && !is_same {
        answered.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answered.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type()));
    answered.insert(ETAG, HeaderValue::from_static(asset.tag));
    answered.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answered.insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
