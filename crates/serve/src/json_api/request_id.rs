//! The name of a request: the client's own where it gives a usable one, so that both sides' logs can be joined.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The same header in both directions.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// In bytes, which are characters here.
const CHARS_MAX: usize = 128;

/// What the client said, or a new one.
pub(crate) fn of(headers: &HeaderMap) -> String {
    let header = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    match header {
        Some(header) if is_usable(header) => header.to_owned(),
        _ => uuid::Uuid::new_v4().to_string(),
    }
}

/// Bounded, and nothing in it that could pass for another line of a log.
fn is_usable(header: &str) -> bool {
    (1..=CHARS_MAX).contains(&header.len()) && header.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The name as a header of the answer.
pub(crate) fn header(request_id: &str) -> HeaderValue {
    HeaderValue::from_str(request_id).unwrap_or(HeaderValue::from_static("unprintable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printable_bounded_name_is_kept_and_any_other_replaced() {
        let long = "x".repeat(CHARS_MAX + 1);
        let rows = [
            ("abc-1", true),
            (&long[..CHARS_MAX], true),
            (&long, false),
            ("", false),
            ("a b", false),
            ("a\tb", false),
        ];
        for (header, is_kept) in rows {
            let value = HeaderValue::from_str(header).expect("the row is a header");
            let of = of(&HeaderMap::from_iter([(REQUEST_ID, value)]));
            assert_eq!(of == header, is_kept, "{header:?}");
            assert!(is_usable(&of), "{of:?}");
        }
    }
}
