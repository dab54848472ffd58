//! What a provider is shown so that it answers: a key, and headers that the user has set.
//!
//! Two things are upheld here. A secret is put only into headers that are marked as sensitive, so that no layer
//! below prints it. And every text that leaves this crate as a message has gone through `masked_in`, because
//! servers quote keys in their errors. Where the secrets come from is not known here: whoever builds the
//! transport gives a function that is asked for every request, so that a key that was changed is used at once
//! and none is kept.

use std::fmt;

use bonded_kernel::{Dialect, Failure, FailureClass, Target};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::dialect::{self, Beta};
use crate::failure::failed;
use crate::secret::Secret;

/// A header's value that is shorter cannot be told from an ordinary word, and is not masked.
///
/// In bytes. A header such as `X-Team: blue` would otherwise take the word out of everything that a server
/// says.
const MASKED_BYTES_MIN: usize = 8;

/// Where credentials come from. It is asked for every request, and what it gives is not kept.
pub(crate) type Lookup = dyn Fn(&Target) -> Credentials + Send + Sync;

/// What a request carries besides its body.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Sent in the header that the dialect names; absent for a server that asks for none.
    pub key: Option<Secret>,
    /// Sent with every request; they count more than the headers that a dialect sets itself.
    pub headers: Vec<(String, String)>,
    /// What to tell a person whose request was refused for want of a key.
    pub missing: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Credentials")
            .field("key", &self.key)
            .field("headers", &names)
            .field("missing", &self.missing)
            .finish()
    }
}

impl Credentials {
    /// A key and nothing else.
    pub fn with_key(key: &str) -> Self {
        Self {
            key: Secret::new(key),
            ..Self::default()
        }
    }

    /// The key of a target that names a variable, with `variables` to look it up.
    pub fn from_variable(target: &Target, variables: impl Fn(&str) -> Option<String>) -> Self {
        let Some(name) = target.key_env.as_deref() else {
            let missing = "no key was sent: the target names no variable that holds one";
            return Self {
                missing: Some(missing.into()),
                ..Self::default()
            };
        };
        Self {
            key: variables(name).and_then(|value| Secret::new(&value)),
            headers: Vec::new(),
            missing: Some(format!("no key was sent: the variable {name} is not set")),
        }
    }

    /// The headers of a request in a dialect. A service may want the key in a header of its own.
    ///
    /// They are written in the order in which they outrank each other: first what the dialect demands, then the
    /// key, then what the person has set, which replaces both. A beta name comes last and is added to what
    /// stands there, since a header of that kind lists several. A value that no header may hold is a failure
    /// before anything is sent.
    pub(crate) fn headers(
        &self,
        dialect: Dialect,
        key_header: Option<&str>,
        beta: Option<Beta>,
    ) -> Result<HeaderMap, Failure> {
        let definition = dialect::of(dialect);
        let mut headers = HeaderMap::new();
        for (name, value) in definition.headers {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = &self.key {
            let name = match key_header {
                Some(name) => header_name(name)?,
                None => HeaderName::from_static(definition.key_header),
            };
            let key = key.expose();
            let value = match name {
                AUTHORIZATION => format!("Bearer {key}"),
                _ => key.into(),
            };
            headers.insert(name, sensitive(&value).ok_or_else(|| unusable("the key"))?);
        }
        for (name, value) in &self.headers {
            let bad = || unusable(&format!("the header {name:?}"));
            headers.insert(header_name(name)?, sensitive(value).ok_or_else(bad)?);
        }
        if let Some((header, beta)) = beta {
            let named = headers.get(header).and_then(|it| it.to_str().ok());
            // Beside what the person names there.
            let all = named.map_or_else(|| beta.to_owned(), |named| format!("{named},{beta}"));
            let bad = || unusable(&format!("the header {header:?}"));
            headers.insert(
                HeaderName::from_static(header),
                sensitive(&all).ok_or_else(bad)?,
            );
        }
        Ok(headers)
    }

    /// The text without the key, without the values of headers, and without any beginning of one that is
    /// long enough to tell.
    pub(crate) fn masked_in(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in self.secrets() {
            masked = secret.masked_in(&masked);
        }
        masked
    }

    /// All secrets, longest first, so that none hides a part of another. A value such as `Bearer KEY` is
    /// one, and each of its words is.
    fn secrets(&self) -> Vec<Secret> {
        let values = self.headers.iter().map(|(_, value)| value.as_str());
        let texts = values.flat_map(|value| value.split_whitespace().chain([value]));
        let long = texts.filter(|text| text.len() >= MASKED_BYTES_MIN);
        let mut secrets: Vec<Secret> = long.filter_map(Secret::new).collect();
        secrets.extend(self.key.clone());
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        secrets
    }
}

/// Blanks around a name come from configuration files and are taken away.
fn header_name(name: &str) -> Result<HeaderName, Failure> {
    let read = HeaderName::from_bytes(name.trim().as_bytes());
    read.map_err(|_| unusable(&format!("the header {name:?}")))
}

/// A value that HTTP libraries neither print nor put into their tables for compression; `None` where it holds a
/// character that would end the header, which a stray line break in a key does.
fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(value.trim()).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// It is classed as a matter of credentials: to try again cannot help, and a person has to correct it. The
/// value itself is not named.
fn unusable(what: &str) -> Failure {
    let message = format!(
        "{what} holds characters that no HTTP header may hold; nothing was sent; correct it where it is set"
    );
    failed(FailureClass::Auth, message, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-planted-0123456789";

    fn with_headers(headers: &[(&str, &str)]) -> Credentials {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Credentials {
            headers: headers.collect(),
            ..Credentials::with_key(KEY)
        }
    }

    #[test]
    fn each_dialect_shows_the_key_in_its_own_header() {
        let cases = [
            (Dialect::Chat, "authorization", format!("Bearer {KEY}")),
            (Dialect::Responses, "authorization", format!("Bearer {KEY}")),
            (Dialect::Messages, "x-api-key", KEY.into()),
            (Dialect::Gemini, "x-goog-api-key", KEY.into()),
        ];
        for (dialect, name, value) in cases {
            let headers = Credentials::with_key(KEY)
                .headers(dialect, None, None)
                .expect("usable");
            assert_eq!(
                headers.get(name).and_then(|v| v.to_str().ok()),
                Some(&*value)
            );
            let has_version = headers.contains_key("anthropic-version");
            assert_eq!(has_version, dialect == Dialect::Messages);
        }
    }

    #[test]
    fn a_service_that_wants_the_key_in_its_own_header_gets_it_there_only() {
        let shown = |name| {
            let headers = Credentials::with_key(KEY).headers(Dialect::Chat, Some(name), None);
            headers.map_err(|failure| failure.message)
        };
        let headers = shown("api-key").expect("usable");
        assert_eq!(headers["api-key"], KEY);
        assert!(headers["api-key"].is_sensitive());
        assert!(!headers.contains_key("authorization"));
        let headers = shown("Authorization").expect("usable");
        assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
        let message = shown("api key").expect_err("no header");
        assert!(
            message.contains("api key") && !message.contains(KEY),
            "{message}"
        );
    }

    #[test]
    fn a_header_of_the_user_counts_more_than_that_of_the_dialect() {
        let own = with_headers(&[("Authorization", "Basic 123"), ("X-Team", "blue")]);
        let headers = own.headers(Dialect::Chat, None, None).expect("usable");
        assert_eq!(headers["authorization"], "Basic 123");
        assert_eq!(headers["x-team"], "blue");
    }

    #[test]
    fn a_header_that_is_none_is_named_and_its_value_is_not_shown() {
        for (name, value) in [("bad name", "hidden-value"), ("x-good", "hidden\u{7}value")] {
            let failure = with_headers(&[(name, value)]).headers(Dialect::Chat, None, None);
            let failure = failure.expect_err("no header");
            assert_eq!(failure.class, FailureClass::Auth);
            assert!(failure.message.contains(name), "{}", failure.message);
            assert!(!failure.message.contains("hidden"), "{}", failure.message);
        }
    }

    #[test]
    fn keys_and_header_values_are_masked_and_ordinary_words_are_not() {
        let credentials = with_headers(&[
            ("Authorization", "Bearer tok-abcdefgh-ijkl"),
            ("X-Retry", "40"),
        ]);
        let said = format!("status 401: {KEY} and tok-abcdefgh-ijkl, Bearer tok-abcdefgh-ijkl");
        assert_eq!(credentials.masked_in(&said), "status 401: *** and ***, ***");
        let shown = format!("{credentials:?}");
        assert!(
            !shown.contains("tok-") && !shown.contains("planted"),
            "{shown}"
        );
    }
}
