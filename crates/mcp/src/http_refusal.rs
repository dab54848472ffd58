//! A request that HTTP itself refuses, before any session hears of it.
//!
//! It has the shape of JSON-RPC all the same, so that a client can show why, and not a status alone.

use axum::http::StatusCode;
use serde_json::Value;

use super::fault::RpcFault;

/// An answer of HTTP's own.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    /// The id of the request, `null` where it could not be read.
    pub(super) id: Value,
    pub(super) fault: RpcFault,
}

/// A refusal that belongs to no request in particular.
pub(super) fn refused(status: StatusCode, message: &str) -> HttpRefusal {
    HttpRefusal {
        status,
        id: Value::Null,
        fault: RpcFault::invalid_request(message),
    }
}
