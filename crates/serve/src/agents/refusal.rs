//! Why a request is not answered, in the shape that OpenAI's clients read.
//!
//! Each refusal says by its status and headers whether the client may try again. That matters, because OpenAI's clients
//! do so by themselves: a run that failed would be run and paid for several times.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::sorted_json::sorted_json;

/// OpenAI's clients ask again by themselves after many an error, unless this header forbids it.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error as a client meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentRefusal {
    /// What clients decide by first.
    pub(super) status: StatusCode,
    /// OpenAI's word for the sort of error.
    kind: &'static str,
    /// The stable name.
    pub(crate) code: &'static str,
    /// The part of the request that is at fault.
    param: Option<&'static str>,
    /// A sentence that says what to do.
    pub(crate) message: String,
    again: Again,
}

/// Whether the same request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// As clients usually do after this status.
    Default,
    /// It would only cost the same again.
    Never,
    AfterSeconds(u32),
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl AgentRefusal {
    /// The request itself is wrong.
    pub(crate) fn bad_request(
        code: &'static str,
        param: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID, code, message).about(param)
    }

    /// A missing token as well as a wrong one.
    pub(super) fn unauthorised(message: &str) -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            INVALID,
            "invalid_api_key",
            message,
        )
    }

    /// A page in a browser may have been made to ask.
    pub(super) fn foreign_host(host: &str) -> Self {
        let message = format!(
            "this server answers to loopback names only, not to {host:?}; start it with a token to let \
             it answer to others"
        );
        Self::new(StatusCode::FORBIDDEN, INVALID, "foreign_host", message)
    }

    /// What is counted is that of all callers together.
    pub(crate) fn figures_of_all() -> Self {
        let message = "the figures are those of all callers: start the server with --metrics-token-file, \
                       and send a token of that file";
        Self::new(StatusCode::FORBIDDEN, INVALID, "figures_of_all", message)
    }

    /// The message names the models that there are.
    pub(super) fn unknown_model(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, INVALID, "model_not_found", message).about(Some("model"))
    }

    /// The message names the paths that there are.
    pub(super) fn unknown_path(path: &str) -> Self {
        let message = format!(
            "there is nothing at {path}; there are GET /health, GET /healthz, GET /readyz, GET /metrics, \
             GET /v1/models, POST /v1/chat/completions and POST /v1/responses"
        );
        Self::new(StatusCode::NOT_FOUND, INVALID, "unknown_path", message)
    }

    /// The path is there.
    pub(crate) fn unknown_method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not take {method}");
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            INVALID,
            "method_not_allowed",
            message,
        )
    }

    /// The type of the body is wrong or missing.
    pub(super) fn not_json() -> Self {
        let message = "the body must be JSON: send the header Content-Type: application/json";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            INVALID,
            "not_json",
            message,
        )
    }

    /// The bound is told.
    pub(super) fn too_large(bytes_max: usize) -> Self {
        let message =
            format!("the body is larger than {bytes_max} bytes; send less of the conversation");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID, "too_large", message)
    }

    /// The body stopped coming, or came too slowly.
    pub(super) fn too_slow() -> Self {
        let message = "the body did not arrive in time; send it again";
        Self::new(StatusCode::REQUEST_TIMEOUT, INVALID, "too_slow", message)
    }

    /// Too many wait already.
    pub(super) fn busy() -> Self {
        let message = "too many requests are waiting; send it again later";
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limit_error",
            "busy",
            message,
        )
        .after_seconds(5)
    }

    /// The key stands for another question already.
    pub(super) fn other_body() -> Self {
        let message = "this Idempotency-Key was sent with another body before; choose a new key";
        Self::new(
            StatusCode::CONFLICT,
            INVALID,
            "idempotency_key_reused",
            message,
        )
        .never_again()
    }

    /// Somebody else works on the same run just now.
    pub(super) fn held(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, INVALID, "run_held", message).after_seconds(2)
    }

    /// What was sent does not go with what a run has recorded. To send it again changes nothing.
    pub(super) fn conflict(code: &'static str, param: &'static str, message: &str) -> Self {
        let conflict = Self::new(StatusCode::CONFLICT, INVALID, code, message);
        conflict.about(Some(param)).never_again()
    }

    /// The bodies of all requests together take too much memory just now.
    pub(super) fn no_room() -> Self {
        let message = "too many large requests at once; send it again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, SERVER, "no_room", message).after_seconds(1)
    }

    /// Whoever asks again soon finds the next server.
    pub(super) fn stopping() -> Self {
        let message = "the server is stopping; send it again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, SERVER, "stopping", message).after_seconds(5)
    }

    /// A run that came to no answer. To ask again costs the same again.
    pub(super) fn failed(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(status, SERVER, code, message).never_again()
    }

    /// Clients decide by the status whether to try again, unless said otherwise.
    fn new(
        status: StatusCode,
        kind: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            kind,
            code,
            param: None,
            message: message.into(),
            again: Again::Default,
        }
    }

    /// Names the field at fault.
    fn about(self, param: Option<&'static str>) -> Self {
        Self { param, ..self }
    }

    /// Sets the header that keeps clients from repeating by themselves.
    fn never_again(self) -> Self {
        Self {
            again: Again::Never,
            ..self
        }
    }

    /// Sets `Retry-After`.
    fn after_seconds(self, seconds: u32) -> Self {
        Self {
            again: Again::AfterSeconds(seconds),
            ..self
        }
    }

    /// The body of the answer, and the event of a stream that has begun already.
    pub(super) fn body(&self) -> RefusalBody<'_> {
        RefusalBody {
            error: RefusalFields {
                message: &self.message,
                kind: self.kind,
                code: self.code,
                param: self.param,
            },
        }
    }
}

/// An error as OpenAI's clients read it.
#[derive(Debug, Serialize)]
pub(super) struct RefusalBody<'a> {
    /// The only field, as OpenAI has it.
    error: RefusalFields<'a>,
}

/// What clients look for in it.
#[derive(Debug, Serialize)]
struct RefusalFields<'a> {
    /// For people.
    message: &'a str,
    /// OpenAI's word for the sort of error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// For programs.
    code: &'static str,
    /// The field at fault, or null.
    param: Option<&'static str>,
}

impl IntoResponse for AgentRefusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(sorted_json(&self.body())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.again {
            Again::Default => {}
            Again::Never => {
                headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Again::AfterSeconds(seconds) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
