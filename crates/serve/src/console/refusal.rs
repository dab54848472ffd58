//! Why a request of a page is refused, in the envelope that all errors have.

use axum::http::StatusCode;
use axum::response::Response;
use bonded_host::HostError;
use bonded_state::StoreError;
use serde::Serialize;
use serde_json::Value;

use crate::json_api::answer;
use crate::json_api::refusal::ApiRefusal;

/// A refusal.
#[derive(Debug)]
pub(crate) struct ConsoleRefusal {
    status: StatusCode,
    /// Stable, for programs; where the workspace has the same refusal, it is the workspace's code.
    code: &'static str,
    /// For a person: what happened, and what to do.
    message: String,
    /// What a program can act upon; null where there is nothing more to say.
    details: Value,
}

/// Every error has this shape.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Error"))]
pub(super) struct ErrorDto<'a> {
    code: &'a str,
    message: &'a str,
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    details: &'a Value,
    request_id: &'a str,
}

impl ConsoleRefusal {
    pub(crate) fn unauthorised(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "AUTH_REQUIRED", message)
    }

    pub(super) fn foreign_name() -> Self {
        let message = "this server answers under the name 127.0.0.1 or localhost only";
        Self::new(StatusCode::FORBIDDEN, "FOREIGN_NAME", message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// The same for one that there is not and for one that is nobody's business.
    pub(crate) fn no_run(named: &str) -> Self {
        let shown: String = named.chars().take(64).collect();
        Self::missing(format!("there is no run {shown}"))
    }

    pub(super) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}");
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            message,
        )
    }

    /// What was decided on is not what waits now, or nothing waits.
    pub(super) fn other_call(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "OTHER_CALL", message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", message)
    }

    /// It is understood, and is not done here.
    pub(super) fn not_supported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "NOT_SUPPORTED", message)
    }

    /// What failed is ours. What it says of its files is for the person who runs the server.
    pub(super) fn fault(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!("error: {}", bonded_host::with_causes(error));
        let message = "the store failed; the log of the server says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
    }

    /// Whether the server failed, and not the one who asked.
    pub(super) fn is_fault(&self) -> bool {
        self.status.is_server_error()
    }

    pub(super) fn response(&self, request_id: &str) -> Response {
        let body = ErrorDto {
            code: self.code,
            message: &self.message,
            details: &self.details,
            request_id,
        };
        answer::json(self.status, &body)
    }

    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            details: Value::Null,
        }
    }
}

impl From<ApiRefusal> for ConsoleRefusal {
    fn from(refusal: ApiRefusal) -> Self {
        Self {
            status: refusal.status(),
            code: refusal.code.as_str(),
            message: refusal.message,
            details: refusal.details,
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
            other => Self::fault(&other),
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
