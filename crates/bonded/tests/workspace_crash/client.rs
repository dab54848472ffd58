//! A client whose server may die at any moment: an answer is whole, or there is none.

use std::io;

use bonded_testkit::http;
use serde_json::Value;

/// Something to ask. Sent again, it is the same to the byte.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Names the request, for the server and in the events that it leaves.
    pub(crate) key: String,
    pub(crate) body: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Sends a request. An error means that nobody knows whether it was heard.
pub(crate) fn ask(address: &str, token: &str, request: &Request) -> io::Result<Answer> {
    let Request {
        method, path, key, ..
    } = request;
    let headers =
        format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\nX-Request-Id: {key}");
    let line = format!("{method} {path}");
    let reply = http::ask(address, &line, &headers, request.body.as_ref())?;
    Ok(Answer {
        status: reply.status,
        body: reply.value(),
    })
}
