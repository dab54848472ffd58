//! What is kept of the instructions of a run that works in loops.

use serde::{Deserialize, Serialize};

use crate::time::Millis;
use crate::uuid::{NoteId, OperationId};

/// What remains of a run of the agent for whoever checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAudit {
    /// See [`LoopAudit::prompt_hash`](crate::LoopAudit::prompt_hash).
    pub prompt_hash: String,
    /// See [`LoopAudit::parser_version`](crate::LoopAudit::parser_version).
    pub parser_version: String,
    /// The loops that were begun.
    pub loop_count: u32,
    /// The instructions that were executed.
    pub operation_count: u32,
    /// Absent where the run succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// When the run began.
    pub started_at: Millis,
    /// When it ended.
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
    /// Its tag.
    pub instruction: String,
    /// The key, the state or the query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What became of it.
    pub outcome: OperationOutcome,
    /// The stable code of what went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The note that was written, and the version that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<NoteId>,
    /// Absent where no note was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<OperationId>,
}

/// What became of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationOutcome {
    /// It was carried out.
    Done,
    /// A person is asked.
    Proposed,
    /// It may not be done.
    Refused,
    /// It could not be done.
    Failed,
}
