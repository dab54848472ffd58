//! What a request says, and how it is answered.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use bonded_kernel::Hash;
use serde_json::Value;

use crate::Fault;

/// The hash of the caller's token.
pub(crate) fn token(headers: &HeaderMap) -> Result<Hash, Fault> {
    let said = headers.get(AUTHORIZATION).ok_or("who asks?")?.to_str()?;
    let token = said.strip_prefix("Bearer ").ok_or("a token is needed")?;
    Ok(Hash::of(token.as_bytes()))
}

pub(crate) fn key(headers: &HeaderMap) -> Result<String, Fault> {
    let said = headers.get("idempotency-key").ok_or("a key is needed")?;
    Ok(said.to_str()?.to_owned())
}

/// A value of the query. The clients of the benchmark send nothing that is encoded.
pub(crate) fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = uri.query()?.split('&');
    let mut named = pairs.filter_map(|pair| pair.split_once('='));
    named.find_map(|(known, value)| (known == name).then(|| value.to_owned()))
}

pub(crate) fn answer(status: StatusCode, made: Result<Value, Fault>) -> Response {
    let (status, body) = match made {
        Ok(body) => (status, body),
        Err(fault) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            Value::String(fault.to_string()),
        ),
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
