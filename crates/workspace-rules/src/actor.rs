//! Who changes something in a workspace.
//!
//! An actor is told by the caller and never read from a request: who asks was proved before. Each event keeps its actor
//! for good.

use bonded_kernel::{RuleId, RunId, UserId};
use serde::{Deserialize, Serialize};

/// Who changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "actor_type", rename_all = "snake_case")]
pub enum Actor {
    /// A person, or whoever has a token of theirs.
    User { user_id: UserId },
    /// A run of a rule.
    Agent { run_id: RunId, rule_id: RuleId },
    /// The program itself, or whoever has its files.
    System,
}
