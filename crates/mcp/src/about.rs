//! What a server says of itself.

use serde_json::{Value, json};

/// What a client is told when it says hello.
#[derive(Clone, Debug)]
pub struct About {
    pub name: &'static str,
    pub version: &'static str,
    pub instructions: String,
    /// By kind: tools, resources, prompts.
    pub capabilities: Value,
}

impl About {
    pub(super) fn server_info(&self) -> Value {
        json!({ "name": self.name, "version": self.version })
    }
}
