//! Where a page in a browser comes from. A page of somebody else must not reach a server on this machine under a
//! name of its own that resolves to it.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use bonded_web::loopback::is_loopback_name;

/// What a browser says of the page that asks; programs say nothing.
/// Every `Origin` header must be welcome. A request without one is: a page cannot leave out what its browser sends.
pub(super) fn is_welcome(headers: &HeaderMap, has_tokens: bool) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    origins.all(|origin| {
        let text = origin.to_str().unwrap_or_default();
        let Some((_scheme, authority)) = text.split_once("://") else {
            return false;
        };
        // With tokens, a page of the server's own name is let in: it cannot guess one.
        let own = headers.get(HOST).and_then(|host| host.to_str().ok());
        is_loopback_name(authority) || (has_tokens && own == Some(authority))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_others_are_not_let_in() {
        let rows = [
            ("http://localhost:3000", false, true),
            ("http://127.0.0.1", false, true),
            ("https://[::1]:8130", false, true),
            ("http://evil.example", false, false),
            ("http://localhost.evil.example", false, false),
            ("http://evil.example#localhost", false, false),
            ("http://user@localhost", false, false),
            ("null", false, false),
            ("", true, false),
            ("http://own.example:8130", true, true),
            ("http://own.example:8130", false, false),
            ("http://evil.example", true, false),
        ];
        for (origin, has_tokens, expected) in rows {
            let header = |text: &str| text.parse().expect("the row is a header");
            let headers = HeaderMap::from_iter([
                (ORIGIN, header(origin)),
                (HOST, header("own.example:8130")),
            ]);
            assert_eq!(is_welcome(&headers, has_tokens), expected, "{origin}");
        }
        assert!(is_welcome(&HeaderMap::new(), false));
    }
}
