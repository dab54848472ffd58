//! The headers that repeat what a request says, since 2026-07-28: whatever stands between may go by them, so they
//! must be true.
//!
//! A proxy that lets `tools/list` through and nothing else must not be shown that method while the body calls a
//! tool. So a request whose headers and body differ is refused, and never answered by either of them.

use axum::http::HeaderMap;
use serde_json::Value;

use super::fault::{HEADER_MISMATCH, RpcFault};
use super::lifecycle::INLINE;
use super::message::Request;

pub(super) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Compares the headers of a request that stands for itself with its body.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), RpcFault> {
    same(headers, VERSION, INLINE)?;
    same(headers, METHOD, &request.method)?;
    let named = match request.method.as_str() {
        "tools/call" | "prompts/get" => request.params.get("name"),
        "resources/read" => request.params.get("uri"),
        _ => None,
    };
    match named.and_then(Value::as_str) {
        // What a header cannot hold is sent encoded; the body is what counts.
        Some(name) if name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
            same(headers, NAME, name)
        }
        _ => Ok(()),
    }
}

/// The header must be there once: of two values a proxy may read the other one.
fn same(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), RpcFault> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.as_bytes());
    if value == Some(expected.as_bytes()) && values.next().is_none() {
        return Ok(());
    }
    let message = format!("the header {name} must be {expected:?}, as the request says");
    Err(RpcFault::new(HEADER_MISMATCH, message))
}
