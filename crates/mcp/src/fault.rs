//! Why a request is not answered, in the shape of JSON-RPC.

use serde_json::{Value, json};

pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const UNKNOWN_METHOD: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;
pub(super) const UNKNOWN_RESOURCE: i64 = -32002;
pub(super) const HEADER_MISMATCH: i64 = -32020;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// An error as a client meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct McpFault {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl McpFault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub fn unknown_method(method: &str) -> Self {
        let short: String = method.chars().take(64).collect();
        let message = format!("there is no method {short:?} here");
        Self::new(UNKNOWN_METHOD, message)
    }

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

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL, message)
    }

    /// As a message; a request that could not be read has no id.
    pub(super) fn reply(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
