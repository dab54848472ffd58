//! The body of a request: JSON, bounded in size and time.
//!
//! A body is taken in whole before anything is decided about it, so its size, its time and the memory of all bodies
//! together are bounded. `HeldBytes` counts the latter.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use futures_util::StreamExt as _;

use super::refusal::AgentRefusal;
use bonded_web::body_room::HeldBytes;

/// For one request.
pub(super) const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// So much of a body that is too large is still taken in: a client that is cut off while it sends never
/// reads why.
const DISCARDED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
/// From the first byte to the last.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may send nothing of a body that it has begun.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// Reads a body whole.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<HeldBytes, AgentRefusal> {
    // A page in a browser may send anything but this without asking first.
    if !is_json(headers) {
        return Err(AgentRefusal::not_json());
    }
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let announced = announced.and_then(|text| text.parse::<usize>().ok());
    if announced.is_some_and(|bytes| bytes > DISCARDED_BYTES_MAX) {
        return Err(AgentRefusal::too_large(BODY_BYTES_MAX));
    }
    let announced = announced.filter(|bytes| *bytes <= BODY_BYTES_MAX);
    let bytes =
        HeldBytes::announced(announced.unwrap_or(0)).map_err(|_| AgentRefusal::no_room())?;
    match tokio::time::timeout(BODY_TIMEOUT, collect(body, bytes)).await {
        Ok(read) => read,
        Err(_) => Err(AgentRefusal::too_slow()),
    }
}

/// What is beyond the bound is received and dropped for a while, so that the client gets to read its refusal.
async fn collect(body: Body, mut bytes: HeldBytes) -> Result<HeldBytes, AgentRefusal> {
    let mut pieces = body.into_data_stream();
    let mut received = 0_usize;
    loop {
        let piece = tokio::time::timeout(SILENCE_MAX, pieces.next()).await;
        let Some(piece) = piece.map_err(|_| AgentRefusal::too_slow())? else {
            break;
        };
        let piece = piece.map_err(|error| {
            let message = format!("the body broke off: {error}");
            AgentRefusal::bad_request("broken_body", None, message)
        })?;
        received = received.saturating_add(piece.len());
        if received > DISCARDED_BYTES_MAX {
            break;
        }
        if received <= BODY_BYTES_MAX {
            bytes.push(&piece).map_err(|_| AgentRefusal::no_room())?;
        }
    }
    if received > BODY_BYTES_MAX {
        return Err(AgentRefusal::too_large(BODY_BYTES_MAX));
    }
    Ok(bytes)
}

/// The type without its parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Bytes;
    use axum::http::StatusCode;
    use futures_util::stream;

    use super::*;

    fn json() -> HeaderMap {
        let value = "application/json; charset=utf-8";
        let value = value.parse().expect("the value is well formed");
        HeaderMap::from_iter([(CONTENT_TYPE, value)])
    }

    /// A body of so many pieces of a megabyte, which then ends or goes silent.
    fn pieces(count: usize, ends: bool) -> Body {
        let piece = || Ok::<Bytes, Infallible>(vec![b' '; 1024 * 1024].into());
        let sent = stream::iter((0..count).map(move |_| piece()));
        match ends {
            true => Body::from_stream(sent),
            false => Body::from_stream(sent.chain(stream::pending())),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_whole_or_refused_as_too_large_or_too_slow() {
        let large = Some(StatusCode::PAYLOAD_TOO_LARGE);
        let slow = Some(StatusCode::REQUEST_TIMEOUT);
        let rows = [
            (0, true, None),
            (10, true, None),
            (11, true, large),
            (41, true, large),
            (41, false, large),
            (3, false, slow),
            (20, false, slow),
        ];
        for (count, ends, expected) in rows {
            let read = read(&json(), pieces(count, ends)).await;
            let length = read.as_ref().map_or(0, |it| it.len());
            assert_eq!(
                read.err().map(|refusal| refusal.status),
                expected,
                "{count} {ends}"
            );
            assert_eq!(length, if expected.is_none() { count << 20 } else { 0 });
        }
    }
}
