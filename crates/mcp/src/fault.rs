//! Why a request is not answered, in the shape of JSON-RPC.
//!
//! Codes below -32000 are JSON-RPC's and the protocol's own. The message is for the person who reads the client's
//! log: it says what was expected.

use serde_json::{Value, json};

/// The bytes are no JSON within bounds.
pub(super) const PARSE: i64 = -32700;
/// It is JSON and no message, or a message that may not come at this time.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// Nothing here answers this method, or not in this version.
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// A parameter is missing or is not what the method takes.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// The server could not do it; the request itself may be good.
pub(super) const INTERNAL: i64 = -32603;
/// The protocol's own; the newest version says `INVALID_PARAMS` instead.
pub(super) const UNKNOWN_RESOURCE: i64 = -32002;
/// A header says something else than the body.
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// The request names a version that is not spoken here; the data lists those that are.
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// An error as a client meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcFault {
    pub code: i64,
    pub message: String,
    /// More for programs, where the protocol defines it; absent otherwise.
    pub data: Option<Value>,
}

impl RpcFault {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// What came is no message, or none that may come now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// A parameter is wrong; the message says which, and what it should be.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Repeats at most 64 characters of the method.
    pub fn unknown_method(method: &str) -> Self {
        let short: String = method.chars().take(64).collect();
        let message = format!("there is no method {short:?} here");
        Self::new(UNKNOWN_METHOD, message)
    }

    /// Repeats at most 200 characters of the address, in the message and in the data. A resource of another caller
    /// is answered alike, so that nobody learns what there is.
    pub fn unknown_resource(uri: &str) -> Self {
        let short: String = uri.chars().take(200).collect();
        let message =
            format!("there is no resource {short:?}; `resources/list` says what there is");
        let data = Some(json!({ "uri": short }));
        Self {
            data,
            ..Self::new(UNKNOWN_RESOURCE, message)
        }
    }

    /// For what is not the client's mistake. The message reaches the client: nothing secret belongs into it.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL, message)
    }

    /// As a message; a request that could not be read has no id.
    pub fn reply(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
