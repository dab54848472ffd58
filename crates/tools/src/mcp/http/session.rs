//! What the server said once and hears with every request: the session, and the version of the protocol.

use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{GetMeta as _, JsonRpcMessage, ProtocolVersion, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::Value;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Both are sent back as they were received, and neither is ever shown.
#[derive(Debug, Default)]
pub(super) struct HttpSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl HttpSession {
    pub(super) fn is_open(&self) -> bool {
        self.id.is_some()
    }

    /// Only the answer to the greeting opens a session.
    pub(super) fn open(&mut self, response: &Response) {
        self.id = response.headers().get(SESSION).cloned();
    }

    pub(super) fn note_answer(&mut self, message: &RxJsonRpcMessage<RoleClient>) {
        if let JsonRpcMessage::Response(response) = message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            self.version = header(result.protocol_version.as_str());
        }
    }

    /// Versions without `initialize` say with each request which version it is of.
    pub(super) fn note_request(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        if let JsonRpcMessage::Request(request) = message
            && let Some(version) = request.request.get_meta().protocol_version()
        {
            self.version = header(version.as_str());
        }
    }

    /// What goes with every request.
    pub(super) fn headers(&self) -> HeaderMap {
        let id = self.id.iter().map(|id| (SESSION, id.clone()));
        let version = self.version.iter().map(|it| (VERSION, it.clone()));
        id.chain(version).collect()
    }

    /// The newest versions repeat in headers what a message asks for.
    ///
    /// Versions are dates and compare as text. What cannot stand in a header is left out.
    pub(super) fn headers_of(&self, message: &TxJsonRpcMessage<RoleClient>) -> HeaderMap {
        let mut headers = self.headers();
        let names_message = self.version.as_ref().is_some_and(|version| {
            version.as_bytes() >= ProtocolVersion::STANDARD_HEADERS.as_str().as_bytes()
        });
        if names_message && let Ok(message) = serde_json::to_value(message) {
            let params = message.get("params");
            let param = |name: &str| {
                params
                    .and_then(|params| params.get(name))
                    .and_then(Value::as_str)
            };
            let method = message.get("method").and_then(Value::as_str);
            let name = param("name").or_else(|| param("uri"));
            for (header_name, value) in [(METHOD, method), (NAME, name)] {
                if let Some(value) = value.and_then(header) {
                    headers.insert(header_name, value);
                }
            }
        }
        headers
    }
}

fn header(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}
