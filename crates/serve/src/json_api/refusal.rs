//! Why a request is not answered, in the one shape that every error has.
//!
//! Whatever refuses, it becomes this, with a code that never changes.

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bonded_workspace_rules::Code;
use serde::Serialize;
use serde_json::Value;

use super::details::{BytesDetails, RateDetails};
use super::error_answer::ErrorAnswer;
use super::{answer, request_id};

/// An error as a client meets it, over HTTP and over a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiRefusal {
    /// The stable name, which has the status too.
    pub code: Code,
    /// A sentence that says what to do.
    pub message: String,
    /// What a program can act upon; null where there is nothing more to say.
    pub details: Value,
    /// Set where the same request may be answered later.
    pub retry_after_seconds: Option<u64>,
}

impl ApiRefusal {
    /// Without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Value::Null,
            retry_after_seconds: None,
        }
    }

    /// Replaces what was there.
    pub(crate) fn details(self, details: impl Serialize) -> Self {
        let details = serde_json::to_value(details).expect("all keys of details are strings");
        Self { details, ..self }
    }

    /// The request itself is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// Nothing was shown by which one could tell who asks.
    pub(crate) fn auth_required() -> Self {
        let message = "authentication is required: send the header Authorization: Bearer TOKEN, or log in first";
        Self::new(Code::AuthRequired, message)
    }

    /// The message says where to find what there is.
    pub(crate) fn unknown_path(path: &str) -> Self {
        let message = format!("there is nothing at {path}; GET /api/openapi.json lists the paths");
        Self::new(Code::NotFound, message)
    }

    /// The path is there.
    pub(crate) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}; the header Allow says what it takes");
        Self::new(Code::MethodNotAllowed, message)
    }

    /// The bound is told.
    pub(crate) fn too_large(bytes_max: usize) -> Self {
        let message = format!("the body is larger than {bytes_max} bytes; send less at a time");
        Self::new(Code::PayloadTooLarge, message).details(BytesDetails { bytes_max })
    }

    /// The store or the server itself has failed.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::InternalError, message)
    }

    /// Asked again later, it may be answered.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry_after_seconds: Some(1),
            ..Self::new(Code::Unavailable, message)
        }
    }

    /// Says how much is allowed and when the next may come.
    pub(crate) fn rate_limited(limit: u32, window_seconds: u64, retry_after_seconds: u64) -> Self {
        let message = format!(
            "more than {limit} requests within {window_seconds} s; send it again after {retry_after_seconds} s"
        );
        let details = RateDetails {
            limit,
            window_seconds,
            retry_after_seconds,
        };
        Self {
            retry_after_seconds: Some(retry_after_seconds),
            ..Self::new(Code::RateLimited, message).details(details)
        }
    }

    /// Codes of the socket have none of their own; over HTTP they are bad requests.
    pub(crate) fn status(&self) -> StatusCode {
        let status = self.code.status();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        status.unwrap_or(StatusCode::BAD_REQUEST)
    }

    /// In the envelope that every error has.
    pub(crate) fn response(&self, request_id: &str) -> Response {
        let envelope = ErrorAnswer {
            code: self.code.as_str(),
            message: &self.message,
            details: &self.details,
            request_id,
        };
        let mut response = answer::json(self.status(), &envelope);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The answer to a request that is refused before it is taken apart.
pub(crate) fn refused(headers: &HeaderMap, refusal: &ApiRefusal) -> Response {
    let name = request_id::of(headers);
    named(refusal.response(&name), &name)
}

/// An answer with the name of its request.
pub(crate) fn named(mut response: Response, name: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(request_id::REQUEST_ID, request_id::header(name));
    response
}
