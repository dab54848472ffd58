//! What a server says of itself.

use serde_json::{Value, json};

/// What a client is told when it says hello.
#[derive(Clone, Debug)]
pub struct About {
    /// The server's name as clients show it.
    pub name: &'static str,
    /// The version of the program, not that of the protocol.
    pub version: &'static str,
    /// What the client may put before its model: how the tools are meant to be used.
    pub instructions: String,
    /// By kind: tools, resources, prompts.
    pub capabilities: Value,
}

impl About {
    /// The `serverInfo` of a greeting, and of a discovery.
    pub(super) fn server_info(&self) -> Value {
        json!({ "name": self.name, "version": self.version })
    }
}
