//! The headers of a request.
//!
//! Names are fixed by a person or a document; arguments go into values alone. A line break in a value would
//! begin another header, and is refused together with all other control characters, in what a person writes as
//! in what a model gives.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::error::RestError;
use super::template::Template;
use crate::fault::{self, ToolFault};

/// What most servers take for one header.
const VALUE_BYTES_MAX: usize = 8 * 1024;

/// What the connection itself says. A second word on it would let two servers read two requests.
const OF_THE_CONNECTION: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A header with places in its value.
#[derive(Clone)]
pub(super) struct HeaderTemplate {
    name: HeaderName,
    value: Template,
}

impl HeaderTemplate {
    /// The header of an argument; `None` where a model must not set it.
    pub(super) fn of_argument(name: &str, property: &str) -> Option<Self> {
        let name = HeaderName::try_from(name).ok()?;
        let value = Template::place(property);
        (!is_of_connection(&name)).then_some(Self { name, value })
    }

    pub(super) fn name(&self) -> &HeaderName {
        &self.name
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.value.places()
    }
}

/// The value may hold a secret.
impl fmt::Debug for HeaderTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

fn is_of_connection(name: &HeaderName) -> bool {
    OF_THE_CONNECTION.contains(&name.as_str())
}

/// Reads the headers of a person.
pub(super) fn read(headers: &BTreeMap<String, String>) -> Result<Vec<HeaderTemplate>, RestError> {
    let read = headers.iter().map(|(name, value)| {
        let wrong = |why: String| RestError::at(format!("headers.{name}"), why);
        let known = HeaderName::try_from(name.as_str());
        let known = known.map_err(|_| wrong("this is not the name of a header".into()))?;
        if is_of_connection(&known) {
            return Err(wrong(
                "this header is set by the connection; leave it out".into(),
            ));
        }
        let value = Template::parse(value).map_err(&wrong)?;
        let written = value.fill(&Value::Null, str::to_owned);
        // The value may be a secret, so that it is not shown.
        checked(&written).map_err(|why| wrong(format!("its value {why}")))?;
        Ok(HeaderTemplate { name: known, value })
    });
    read.collect()
}

/// The headers for these arguments. One that is a single argument is left out where that is not given.
pub(super) fn fill(headers: &[HeaderTemplate], arguments: &Value) -> Result<HeaderMap, ToolFault> {
    let mut filled = HeaderMap::new();
    for HeaderTemplate { name, value } in headers {
        let only = value.only_place();
        if only.is_some_and(|place| super::template::argument(arguments, place).is_none()) {
            continue;
        }
        let text = value.fill(arguments, str::to_owned);
        let value = checked(&text).map_err(|why| {
            let message = format!("the value for the header {name} {why}");
            ToolFault::new(fault::BAD_ARGUMENTS, message)
        })?;
        filled.insert(name, value);
    }
    Ok(filled)
}

/// The error is the end of a sentence without the value.
fn checked(value: &str) -> Result<HeaderValue, &'static str> {
    if value.len() > VALUE_BYTES_MAX {
        return Err("is longer than a header may be");
    }
    if value.contains(char::is_control) {
        return Err("holds a line break or another control character");
    }
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| "cannot be sent")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(name: &str, value: &str) -> Result<Vec<HeaderTemplate>, RestError> {
        read(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn an_argument_can_add_no_header_and_no_line() {
        let headers = one("X-Q", "<${parameters.q}>").expect("it is good");
        for (argument, sent) in [
            (json!("plain"), Some("<plain>")),
            (json!(7), Some("<7>")),
            (json!("a: b"), Some("<a: b>")),
            (json!(null), Some("<>")),
            (json!("ä"), Some("<ä>")),
            (json!("a\r\nX-Admin: 1"), None),
            (json!("a\nb"), None),
            (json!("a\rb"), None),
            (json!("a\tb"), None),
            (json!("a\0b"), None),
            (json!("a\u{85}b"), None),
            (json!("x".repeat(10_000)), None),
        ] {
            let filled = fill(&headers, &json!({ "q": argument })).ok();
            let found = filled.as_ref().map(|map| map["x-q"].as_bytes());
            assert_eq!(found, sent.map(str::as_bytes), "{argument}");
        }
    }

    #[test]
    fn a_header_of_one_argument_is_left_out_without_it() {
        let headers = one("X-Q", "${parameters.q}").expect("it is good");
        let filled = fill(&headers, &json!({})).expect("nothing is wrong");
        assert!(filled.is_empty());
    }

    #[test]
    fn headers_that_cannot_be_sent_are_refused_without_showing_their_value() {
        for (name, value) in [
            ("X Y", "v"),
            ("", "v"),
            ("Host", "evil.example"),
            ("transfer-encoding", "chunked"),
            ("X", "hunter2\n"),
            ("X", "${parameters.}"),
        ] {
            let error = one(name, value).expect_err("it is bad");
            assert_eq!(error.key(), format!("headers.{name}"));
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
