//! Why a request is not answered, in the one shape that every error has.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

/// An error as a client meets it, over HTTP and over a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
    /// What a program can act upon; null where there is nothing more to say.
    pub details: Value,
    pub retry_after_seconds: Option<u64>,
}

/// Every code that a client can meet over HTTP, with the status that it comes with.
pub(super) const CODES: [(&str, StatusCode); 39] = [
    ("BAD_REQUEST", StatusCode::BAD_REQUEST),
    ("INVALID_PATCH", StatusCode::BAD_REQUEST),
    ("WS_BAD_PAYLOAD", StatusCode::BAD_REQUEST),
    ("AUTH_REQUIRED", StatusCode::UNAUTHORIZED),
    ("INVALID_CREDENTIALS", StatusCode::UNAUTHORIZED),
    ("SESSION_EXPIRED", StatusCode::UNAUTHORIZED),
    ("ROLE_FORBIDDEN", StatusCode::FORBIDDEN),
    ("WORKSPACE_FORBIDDEN", StatusCode::FORBIDDEN),
    ("AGENT_YOLO_POLICY_VIOLATION", StatusCode::FORBIDDEN),
    ("CROSS_WORKSPACE_REJECTED", StatusCode::FORBIDDEN),
    ("SCOPE_VIOLATION", StatusCode::FORBIDDEN),
    ("CSRF_INVALID", StatusCode::FORBIDDEN),
    ("NOT_FOUND", StatusCode::NOT_FOUND),
    ("NOTE_NOT_FOUND", StatusCode::NOT_FOUND),
    ("WORKSPACE_NOT_FOUND", StatusCode::NOT_FOUND),
    ("RULE_NOT_FOUND", StatusCode::NOT_FOUND),
    ("RUN_NOT_FOUND", StatusCode::NOT_FOUND),
    ("OPERATION_NOT_FOUND", StatusCode::NOT_FOUND),
    ("USER_NOT_FOUND", StatusCode::NOT_FOUND),
    ("METHOD_NOT_ALLOWED", StatusCode::METHOD_NOT_ALLOWED),
    ("REQUEST_TIMEOUT", StatusCode::REQUEST_TIMEOUT),
    ("VERSION_CONFLICT", StatusCode::CONFLICT),
    ("OTHER_OPERATION", StatusCode::CONFLICT),
    ("CONFLICT", StatusCode::CONFLICT),
    ("SETUP_ALREADY_COMPLETED", StatusCode::CONFLICT),
    ("PAYLOAD_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE),
    ("NOTE_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE),
    ("UNSUPPORTED_MEDIA_TYPE", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ("RULE_INVALID", StatusCode::UNPROCESSABLE_ENTITY),
    ("PROMPT_JSON_INVALID", StatusCode::UNPROCESSABLE_ENTITY),
    ("PROMPT_SCHEMA_INVALID", StatusCode::UNPROCESSABLE_ENTITY),
    ("PROMPT_SEGMENT_EMPTY", StatusCode::UNPROCESSABLE_ENTITY),
    ("SEARCH_MODE_INVALID", StatusCode::UNPROCESSABLE_ENTITY),
    ("RATE_LIMITED", StatusCode::TOO_MANY_REQUESTS),
    ("INTERNAL_ERROR", StatusCode::INTERNAL_SERVER_ERROR),
    (
        "AGENT_MEMORY_STORE_ERROR",
        StatusCode::INTERNAL_SERVER_ERROR,
    ),
    ("LLM_UPSTREAM_ERROR", StatusCode::BAD_GATEWAY),
    ("EMBEDDING_PROVIDER_ERROR", StatusCode::BAD_GATEWAY),
    ("UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
];

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
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
        Self::new("BAD_REQUEST", message)
    }

    pub(super) fn auth_required() -> Self {
        let message = "who asks? send the header Authorization: Bearer TOKEN, or log in first";
        Self::new("AUTH_REQUIRED", message)
    }

    pub(super) fn unknown_path(path: &str) -> Self {
        let message =
            format!("there is nothing at {path}; GET /api/openapi.json lists what there is");
        Self::new("NOT_FOUND", message)
    }

    pub(super) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}; the header Allow says what it takes");
        Self::new("METHOD_NOT_ALLOWED", message)
    }

    pub(super) fn too_large(bytes_max: usize) -> Self {
        let message = format!("the body is larger than {bytes_max} bytes; send less at a time");
        Self::new("PAYLOAD_TOO_LARGE", message).details(json!({ "bytes_max": bytes_max }))
    }

    /// The store or the server itself has failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new("INTERNAL_ERROR", message)
    }

    /// Asked again later, it may be answered.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry_after_seconds: Some(1),
            ..Self::new("UNAVAILABLE", message)
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
            ..Self::new("RATE_LIMITED", message).details(details)
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        let known = CODES.iter().find(|(code, _)| *code == self.code);
        known.map_or(StatusCode::BAD_REQUEST, |(_, status)| *status)
    }

    /// The envelope.
    pub(super) fn body(&self, request_id: &str) -> Value {
        json!({
            "code": self.code,
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
