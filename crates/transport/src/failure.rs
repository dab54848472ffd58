//! What a server says when it fails, and the class that the retry policy goes by.

use std::error::Error;

use bonded_kernel::{Failure, FailureClass};
use serde_json::Value;

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
    /// The values of `code` and `type`, in lower case.
    codes: Vec<String>,
}

impl ServerError {
    /// Reads the body of an error status. A body that is no JSON is itself the message.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(value.get("error").unwrap_or(&value)),
            Err(_) => Self {
                message: one_line(&String::from_utf8_lossy(body), MESSAGE_CHARS_MAX),
                ..Self::default()
            },
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
        let kinds = [code, error.get("type")];
        let codes = kinds.iter().flatten().filter_map(|kind| kind.as_str());
        Self {
            message: one_line(&message, MESSAGE_CHARS_MAX),
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
        if status == 402 || has_code(&QUOTA_CODES) {
            FailureClass::Quota
        } else if matches!(status, 401 | 403) || has_code(&AUTH_CODES) {
            FailureClass::Auth
        } else if status == 429 || has_code(&RATE_CODES) {
            FailureClass::RateLimit
        } else if matches!(status, 408 | 504 | 524) {
            FailureClass::Timeout
        } else if has_code(&OVERFLOW_CODES) || self.speaks_of_overflow() {
            FailureClass::Overflow
        } else {
            FailureClass::Model
        }
    }

    fn speaks_of_overflow(&self) -> bool {
        let message = self.message.to_lowercase();
        OVERFLOW_WORDS.iter().any(|words| message.contains(words))
    }

    /// The failure of an error that came with HTTP 200. Where the model had begun to speak, what it said
    /// may be billed.
    pub(crate) fn into_failure(self, billable: bool) -> Failure {
        let class = self.class(None);
        Failure {
            status: self.status,
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
const AUTH_CODES: [&str; 3] = ["invalid_api_key", "authentication", "permission_denied"];
const RATE_CODES: [&str; 2] = ["rate_limit", "too_many_requests"];
const OVERFLOW_CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size"];
const OVERFLOW_WORDS: [&str; 7] = [
    "context length",
    "context window",
    "context size",
    "context overflow",
    "too many tokens",
    "prompt is too long",
    "input is too long",
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
pub(crate) fn causes(error: &dyn Error) -> String {
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
mod tests {
    use FailureClass::*;

    use super::*;

    #[test]
    fn a_status_and_what_the_server_says_give_the_class() {
        let quota = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let llama = r#"{"error":{"code":400,"message":"the request is larger than what is available","type":"exceed_context_size_error"}}"#;
        let vllm = r#"{"object":"error","message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}"#;
        let tokens_a_minute = r#"{"error":{"message":"Request too large: tokens per minute","type":"tokens","code":"rate_limit_exceeded"}}"#;
        let cases = [
            (401, "", Auth),
            (403, "denied", Auth),
            (402, "{}", Quota),
            (429, quota, Quota),
            (429, r#"{"error":{"message":"slow down"}}"#, RateLimit),
            (
                429,
                r#"{"error":{"message":"too many tokens a minute"}}"#,
                RateLimit,
            ),
            (413, tokens_a_minute, RateLimit),
            (
                400,
                r#"{"error":{"code":"billing_not_active","message":"pay"}}"#,
                Quota,
            ),
            (408, "", Timeout),
            (504, "<html>gateway</html>", Timeout),
            (524, "", Timeout),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#,
                Overflow,
            ),
            (400, llama, Overflow),
            (400, vllm, Overflow),
            (
                413,
                r#"{"error":"Too many tokens in the prompt"}"#,
                Overflow,
            ),
            (400, r#"{"detail":"the context window is full"}"#, Overflow),
            (400, r#"{"error":{"message":"unknown field"}}"#, Model),
            (404, r#"{"error":"model not found"}"#, Model),
            (413, "<html>413</html>", Model),
            (500, "", Model),
            (503, "", Model),
            (529, r#"{"error":{"type":"overloaded_error"}}"#, Model),
        ];
        for (status, body, expected) in cases {
            let class = ServerError::from_body(body.as_bytes()).class(Some(status));
            assert_eq!(class, expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_a_good_answer_is_classed_by_its_own_code() {
        let cases = [
            (r#"{"code":429,"message":"busy"}"#, RateLimit, Some(429)),
            (r#"{"code":"402","message":"pay"}"#, Quota, Some(402)),
            (r#"{"code":502,"message":"upstream"}"#, Model, Some(502)),
            (r#"{"code":200,"message":"strange"}"#, Model, None),
            (r#"{"code":"invalid_api_key","message":"no"}"#, Auth, None),
            (r#""model is loading""#, Model, None),
        ];
        for (error, class, status) in cases {
            let value = serde_json::from_str(error).expect("JSON");
            let failure = ServerError::from_value(&value).into_failure(false);
            assert_eq!((failure.class, failure.status), (class, status), "{error}");
        }
    }

    #[test]
    fn the_message_is_the_servers_own_on_one_short_line() {
        let long = "x".repeat(600);
        let cases = [
            (r#"{"error":{"message":"first\nsecond"}}"#.to_owned(), "first second".to_owned()),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"out of memory"}}}"#.into(),
                "Provider returned error: out of memory".into(),
            ),
            (r#"{"error":"plain"}"#.into(), "plain".into()),
            (r#"{"detail":"Not Found"}"#.into(), "Not Found".into()),
            ("<h1>Bad\r\nGateway</h1>".into(), "<h1>Bad Gateway</h1>".into()),
            (long, format!("{}…", "x".repeat(500))),
        ];
        for (body, expected) in cases {
            assert_eq!(ServerError::from_body(body.as_bytes()).message, expected);
        }
    }
}
