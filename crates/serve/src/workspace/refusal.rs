//! Why a request is not answered, in the one shape that every error has.

use bonded_host::with_causes;
use bonded_workspace::store::WorkspaceError;
use bonded_workspace::times;
use bonded_workspace_rules::{Code, Refused};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::request_id;

/// An error as a client meets it, over HTTP and over a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    /// What a program can act upon; null where there is nothing more to say.
    pub details: Value,
    pub retry_after_seconds: Option<u64>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Value::Null,
            retry_after_seconds: None,
        }
    }

    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// The request itself is wrong.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    pub(super) fn auth_required() -> Self {
        let message = "who asks? send the header Authorization: Bearer TOKEN, or log in first";
        Self::new(Code::AuthRequired, message)
    }

    pub(super) fn unknown_path(path: &str) -> Self {
        let message =
            format!("there is nothing at {path}; GET /api/openapi.json lists what there is");
        Self::new(Code::NotFound, message)
    }

    pub(super) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}; the header Allow says what it takes");
        Self::new(Code::MethodNotAllowed, message)
    }

    pub(super) fn too_large(bytes_max: usize) -> Self {
        let message = format!("the body is larger than {bytes_max} bytes; send less at a time");
        Self::new(Code::PayloadTooLarge, message).details(json!({ "bytes_max": bytes_max }))
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

    pub(super) fn rate_limited(limit: u32, window_seconds: u64, retry_after_seconds: u64) -> Self {
        let message = format!(
            "more than {limit} requests within {window_seconds} s; send it again after {retry_after_seconds} s"
        );
        let details = json!({
            "limit": limit,
            "window_seconds": window_seconds,
            "retry_after_seconds": retry_after_seconds,
        });
        Self {
            retry_after_seconds: Some(retry_after_seconds),
            ..Self::new(Code::RateLimited, message).details(details)
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        let status = self.code.status();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        status.unwrap_or(StatusCode::BAD_REQUEST)
    }

    /// The envelope.
    pub(super) fn body(&self, request_id: &str) -> Value {
        json!({
            "code": self.code.as_str(),
            "message": self.message,
            "details": self.details,
            "request_id": request_id,
        })
    }

    pub(super) fn response(&self, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(self.body(request_id).to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
pub(super) fn refused(headers: &HeaderMap, refusal: &Refusal) -> Response {
    let name = request_id::of(headers);
    named(refusal.response(&name), &name)
}

/// An answer with the name of its request.
pub(super) fn named(mut response: Response, name: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(request_id::REQUEST_ID, request_id::header(name));
    response
}

impl From<WorkspaceError> for Refusal {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused(refused) => refused.into(),
            // What the store says of its files is for whoever runs it.
            WorkspaceError::Store(error) => {
                tracing::error!("error: {}", with_causes(&error));
                Self::internal("the store failed; what runs the server was told why")
            }
        }
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let mut details = refused.details();
        if let Refused::VersionConflict { current, .. } = &refused {
            details["current_title"] = json!(current.title);
            details["current_markdown"] = json!(&*current.markdown);
            details["updated_at"] = json!(times::rfc3339(current.updated_at));
        }
        Self::new(refused.code(), with_causes(&refused)).details(details)
    }
}
