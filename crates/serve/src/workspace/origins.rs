//! The origins whose pages may ask, besides our own.
//!
//! An origin is compared as browsers write it, whole. There are no patterns: one that is too wide would let strangers
//! act with the session of whoever looks at their page.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

/// Why an origin cannot be on the list.
/// A sentence that says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("server.cors_allowed_origins: {0}")]
pub(super) struct BadOrigin(String);

/// The origins of `server.cors_allowed_origins`, as browsers write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origins(Vec<HeaderValue>);

impl Origins {
    /// Each must be an origin; one that is not stops the start.
    pub(super) fn read(texts: &[String]) -> Result<Self, BadOrigin> {
        let origins: Result<_, _> = texts.iter().map(|text| origin(text)).collect();
        origins.map(Self)
    }

    /// Whether no other origin may ask.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the page that asks is ours or on the list. Programs say nothing about pages.
    pub(super) fn admit(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).iter();
        origins.all(|origin| is_own(origin, headers) || self.0.contains(origin))
    }

    /// The origin that is told that it may read the answer.
    pub(super) fn listed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let is_one = headers.get_all(ORIGIN).iter().count() == 1;
        (is_one && self.0.contains(origin)).then(|| origin.clone())
    }
}

/// Whether a page has our own name and port.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let own = headers.get(HOST).and_then(|host| host.to_str().ok());
    let text = origin.to_str().unwrap_or_default();
    let authority = text.split_once("://").map(|(_, authority)| authority);
    authority.is_some() && authority == own
}

/// An origin as browsers write it: in small letters, without the port that is usual.
fn origin(field: &str) -> Result<HeaderValue, BadOrigin> {
    let bad = || {
        refused(&format!(
            "{field:?} is not an origin; write http:// or https://, a host, and a port unless it is the default, such as https://notes.example, and nothing after it"
        ))
    };
    if field.contains('*') {
        return Err(refused(&format!(
            "{field:?} would let every page of the web act with the session of its visitor; list each origin, such as https://notes.example"
        )));
    }
    let text = field.trim().to_ascii_lowercase();
    let (scheme, authority) = text.split_once("://").ok_or_else(bad)?;
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(bad()),
    };
    let name = match authority.rsplit_once(':') {
        // The last part of an address in brackets is no port.
        Some((name, port)) if !port.ends_with(']') => {
            port.parse::<u16>().map_err(|_| bad())?;
            name
        }
        _ => authority,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let is_bracketed = name.starts_with('[') && name.ends_with(']');
    let has_bracket = name.contains(['[', ']', ':']);
    if name.is_empty() || !name.chars().all(is_plain) || has_bracket != is_bracketed {
        return Err(bad());
    }
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    HeaderValue::from_str(&format!("{scheme}://{authority}")).map_err(|_| bad())
}

/// With the name of the field in front.
fn refused(why: &str) -> BadOrigin {
    BadOrigin(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(origin: &str) -> HeaderMap {
        let rows = [(ORIGIN, origin), (HOST, "own.example:8130")];
        let header = |text: &str| text.parse().expect("the row is a header");
        rows.into_iter()
            .map(|(name, value)| (name, header(value)))
            .collect()
    }

    #[test]
    fn an_origin_is_a_scheme_a_name_and_a_port_and_nothing_else() {
        let rows = [
            ("https://notes.example", Some("https://notes.example")),
            ("HTTPS://Notes.Example:443", Some("https://notes.example")),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://localhost:80", Some("http://localhost")),
            ("http://[::1]:3000", Some("http://[::1]:3000")),
            ("http://[::1]", Some("http://[::1]")),
            ("*", None),
            ("https://*.example", None),
            ("https://notes.example/", None),
            ("https://notes.example/path", None),
            ("https://user@notes.example", None),
            ("https://notes.example:99999", None),
            ("https://notes.example:", None),
            ("https://:80", None),
            ("https://a:b:80", None),
            ("file://notes", None),
            ("notes.example", None),
            ("null", None),
            ("", None),
        ];
        for (field, expected) in rows {
            let read = Origins::read(&[field.to_owned()]).ok();
            let read = read.and_then(|it| it.0.first()?.to_str().ok().map(str::to_owned));
            assert_eq!(read.as_deref(), expected, "{field:?}");
        }
    }

    #[test]
    fn only_pages_of_our_own_name_and_port_or_on_the_list_are_admitted() {
        let listed = Origins::read(&["https://notes.example".to_owned()]).expect("an origin");
        let rows = [
            ("http://own.example:8130", true, true),
            ("https://own.example:8130", true, true),
            ("https://notes.example", false, true),
            ("http://notes.example", false, false),
            ("https://notes.example:8443", false, false),
            ("https://notes.example.evil.example", false, false),
            ("http://own.example", false, false),
            ("http://own.example:8130.evil.example", false, false),
            ("null", false, false),
            ("", false, false),
        ];
        for (origin, by_none, by_list) in rows {
            let headers = headers(origin);
            let admitted = (Origins::default().admit(&headers), listed.admit(&headers));
            assert_eq!(admitted, (by_none, by_list), "{origin:?}");
        }
        assert!(Origins::default().admit(&HeaderMap::new()));
    }
}
