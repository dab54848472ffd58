//! Conditions: whether a rule is meant by what happened.
//!
//! A condition is read once, when its rule is saved, and holds or does not hold of the [`Facts`] of an event. It is
//! deterministic and bounded: it has no loops, knows no clock, and its patterns need time linear in a bounded text.

mod compare;
mod field;
mod read;

use bonded_kernel::{Millis, WorkspaceId};
use serde_json::Value;

use super::fault::Fault;
use super::note::Note;

use compare::Comparison;

pub(super) use read::read;

/// How deep conditions nest.
pub const CONDITION_DEPTH_MAX: usize = 16;
/// Of how many parts a condition consists.
pub const CONDITION_PARTS_MAX: usize = 256;
/// How long a value may be that something is compared with.
pub const CONDITION_VALUE_BYTES_MAX: usize = 4096;
/// How much of a text a pattern is looked for in.
pub const MATCHED_BYTES_MAX: usize = 64 << 10;

/// What a condition is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub workspace_id: WorkspaceId,
    /// The name of the event; a schedule has none.
    pub event_type: Option<&'a str>,
    /// `user`, `agent` or `system`.
    pub actor_type: Option<&'a str>,
    /// The note that the event is about, as it was after the event.
    pub note: Option<&'a Note>,
    /// When it happened.
    pub at: Millis,
}

/// A condition that was read and checked.
#[derive(Clone, Debug)]
pub struct Condition(Node);

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Compare(Box<Comparison>),
}

impl Condition {
    /// Reads a condition. Either all is well, or everything that is not comes back.
    pub fn read(written: &Value) -> Result<Self, Vec<Fault>> {
        let mut faults = vec![];
        let condition = read(written, "", &mut faults);
        match condition {
            Some(condition) if faults.is_empty() => Ok(condition),
            _ => Err(faults),
        }
    }

    /// Whether the condition holds.
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        self.0.holds(facts)
    }
}

impl Node {
    fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
            Self::Not(part) => !part.holds(facts),
            Self::Compare(comparison) => comparison.holds(facts),
        }
    }
}
