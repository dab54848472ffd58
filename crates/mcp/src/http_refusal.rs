//! A request that HTTP itself refuses, before any session hears of it.

use axum::http::StatusCode;
use serde_json::Value;

use super::fault::McpFault;

/// An answer of HTTP's own.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    pub(super) id: Value,
    pub(super) fault: McpFault,
}

pub(super) fn refused(status: StatusCode, message: &str) -> HttpRefusal {
    HttpRefusal {
        status,
        id: Value::Null,
        fault: McpFault::invalid_request(message),
    }
}
