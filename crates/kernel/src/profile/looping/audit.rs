//! What is kept of a run that works in loops, for whoever checks it later.

use serde::{Deserialize, Serialize};

use super::operation::{OperationSummary, RunAudit};
use crate::time::Millis;

/// The operations that are summed up in the audit of a run.
const SUMMARIES_MAX: usize = 500;

/// What is kept of every run that works in loops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopAudit {
    /// SHA-256 of the prompt file that the run began with, in hexadecimal digits.
    pub prompt_hash: String,
    /// The reading that was in force.
    pub parser_version: String,
    /// The loops that were begun.
    pub loop_count: u32,
    /// The instructions that were executed.
    pub operation_count: u32,
    /// Absent where the run succeeded or has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// When the run began.
    pub started_at: Millis,
    /// Absent while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Millis>,
    /// What was done to notes, and what was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationSummary>,
    /// How many more of these there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub operations_left_out: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl LoopAudit {
    /// As a workspace keeps it, once the run has ended.
    pub fn of_ended(self) -> Option<RunAudit> {
        Some(RunAudit {
            completed_at: self.completed_at?,
            prompt_hash: self.prompt_hash,
            parser_version: self.parser_version,
            loop_count: self.loop_count,
            operation_count: self.operation_count,
            error_code: self.error_code,
            started_at: self.started_at,
            operations: self.operations,
            operations_left_out: self.operations_left_out,
        })
    }
}

/// What is kept of the operations of a run: the first ones, and how many more there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summaries {
    pub(crate) kept: Vec<OperationSummary>,
    pub(crate) left_out: u32,
}

impl Summaries {
    pub(crate) fn push(&mut self, summary: OperationSummary) {
        match self.kept.len() < SUMMARIES_MAX {
            true => self.kept.push(summary),
            false => self.left_out += 1,
        }
    }
}
