//! Why a request of a page is refused, in the shape of all errors here.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bonded_host::HostError;
use bonded_state::StoreError;
use serde::Serialize;

/// A refusal.
#[derive(Debug)]
pub(super) struct ConsoleRefusal {
    status: StatusCode,
    /// Stable, for programs.
    code: &'static str,
    /// For a person: what happened, and what to do.
    message: String,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorDto<'a>,
}

#[derive(Serialize)]
struct ErrorDto<'a> {
    code: &'a str,
    message: &'a str,
    request_id: String,
}

impl ConsoleRefusal {
    pub(super) fn unauthorised(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "auth_required", message)
    }

    pub(super) fn foreign_name() -> Self {
        let message = "this server answers under the name 127.0.0.1 or localhost only";
        Self::new(StatusCode::FORBIDDEN, "foreign_name", message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// What was decided on is not what waits now, or nothing waits.
    pub(super) fn other_call(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "other_call", message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }
}

impl From<StoreError> for ConsoleRefusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownRun { .. } => Self::missing(error.to_string()),
            StoreError::Held { .. } | StoreError::Conflict { .. } => {
                Self::conflict(error.to_string())
            }
            other => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "store",
                bonded_host::with_causes(&other),
            ),
        }
    }
}

impl From<HostError> for ConsoleRefusal {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Store(error) => error.into(),
            other => Self::conflict(bonded_host::with_causes(&other)),
        }
    }
}

impl IntoResponse for ConsoleRefusal {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: ErrorDto {
                code: self.code,
                message: &self.message,
                request_id: uuid::Uuid::new_v4().simple().to_string(),
            },
        };
        (self.status, Json(body)).into_response()
    }
}
