//! What is kept of the instructions of a run that works in loops.

use serde::{Deserialize, Serialize};

use crate::time::Millis;
use crate::uuid::{NoteId, OperationId};

/// What remains of a run of the agent for whoever checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAudit {
    pub prompt_hash: String,
    pub parser_version: String,
    pub loop_count: u32,
    pub operation_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    pub started_at: Millis,
    pub completed_at: Millis,
    /// What the run did to notes, and what it was refused, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationSummary>,
    /// How many more of these there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub operations_left_out: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What is kept of an instruction of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSummary {
    /// The loop, counted from 1.
    #[serde(rename = "loop")]
    pub turn: u32,
    pub instruction: String,
    /// The key, the state or the query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    pub outcome: OperationOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The note that was written, and the version that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<NoteId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<OperationId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationOutcome {
    Done,
    /// A person is asked.
    Proposed,
    /// It may not be done.
    Refused,
    /// It could not be done.
    Failed,
}
