//! The body of a request: JSON, bounded in size, depth and time.
//!
//! It is parsed into a value within bounds on depth and on the number of values, and read into a type only when a
//! handler wants it. A body that is too large is taken in for a while all the same, so that the client gets to read why
//! it was refused.

use std::time::Duration;

use bonded_workspace_rules::Code;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::details::ValuesDetails;
use super::refusal::ApiRefusal;
use bonded_web::body_room::HeldBytes;
use bonded_web::bounded_json::{self, Unread, VALUES_MAX};

/// How much of a body that is too large is still taken in: a client that is cut off while it sends never reads why.
const DISCARDED_TIMES_MAX: usize = 2;

/// How long a client may send nothing of a body that it has begun.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// What a body may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// From the configuration.
    pub(crate) bytes_max: usize,
    /// From the first byte to the last.
    pub(crate) timeout: Duration,
}

/// Takes a body in as it is.
pub(crate) async fn receive(
    headers: &HeaderMap,
    body: Body,
    bounds: Bounds,
) -> Result<HeldBytes, ApiRefusal> {
    let discarded_max = bounds.bytes_max.saturating_mul(DISCARDED_TIMES_MAX);
    if announced(headers).is_some_and(|bytes| bytes > discarded_max) {
        return Err(ApiRefusal::too_large(bounds.bytes_max));
    }
    let known = announced(headers).filter(|bytes| *bytes <= bounds.bytes_max);
    let bytes = HeldBytes::announced(known.unwrap_or(0)).map_err(|_| no_room())?;
    let collected = collect(body, bytes, bounds.bytes_max);
    let read = tokio::time::timeout(bounds.timeout, collected).await;
    read.unwrap_or_else(|_| Err(too_slow()))
}

/// Reads a body; null where there is none.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    bounds: Bounds,
) -> Result<Value, ApiRefusal> {
    let bytes = receive(headers, body, bounds).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    // A page in a browser may send anything but this without asking first.
    if !is_json(headers) {
        let message = "the body must be JSON: send the header Content-Type: application/json";
        return Err(ApiRefusal::new(Code::UnsupportedMediaType, message));
    }
    parse(&bytes)
}

/// The client may send it again.
fn too_slow() -> ApiRefusal {
    let message = "the body did not arrive in time; send it again";
    ApiRefusal::new(Code::RequestTimeout, message)
}

/// The bodies of all requests together take too much memory just now.
fn no_room() -> ApiRefusal {
    let message = "too many large requests at once; send it again in a moment";
    ApiRefusal {
        retry_after_seconds: Some(1),
        ..ApiRefusal::new(Code::RateLimited, message)
    }
}

/// What is beyond the bound is received and dropped.
async fn collect(
    body: Body,
    mut bytes: HeldBytes,
    bytes_max: usize,
) -> Result<HeldBytes, ApiRefusal> {
    let mut pieces = body.into_data_stream();
    let mut received = 0_usize;
    loop {
        let piece = tokio::time::timeout(SILENCE_MAX, pieces.next()).await;
        let Some(piece) = piece.map_err(|_| too_slow())? else {
            break;
        };
        let piece =
            piece.map_err(|error| ApiRefusal::bad(format!("the body broke off: {error}")))?;
        received = received.saturating_add(piece.len());
        if received > bytes_max.saturating_mul(DISCARDED_TIMES_MAX) {
            break;
        }
        if received <= bytes_max {
            bytes.push(&piece).map_err(|_| no_room())?;
        }
    }
    if received > bytes_max {
        return Err(ApiRefusal::too_large(bytes_max));
    }
    Ok(bytes)
}

/// Reads JSON within the bounds that hold for every server.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, ApiRefusal> {
    bounded_json::parse(bytes).map_err(|unread| {
        let message = format!("the body {unread}");
        match unread {
            Unread::TooManyValues => {
                let details = ValuesDetails {
                    values_max: VALUES_MAX,
                };
                ApiRefusal::new(Code::PayloadTooLarge, message).details(details)
            }
            Unread::NotUtf8(_) | Unread::TooDeep | Unread::NotJson(_) => ApiRefusal::bad(message),
        }
    })
}

/// The fields of a body.
/// An unknown field is a fault where the type says so.
pub(crate) fn fields<T: DeserializeOwned>(body: Value) -> Result<T, ApiRefusal> {
    if !body.is_object() {
        return Err(ApiRefusal::bad("the body must be a JSON object"));
    }
    serde_json::from_value(body).map_err(|error| ApiRefusal::bad(format!("the body: {error}")))
}

/// What the client says that it will send.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The type without its parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let header = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = header.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
