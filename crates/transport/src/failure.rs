//! What a server says when it fails, and the class that the retry policy goes by.
//!
//! The class decides what a run does next: wait, shorten, try elsewhere, or stop. So a failure is classed by
//! the most certain sign that it carries, and by words only where there is no code and no status for it.
//! Services change their words, and a message that no list here knows becomes a failure of the model, which may
//! be tried again. A new wording belongs into one of the tables below, with a case in the tests.

mod overflow;

use std::error::Error;

use bonded_kernel::{Failure, FailureClass, Overflow};
use bonded_outbound::tls_refusal;
use serde_json::Value;

use crate::retry_after::{bounded, retry_after_in};

/// A server's own message is cut to so many characters.
const MESSAGE_CHARS_MAX: usize = 500;
/// An excerpt of a body that was not understood is cut to so many characters.
const EXCERPT_CHARS_MAX: usize = 200;

/// A failure with everything but its class, its message and whether it may be billed left out.
pub(crate) fn failed(class: FailureClass, message: impl Into<String>, billable: bool) -> Failure {
    Failure {
        billable,
        ..Failure::new(class, message)
    }
}

/// A body that came with a good status and could not be understood.
///
/// It counts as billable: the model has worked, and only its words are lost. The excerpt is short because it
/// goes into the log and may hold what the model said.
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
///
/// Services have several shapes for it: an object, an object within a list, a text, a router's error around a
/// provider's.
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
    ///
    /// The first member of a list is taken for the whole, which is how one service answers a request for a
    /// stream.
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
    ///
    /// What holds no text at all is shown as the JSON that it is, so that a person sees at least that.
    pub(crate) fn from_value(error: &Value) -> Self {
        let texts = ["message", "detail", "error"];
        let text = texts.iter().find_map(|key| error.get(key)?.as_str());
        let text = text.or(error.as_str());
        let mut message = text.map_or_else(|| error.to_string(), Into::into);
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

    /// The order matters. A quota that is used up often comes with status 429 and must not be waited for; a
    /// request that is too large for a minute's allowance comes with 429 as well and must be shortened. So both
    /// are looked for before the status is believed. `http_status` counts more than a status inside the body
    /// and is absent where the answer came with HTTP 200.
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

    /// The words in the tables are in lower case.
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
/// Nothing more can be bought for this key: no wait helps.
const QUOTA_CODES: [&str; 5] = [
    "insufficient_quota",
    "insufficient_credit",
    "insufficient_balance",
    "billing",
    "payment_required",
];
/// One service says it only in words, with a status that is used for every bad request.
const QUOTA_WORDS: [&str; 1] = ["credit balance is too low"];
/// The key is missing, wrong, or not meant for this.
const AUTH_CODES: [&str; 6] = [
    "invalid_api_key",
    "api_key_invalid",
    "authentication",
    "unauthenticated",
    "permission_denied",
    "permission_error",
];
/// It may be tried again after a while.
const RATE_CODES: [&str; 3] = ["rate_limit", "too_many_requests", "resource_exhausted"];
/// The request is larger than the model takes in, so that only a shorter one can succeed.
const OVERFLOW_CODES: [&str; 3] = [
    "context_length_exceeded",
    "exceed_context_size",
    "request_too_large",
];
// A request that is larger than what a minute has room for: no wait makes it fit.
const NEVER_WORDS: [&str; 1] = ["request too large for"];
/// Most services say only in words that a request is too large. These are parts of those words that stand in no
/// other error.
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

/// A code that is a number need not be a status: only those that say that something failed are taken.
fn status_in(code: &Value) -> Option<u16> {
    let number = match code {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let status = number.and_then(|number| u16::try_from(number).ok())?;
    (400..600).contains(&status).then_some(status)
}

/// The text as one line: white space and control characters collapsed, and no longer than `chars_max`.
///
/// A message goes into a log and onto a terminal: a server that sends escape sequences must not move the cursor
/// of whoever reads it. The cut is marked by an ellipsis beyond `chars_max`.
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
///
/// Libraries wrap an error in layers that repeat each other. A refusal by TLS is said in its own words instead,
/// because the chain says it in none that a person can act upon.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    if let Some(refusal) = tls_refusal(error) {
        return one_line(&refusal, MESSAGE_CHARS_MAX);
    }
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = cause.source();
    }
    one_line(&line, MESSAGE_CHARS_MAX)
}

#[cfg(test)]
mod tests;
