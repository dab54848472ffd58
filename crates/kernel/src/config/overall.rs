//! What a run may use over all its goals, beside what may be used for each.

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::money::Money;

/// Limits over a whole run. What is absent is limited for each goal alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverallLimits {
    /// Turns of all goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_max: Option<u32>,
    /// Time while a process drives the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms_max: Option<u64>,
    /// Input and output of all requests, agents below included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The same in money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<Money>,
}

impl OverallLimits {
    /// What limits say, taken for the whole of a run.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            turns_max: Some(limits.turns_max),
            elapsed_ms_max: limits.elapsed_ms_max,
            tokens_max: limits.tokens_max,
            cost_max: limits.cost_max,
        }
    }
}
