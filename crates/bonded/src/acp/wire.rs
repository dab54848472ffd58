//! What the protocol says, as far as it is spoken here: version 1, its stable part.

use bonded_host::letters::written_out;
use bonded_mcp::RpcFault;
use bonded_mcp::message::Params;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::CliError;

/// The version that is spoken; an editor that speaks another one decides whether this will do.
const VERSION: u16 = 1;

/// There is no such session.
const UNKNOWN_SESSION: i64 = -32002;

/// The first request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    #[serde(default)]
    pub(super) client_info: Option<ClientInfo>,
}

/// What an editor says of itself.
#[derive(Debug, Deserialize)]
pub(super) struct ClientInfo {
    pub(super) name: String,
    #[serde(default)]
    pub(super) title: Option<String>,
}

/// A session where there was none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSession {
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) mcp_servers: Vec<Value>,
}

/// A session that there was.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OldSession {
    pub(super) session_id: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) mcp_servers: Vec<Value>,
}

/// Which sessions there are.
#[derive(Debug, Deserialize)]
pub(super) struct ListSessions {
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) cursor: Option<String>,
}

/// A session by its id.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamedSession {
    pub(super) session_id: String,
}

/// What the person says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptRequest {
    pub(super) session_id: String,
    pub(super) prompt: Vec<ContentBlock>,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
    },
    Resource {
        resource: EmbeddedResource,
    },
    ResourceLink {
        uri: String,
        #[serde(default)]
        name: String,
    },
    /// A kind that is not announced, and so is refused.
    #[serde(other)]
    Unknown,
}

/// Something of the editor's, with its contents.
#[derive(Debug, Deserialize)]
pub(super) struct EmbeddedResource {
    pub(super) uri: String,
    /// Absent where it is no text.
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// Reads parameters.
pub(super) fn read<T: DeserializeOwned>(params: &Params) -> Result<T, RpcFault> {
    let read = serde_json::from_value(Value::Object(params.clone()));
    read.map_err(|why| RpcFault::invalid_params(format!("the parameters cannot be read: {why}")))
}

/// What this agent can do.
pub(super) fn greeting() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentInfo": {
            "name": "bonded",
            "title": "bonded",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
        },
        // Keys are in variables or in the configuration, and never asked of an editor.
        "authMethods": [],
    })
}

pub(super) fn no_session(id: &str) -> RpcFault {
    let shown: String = written_out(id).chars().take(64).collect();
    RpcFault::new(
        UNKNOWN_SESSION,
        format!("there is no session {shown:?}; session/list names those of a directory"),
    )
}

/// An error as an editor shows it: in one text, with its code for programs.
pub(super) fn fault(error: &CliError) -> RpcFault {
    let mut message = error.message().to_owned();
    for hint in error.hints() {
        message.push_str("\n  ");
        message.push_str(hint);
    }
    let data = Some(json!({ "code": error.code.name() }));
    RpcFault {
        data,
        ..RpcFault::internal(message)
    }
}

/// A piece of text, of the model or of the person.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}
