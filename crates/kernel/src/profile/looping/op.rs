//! The instructions that the kernel itself carries out: those that change the memory.

use serde_json::{Value, json};

use crate::decode::attrless::{RAM_ADD, RAM_DELETE, STATE_ADD, STATE_DELETE};
use crate::event::Call;
use crate::memory::{Memory, MemoryFault, STATE_KEY, State};
use crate::tool::{ToolEffect, ToolSpec};

/// What holds for an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopRules {
    pub(crate) paging_bytes: u64,
    /// Whether states follow one another in their order.
    pub(crate) ordered: bool,
    /// Whether the same reply says later which of the four states comes.
    pub(crate) enters_later: bool,
}

/// Whether one of these calls puts the agent into one of the four states.
pub(crate) fn enters_state(calls: &[Call]) -> bool {
    let enters = |call: &Call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let word = |name: &str| arguments[name].as_str().unwrap_or_default();
        match LoopOp::of(&call.tool) {
            Some(LoopOp::StateAdd) => State::of(word("state")).is_some_and(State::is_exclusive),
            Some(LoopOp::RamAdd) => word("key") == STATE_KEY,
            Some(LoopOp::StateDelete | LoopOp::RamDelete) | None => false,
        }
    };
    let mut accepted = calls.iter().filter(|call| call.refused.is_none());
    accepted.any(enters)
}

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
        rules: LoopRules,
    ) -> Result<&'static str, MemoryFault> {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let word = |name: &str| arguments[name].as_str().unwrap_or_default();
        let mut then = memory.clone();
        let message = match self {
            Self::StateAdd => then.add_state(word("state")).map(|()| "ok")?,
            Self::StateDelete => was_there(then.delete_state(word("state"))?),
            Self::RamAdd => {
                then.add(word("key"), word("value"), rules.paging_bytes)?;
                "ok"
            }
            Self::RamDelete => was_there(then.delete(word("key"))?),
        };
        let leaves = matches!(self, Self::StateDelete | Self::RamDelete);
        if rules.ordered && leaves && rules.enters_later && then.main_state() != memory.main_state()
        {
            // The state that comes takes the place of this one.
            return Ok(message);
        }
        if rules.ordered {
            then.check_move(memory.main_state())?;
        }
        then.settle_paging(rules.paging_bytes);
        *memory = then;
        Ok(message)
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
