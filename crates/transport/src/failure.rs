//! What a server says when it fails, and the class that the retry policy goes by.

mod overflow;

use std::error::Error;

use bonded_kernel::{Failure, FailureClass, Overflow};
use serde_json::Value;

use crate::retry_after::{bounded, retry_after_in};
use crate::tls;

/// A server's own message is cut to so many characters.
const MESSAGE_CHARS_MAX: usize = 500;
/// An excerpt of a body that was not understood is cut to so many characters.
const EXCERPT_CHARS_MAX: usize = 200;

pub(crate) fn failed(class: FailureClass, message: impl Into<String>, billable: bool) -> Failure {
    Failure {
        billable,
        ..Failure::new(class, message)
    }
}

/// A body that came with a good status and could not be understood.
pub(crate) fn malformed(why: &str, body: &[u8]) -> Failure {
    // The reason may quote the body at any length.
    let why = one_line(why, EXCERPT_CHARS_MAX);
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT_CHARS_MAX)]);
    let excerpt = one_line(&text, EXCERPT_CHARS_MAX);
    let message = if excerpt.is_empty() {
        format!("{why}: the body is empty")
    } else {
        format!("{why}: {excerpt}")
    };
    failed(FailureClass::Malformed, message, true)
}

/// An error as a server describes it, in whichever of the usual shapes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ServerError {
    pub(crate) message: String,
    /// A status inside the body, for servers that send errors with HTTP 200.
    pub(crate) status: Option<u16>,
    /// How long the server asks to be left alone.
    pub(crate) retry_after_ms: Option<u64>,
    /// The values of `code`, `type`, `status` and `reason`, in lower case.
    codes: Vec<String>,
    /// What it says of the size of the request.
    overflow: Option<Overflow>,
}

impl ServerError {
    /// Reads the body of an error status. A body that is no JSON is itself the message.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => {
                // A list of pieces may hold nothing but the error.
                let value = value.get(0).unwrap_or(&value);
                Self::from_value(value.get("error").unwrap_or(value))
            }
            Err(_) => {
                let message = one_line(&String::from_utf8_lossy(body), MESSAGE_CHARS_MAX);
                Self {
                    overflow: overflow::in_error(&message, &Value::Null),
                    message,
                    ..Self::default()
                }
            }
        }
    }

    /// Reads an error object, or a text in place of one.
    pub(crate) fn from_value(error: &Value) -> Self {
        let texts = ["message", "detail", "error"];
        let said = texts.iter().find_map(|key| error.get(key)?.as_str());
        let said = said.or(error.as_str());
        let mut message = said.map_or_else(|| error.to_string(), Into::into);
        // A router puts the words of the provider behind it here.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        let code = error.get("code");
        let kinds = [code, error.get("type"), error.get("status")];
        let details = error.get("details").and_then(Value::as_array);
        let reasons = details.into_iter().flatten().map(|part| part.get("reason"));
        let kinds = kinds.into_iter().chain(reasons).flatten();
        let codes = kinds.filter_map(Value::as_str);
        let message = one_line(&message, MESSAGE_CHARS_MAX);
        Self {
            retry_after_ms: retry_after_in(error),
            overflow: overflow::in_error(&message, error),
            message,
            status: code.and_then(status_in),
            codes: codes.map(str::to_lowercase).collect(),
        }
    }

    pub(crate) fn class(&self, http_status: Option<u16>) -> FailureClass {
        let status = http_status.or(self.status).unwrap_or(0);
        let has_code = |wanted: &[&str]| {
            let mut codes = self.codes.iter();
            codes.any(|code| wanted.iter().any(|part| code.contains(part)))
        };
        if status == 402 || has_code(&QUOTA_CODES) || self.speaks_of(&QUOTA_WORDS) {
            FailureClass::Quota
        } else if matches!(status, 401 | 403) || has_code(&AUTH_CODES) {
            FailureClass::Auth
        } else if self.speaks_of(&NEVER_WORDS) {
            FailureClass::Overflow
        } else if status == 429 || has_code(&RATE_CODES) {
            FailureClass::RateLimit
        } else if matches!(status, 408 | 504 | 524) {
            FailureClass::Timeout
        } else if has_code(&OVERFLOW_CODES) || self.speaks_of(&OVERFLOW_WORDS) {
            FailureClass::Overflow
        } else {
            FailureClass::Model
        }
    }

    /// What it says of the size of the request, where it is that which is wrong.
    pub(crate) fn overflow_of(&self, class: FailureClass) -> Option<Overflow> {
        self.overflow.filter(|_| class == FailureClass::Overflow)
    }

    fn speaks_of(&self, wanted: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        wanted.iter().any(|words| message.contains(words))
    }

    /// The failure of an error that came with HTTP 200. Where the model had begun to speak, what it said
    /// may be billed.
    pub(crate) fn into_failure(self, billable: bool) -> Failure {
        let class = self.class(None);
        Failure {
            status: self.status,
            retry_after_ms: bounded(self.retry_after_ms).0,
            overflow: self.overflow_of(class),
            ..failed(class, self.message, billable)
        }
    }
}

// Parts of the codes and types that servers use.
const QUOTA_CODES: [&str; 5] = [
    "insufficient_quota",
    "insufficient_credit",
    "insufficient_balance",
    "billing",
    "payment_required",
];
const QUOTA_WORDS: [&str; 1] = ["credit balance is too low"];
const AUTH_CODES: [&str; 6] = [
    "invalid_api_key",
    "api_key_invalid",
    "authentication",
    "unauthenticated",
    "permission_denied",
    "permission_error",
];
const RATE_CODES: [&str; 3] = ["rate_limit", "too_many_requests", "resource_exhausted"];
const OVERFLOW_CODES: [&str; 3] = [
    "context_length_exceeded",
    "exceed_context_size",
    "request_too_large",
];
// A request that is larger than what a minute has room for: no wait makes it fit.
const NEVER_WORDS: [&str; 1] = ["request too large for"];
const OVERFLOW_WORDS: [&str; 16] = [
    "context length",
    "context window",
    "context size",
    "context limit",
    "context overflow",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "maximum prompt length",
    "reduce the length of the messages",
    "exceeds the maximum number of tokens",
    "exceed the configured limit",
    "maximum model length",
    "model token limit",
    "maximum allowed input length",
    "range of input length",
];

fn status_in(code: &Value) -> Option<u16> {
    let number = match code {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let status = number.and_then(|number| u16::try_from(number).ok())?;
    (400..600).contains(&status).then_some(status)
}

/// The text as one line: white space and control characters collapsed, and no longer than `chars_max`.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Four bytes a character at most: beyond that, nothing can be kept.
        if line.len() > 4 * chars_max {
            break;
        }
    }
    if let Some((end, _)) = line.char_indices().nth(chars_max) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// An error with its sources on one line, none said twice.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    if let Some(refused) = tls::refused(error) {
        return one_line(&refused, MESSAGE_CHARS_MAX);
    }
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        source = cause.source();
    }
    one_line(&said, MESSAGE_CHARS_MAX)
}

#[cfg(test)]
mod tests;
