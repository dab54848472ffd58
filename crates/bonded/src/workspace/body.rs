//! The body of a request: JSON, bounded in size, depth and time.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::refusal::Refusal;

/// How deep arrays and objects may lie in each other.
const DEPTH_MAX: usize = 64;

/// How many values a body may hold, counted by what separates them: each takes far more memory than the bytes in which
/// it is written.
const VALUES_MAX: usize = 100_000;

/// How much of a body that is too large is still taken in: a client that is cut off while it sends never reads why.
const DISCARDED_TIMES_MAX: usize = 2;

/// What a body may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bytes_max: usize,
    pub(super) timeout: Duration,
}

/// Reads a body; null where there is none.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    bounds: Bounds,
) -> Result<Value, Refusal> {
    let discarded_max = bounds.bytes_max.saturating_mul(DISCARDED_TIMES_MAX);
    if announced(headers).is_some_and(|bytes| bytes > discarded_max) {
        return Err(Refusal::too_large(bounds.bytes_max));
    }
    let read = tokio::time::timeout(bounds.timeout, collect(body, bounds.bytes_max)).await;
    let Ok(bytes) = read else {
        let message = "the body did not arrive in time; send it again";
        return Err(Refusal::new("REQUEST_TIMEOUT", message));
    };
    let bytes = bytes?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    // A page in a browser may send anything but this without asking first.
    if !is_json(headers) {
        let message = "the body must be JSON: send the header Content-Type: application/json";
        return Err(Refusal::new("UNSUPPORTED_MEDIA_TYPE", message));
    }
    parse(&bytes)
}

async fn collect(body: Body, bytes_max: usize) -> Result<Vec<u8>, Refusal> {
    let mut pieces = body.into_data_stream();
    let (mut bytes, mut received) = (vec![], 0_usize);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Refusal::bad(format!("the body broke off: {error}")))?;
        received = received.saturating_add(piece.len());
        if received > bytes_max.saturating_mul(DISCARDED_TIMES_MAX) {
            break;
        }
        if received <= bytes_max {
            bytes.extend_from_slice(&piece);
        }
    }
    if received > bytes_max {
        return Err(Refusal::too_large(bytes_max));
    }
    Ok(bytes)
}

/// Reads JSON that is UTF-8 and not too deep.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Refusal::bad(format!(
            "the body is not UTF-8: byte {at} belongs to no character"
        ))
    })?;
    let measure = Measure::of(text);
    if measure.depth > DEPTH_MAX {
        let message = format!("the body is nested deeper than {DEPTH_MAX} levels");
        return Err(Refusal::bad(message));
    }
    if measure.values > VALUES_MAX {
        let message = format!("the body holds more than {VALUES_MAX} values; send less at a time");
        let details = serde_json::json!({ "values_max": VALUES_MAX });
        return Err(Refusal::new("PAYLOAD_TOO_LARGE", message).details(details));
    }
    serde_json::from_str(text)
        .map_err(|error| Refusal::bad(format!("the body is not JSON: {error}")))
}

/// What a text will cost as JSON; found in one pass, whatever the text is.
#[derive(Debug, Default)]
struct Measure {
    /// How deep brackets lie in each other, outside strings.
    depth: usize,
    /// Brackets that open, and commas: no fewer than there are values, but for one.
    values: usize,
}

impl Measure {
    fn of(text: &str) -> Self {
        let mut measure = Self::default();
        let (mut now, mut in_string, mut escaped) = (0_usize, false, false);
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => {
                    now += 1;
                    measure.depth = measure.depth.max(now);
                    measure.values += 1;
                }
                b',' => measure.values += 1,
                b']' | b'}' => now = now.saturating_sub(1),
                _ => {}
            }
        }
        measure
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let said = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = said.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_and_everything_else_is_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let objects = |count: usize| format!("[{}1]", "{\"a\":1},".repeat(count)).into_bytes();
        let rows: [(Vec<u8>, Option<&str>); 11] = [
            (objects(VALUES_MAX / 2 - 1), None),
            (objects(VALUES_MAX / 2), Some("more than 100000 values")),
            (
                format!("\"{}\"", ",[{".repeat(VALUES_MAX)).into_bytes(),
                None,
            ),
            (br#"{"a": [1, "]]]]"]}"#.to_vec(), None),
            (deep(DEPTH_MAX).into_bytes(), None),
            (deep(DEPTH_MAX + 1).into_bytes(), Some("deeper than 64")),
            ("[".repeat(1_000_000).into_bytes(), Some("deeper than 64")),
            (br#""\"[[[""#.to_vec(), None),
            (b"\"\xff\"".to_vec(), Some("not UTF-8")),
            (b"{".to_vec(), Some("not JSON")),
            (b"{} {}".to_vec(), Some("not JSON")),
        ];
        for (bytes, expected) in rows {
            let refused = parse(&bytes).err().map(|refusal| refusal.message);
            let fits = match (&refused, expected) {
                (None, None) => true,
                (Some(said), Some(part)) => said.contains(part),
                _ => false,
            };
            assert!(fits, "{refused:?}, not {expected:?}");
        }
    }
}
