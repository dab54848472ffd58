//! Why a request is not answered, in the one shape that every error has.
//!
//! Refusals of the rules, of the store and of the server itself all become this, with a code that never changes. What
//! the store says of its files goes to the log and never to a client.

use bonded_host::with_causes;
use bonded_workspace::store::WorkspaceError;
use bonded_workspace_rules::{Code, Refused};

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

use super::dto::{BytesDetails, CurrentNote, ErrorAnswer, RateDetails};
use super::{answer, request_id};

/// An error as a client meets it, over HTTP and over a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkspaceRefusal {
    /// The stable name, which has the status too.
    pub code: Code,
    /// A sentence that says what to do.
    pub message: String,
    /// What a program can act upon; null where there is nothing more to say.
    pub details: Value,
    /// Set where the same request may be answered later.
    pub retry_after_seconds: Option<u64>,
}

impl WorkspaceRefusal {
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
    pub(super) fn details(self, details: impl Serialize) -> Self {
        let details = serde_json::to_value(details).expect("all keys of details are strings");
        Self { details, ..self }
    }

    /// The request itself is wrong.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// Nothing was shown by which one could tell who asks.
    pub(super) fn auth_required() -> Self {
        let message = "authentication is required: send the header Authorization: Bearer TOKEN, or log in first";
        Self::new(Code::AuthRequired, message)
    }

    /// The message says where to find what there is.
    pub(super) fn unknown_path(path: &str) -> Self {
        let message = format!("there is nothing at {path}; GET /api/openapi.json lists the paths");
        Self::new(Code::NotFound, message)
    }

    /// The path is there.
    pub(super) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}; the header Allow says what it takes");
        Self::new(Code::MethodNotAllowed, message)
    }

    /// The bound is told.
    pub(super) fn too_large(bytes_max: usize) -> Self {
        let message = format!("the body is larger than {bytes_max} bytes; send less at a time");
        Self::new(Code::PayloadTooLarge, message).details(BytesDetails { bytes_max })
    }

    /// The store or the server itself has failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::InternalError, message)
    }

    /// Asked again later, it may be answered.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry_after_seconds: Some(1),
            ..Self::new(Code::Unavailable, message)
        }
    }

    /// Says how much is allowed and when the next may come.
    pub(super) fn rate_limited(limit: u32, window_seconds: u64, retry_after_seconds: u64) -> Self {
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
    pub(super) fn response(&self, request_id: &str) -> Response {
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
pub(super) fn refused(headers: &HeaderMap, refusal: &WorkspaceRefusal) -> Response {
    let name = request_id::of(headers);
    named(refusal.response(&name), &name)
}

/// An answer with the name of its request.
pub(crate) fn named(mut response: Response, name: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(request_id::REQUEST_ID, request_id::header(name));
    response
}

impl From<WorkspaceError> for WorkspaceRefusal {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused(refused) => refused.into(),
            // What the store says of its files is for whoever runs it.
            WorkspaceError::Store(error) => {
                tracing::error!("error: {}", with_causes(&error));
                Self::internal("the store failed; the log of the server says why")
            }
        }
    }
}

impl From<Refused> for WorkspaceRefusal {
    fn from(refused: Refused) -> Self {
        let refusal = Self::new(refused.code(), with_causes(&refused));
        let details = refused.details();
        let Refused::VersionConflict { current, .. } = &refused else {
            return refusal.details(details);
        };
        refusal.details(CurrentNote {
            conflict: details,
            current_title: &current.title,
            current_markdown: &current.markdown,
            updated_at: current.updated_at.into(),
        })
    }
}
