//! The instructions that the kernel itself carries out: those that change the memory.

use serde_json::{Value, json};

use crate::decode::attrless::{RAM_ADD, RAM_DELETE, STATE_ADD, STATE_DELETE};
use crate::memory::{Memory, MemoryFault};
use crate::tool::{ToolEffect, ToolSpec};

/// An instruction that changes the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopOp {
    StateAdd,
    StateDelete,
    RamAdd,
    RamDelete,
}

impl LoopOp {
    pub(crate) fn of(tool: &str) -> Option<Self> {
        match tool {
            STATE_ADD => Some(Self::StateAdd),
            STATE_DELETE => Some(Self::StateDelete),
            RAM_ADD => Some(Self::RamAdd),
            RAM_DELETE => Some(Self::RamDelete),
            _ => None,
        }
    }

    /// Changes the memory and says what came of it; or leaves it and says why.
    pub(crate) fn perform(
        self,
        memory: &mut Memory,
        arguments: &str,
        paging_bytes: u64,
    ) -> Result<&'static str, MemoryFault> {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let word = |name: &str| arguments[name].as_str().unwrap_or_default();
        let told = match self {
            Self::StateAdd => memory.add_state(word("state")).map(|()| "ok")?,
            Self::StateDelete => was_there(memory.delete_state(word("state"))?),
            Self::RamAdd => {
                memory.add(word("key"), word("value"), paging_bytes)?;
                "ok"
            }
            Self::RamDelete => was_there(memory.delete(word("key"))?),
        };
        memory.settle_paging(paging_bytes);
        Ok(told)
    }

    pub(crate) fn specs() -> [ToolSpec; 4] {
        [
            spec(STATE_ADD, "Puts the agent into a state.", &["state"]),
            spec(STATE_DELETE, "Takes the agent out of a state.", &["state"]),
            spec(RAM_ADD, "Sets a key of the memory.", &["key", "value"]),
            spec(RAM_DELETE, "Removes a key of the memory.", &["key"]),
        ]
    }
}

fn was_there(was_there: bool) -> &'static str {
    if was_there {
        "ok"
    } else {
        "ok, it was not there"
    }
}

fn spec(name: &str, description: &str, fields: &[&str]) -> ToolSpec {
    let properties: serde_json::Map<String, Value> = fields
        .iter()
        .map(|field| ((*field).to_owned(), json!({ "type": "string" })))
        .collect();
    let effect = ToolEffect::Idempotent;
    ToolSpec::closed(name, effect, description, &properties.into(), fields)
}
