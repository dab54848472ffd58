//! What a request is answered with.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

/// A status, JSON or nothing, and headers of its own.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    body: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    pub(super) fn ok(value: &Value) -> Self {
        Self::json(StatusCode::OK, value)
    }

    pub(super) fn created(value: &Value) -> Self {
        Self::json(StatusCode::CREATED, value)
    }

    /// Done, and nothing to say about it.
    pub(super) fn nothing() -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            body: None,
            headers: vec![],
        }
    }

    /// A text that is JSON already.
    pub(super) fn document(text: &str) -> Self {
        Self {
            status: StatusCode::OK,
            body: Some(text.to_owned()),
            headers: vec![],
        }
    }

    fn json(status: StatusCode, value: &Value) -> Self {
        Self {
            status,
            body: Some(value.to_string()),
            headers: vec![],
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn response(self) -> Response {
        let has_body = self.body.is_some();
        let mut response = Response::new(self.body.map_or_else(Body::empty, Body::from));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.extend(self.headers);
        response
    }
}
