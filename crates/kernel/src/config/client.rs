//! Tools that whoever asked for the run executes.
//!
//! Their calls are checked, held against the policy and recorded like all others. They are handed out instead of being
//! executed, and the run waits for what they returned.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::own_tools::TOOL_OUTPUT;
use crate::text::Text;
use crate::tool::{DONE, ToolEffect, ToolSpec};

/// How the names of the kernel's own tools begin.
const OWN: &str = "agent__";

/// What the calls of one reply have in common where only one may be under way.
const ONE_BY_ONE: &str = "the client";

/// The tools of whoever asked for the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientTools {
    /// Their names, in the order in which they were given.
    pub names: Vec<Arc<str>>,
    /// Their specs as JSON, a list.
    specs: Text,
}

impl ClientTools {
    /// Nobody vouches for what such a tool does: each is a write. Unless they are `parallel`, only one call is handed
    /// out at a time.
    pub fn new(mut specs: Vec<ToolSpec>, parallel: bool) -> Self {
        for spec in &mut specs {
            spec.effect = ToolEffect::Write;
            spec.sandbox = None;
            spec.resource = (!parallel).then(|| ONE_BY_ONE.into());
        }
        let written = serde_json::to_string(&specs).expect("a spec is written as JSON");
        Self {
            names: specs.iter().map(|spec| spec.name.as_str().into()).collect(),
            specs: written.into(),
        }
    }

    /// Whether a tool of this name would be taken for one of the kernel's own.
    pub fn is_reserved(name: &str) -> bool {
        name.starts_with(OWN) || [DONE, TOOL_OUTPUT].contains(&name)
    }

    /// Whether a tool is among them.
    pub fn has(&self, tool: &str) -> bool {
        self.names.iter().any(|name| **name == *tool)
    }

    /// Nothing where the log does not hold them any more.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        serde_json::from_str(&self.specs).unwrap_or_default()
    }

    /// Every text that may lie in a blob.
    pub(super) fn text_mut(&mut self) -> &mut Text {
        &mut self.specs
    }
}
