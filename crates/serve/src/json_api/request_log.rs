//! Requests as a log tells of them. Neither their query nor their headers are kept: people write into them.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{Method, StatusCode};

/// What requests are told under, so that they can be asked for alone.
pub const TARGET: &str = "bonded::request";

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct RequestLog {
    /// For how long it took.
    began: Instant,
    /// What was asked.
    method: Method,
    /// Without the query.
    path: String,
    /// As the client hears it too.
    request_id: String,
}

impl RequestLog {
    /// Taken before the request is taken apart.
    pub(crate) fn of(request: &Request, request_id: &str) -> Self {
        Self {
            began: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            request_id: request_id.to_owned(),
        }
    }

    /// Tells of it where that is wanted.
    pub(crate) fn answered(self, status: StatusCode) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (method, path, status) = (self.method.as_str(), &*self.path, status.as_u16());
        let request_id = &*self.request_id;
        tracing::debug!(
            target: TARGET,
            method, path, status, ms, request_id,
            "request {method} {path}: {status} in {ms} ms ({request_id})"
        );
    }
}
