//! What a run of the agent did, loop by loop, and what it remembers.

use std::collections::BTreeMap;

use bonded_kernel::RuleId;
use bonded_workspace::loop_history;
use serde::Serialize;
use serde_json::Value;

use super::scalars::{Id, Timestamp};
use super::words::RunStatus;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Loops {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    pub(crate) loops: Vec<LoopAnswer>,
    /// What `after` is for the next page; null on the last one.
    pub(crate) next_after: Option<u32>,
}

/// One loop of an agent, with the memory after it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Loop"))]
pub(crate) struct LoopAnswer {
    #[serde(rename = "loop")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    number: u32,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    states: Vec<&'static str>,
    instructions: Vec<InstructionAnswer>,
    memory: BTreeMap<String, Value>,
    memory_change: MemoryChange,
    /// What went wrong with a request or a reply, the last of it.
    failure: Option<String>,
}

/// How the memory differs from that before the loop.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MemoryChange {
    set: BTreeMap<String, Value>,
    removed: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
pub(crate) struct InstructionAnswer {
    instruction: String,
    /// The key, the state or the query.
    about: String,
    outcome: InstructionOutcome,
    code: Option<String>,
    message: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum InstructionOutcome {
    Waiting,
    Done,
    Proposed,
    Refused,
    Failed,
}

impl From<&loop_history::InstructionRecord> for InstructionAnswer {
    fn from(record: &loop_history::InstructionRecord) -> Self {
        use loop_history::InstructionOutcome as Ours;
        Self {
            instruction: record.instruction.clone(),
            about: record.about.clone(),
            outcome: match record.outcome {
                Ours::Waiting => InstructionOutcome::Waiting,
                Ours::Done => InstructionOutcome::Done,
                Ours::Proposed => InstructionOutcome::Proposed,
                Ours::Refused => InstructionOutcome::Refused,
                Ours::Failed => InstructionOutcome::Failed,
            },
            code: record.code.clone(),
            message: record.message.clone(),
        }
    }
}

impl From<&loop_history::LoopRecord> for LoopAnswer {
    fn from(record: &loop_history::LoopRecord) -> Self {
        let instructions = record.instructions.iter();
        Self {
            number: record.number,
            started_at: record.started_at.into(),
            ended_at: record.ended_at.map(Timestamp::from),
            states: record.states.clone(),
            instructions: instructions.map(InstructionAnswer::from).collect(),
            memory: record.memory.clone(),
            memory_change: MemoryChange {
                set: record.change.set.clone(),
                removed: record.change.removed.clone(),
            },
            failure: record.failure.clone(),
        }
    }
}

/// The memory that a rule's agent begins with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentMemory {
    pub(crate) rule_id: Id<RuleId>,
    /// As the rule names it; rules with one name share one memory.
    pub(crate) name: String,
    /// Null where nothing was written yet.
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    pub(crate) entries: Option<BTreeMap<String, Value>>,
    pub(crate) bytes: u64,
    /// The run that wrote it last.
    pub(crate) run_id: Option<String>,
}
