//! One request and its answer.
//!
//! The request is complete before a connection is looked for, and a fault until then means that
//! nothing was sent. Errors name the host and never the URL, which may hold a key in its query.

use std::error::Error;
use std::time::Duration;

use bonded_kernel::Invocation;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use super::answer::{BYTES_MAX, RestAnswer};
use super::body::BODY_BYTES_MAX;
use super::endpoint::Endpoint;
use super::error::{ADDRESS_REFUSED, REDIRECT, UNREACHABLE};
use super::resolver::AddressRefused;
use super::shown::shown;
use super::tool::Shape;
use super::{header, stream};
use crate::bounds::chars_within;
use crate::causes::causes;
use crate::fault::{self, ToolFault};
use crate::tool::ToolValue;

/// The same for every execution of a call, so that a server can tell a repetition.
const KEY_HEADER: &str = "idempotency-key";

/// Sends the request that a shape and arguments make, and reads what comes back.
pub(super) async fn exchange(
    shape: &Shape,
    endpoint: &Endpoint,
    arguments: &Value,
    call: &Invocation,
) -> Result<ToolValue, ToolFault> {
    let request = request(shape, endpoint, arguments, call)?;
    let answering = answer(shape, endpoint, request);
    match shape.streaming.as_ref().and_then(|it| it.timeout_ms) {
        None => answering.await,
        Some(timeout_ms) => tokio::time::timeout(Duration::from_millis(timeout_ms), answering)
            .await
            .unwrap_or_else(|_| Err(ToolFault::timeout())),
    }
}

/// A redirect that comes as far as this was not followed, and is a fault of its own. Streams are read as such
/// only where the server succeeded: a refusal is no stream.
async fn answer(
    shape: &Shape,
    endpoint: &Endpoint,
    request: RequestBuilder,
) -> Result<ToolValue, ToolFault> {
    let sent = request.send().await;
    let response = sent.map_err(|error| unsent(endpoint, error))?;
    if response.status().is_redirection() && response.headers().contains_key(LOCATION) {
        return Err(redirected(&response));
    }
    match &shape.streaming {
        Some(settings) if response.status().is_success() => stream::read(response, settings).await,
        _ => shown(&RestAnswer::read(response, BYTES_MAX).await?),
    }
}

/// A header that a person wrote counts more than ours. Only methods that may do something twice carry the key
/// of the call.
fn request(
    shape: &Shape,
    endpoint: &Endpoint,
    arguments: &Value,
    call: &Invocation,
) -> Result<RequestBuilder, ToolFault> {
    let url = shape.url.fill(arguments)?;
    let mut headers = header::fill(&shape.headers, arguments)?;
    let body = shape.body.as_ref().and_then(|body| body.fill(arguments));
    if body
        .as_ref()
        .is_some_and(|body| body.bytes.len() > BODY_BYTES_MAX)
    {
        let message = format!("the arguments make a body of more than {BODY_BYTES_MAX} bytes");
        return Err(ToolFault::new(fault::TOO_LARGE, message));
    }
    if let Some(body) = &body {
        let default = HeaderValue::from_static(body.content_type);
        headers.entry(CONTENT_TYPE).or_insert(default);
    }
    if [Method::POST, Method::PATCH].contains(&shape.method)
        && let Ok(key) = HeaderValue::try_from(call.key())
    {
        headers.entry(KEY_HEADER).or_insert(key);
    }
    let client = endpoint.client().map_err(|why| {
        let message = format!("requests to {} cannot be made: {why}", endpoint.host());
        ToolFault::new(UNREACHABLE, message)
    })?;
    let request = client.request(shape.method.clone(), url).headers(headers);
    Ok(match body {
        Some(body) => request.body(body.bytes),
        None => request,
    })
}

/// Why a request got no answer. The URL stays out of it: it may hold a secret.
fn unsent(endpoint: &Endpoint, error: reqwest::Error) -> ToolFault {
    let error = error.without_url();
    if let Some(refused) = refusal(&error) {
        return ToolFault::new(ADDRESS_REFUSED, refused.to_string());
    }
    let message = format!("{}: {}", endpoint.host(), causes(&error));
    ToolFault::new(UNREACHABLE, message)
}

/// The library wraps what the resolver said, so that it is looked for among the causes.
fn refusal(error: &reqwest::Error) -> Option<&AddressRefused> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        cause = error.source();
    }
    None
}

fn redirected(response: &Response) -> ToolFault {
    let place = response.headers().get(LOCATION).map(HeaderValue::as_bytes);
    let place = String::from_utf8_lossy(place.unwrap_or_default()).into_owned();
    let message = format!(
        "the server answered {} and points to {:?}, which is not followed",
        response.status().as_u16(),
        chars_within(&place, 200)
    );
    ToolFault::new(REDIRECT, message)
}
