//! Conditions: whether a rule is meant by what happened.
//!
//! A condition is read once, when its rule is saved, and holds or does not hold of the [`Facts`] of an event. It is
//! deterministic and bounded: it has no loops, knows no clock, and its patterns need time linear in a bounded text.

mod clause;
mod compare;
mod explain;
mod facts;
mod field;
mod read;
mod schema;
mod words;

use serde_json::Value;

use super::fault::Fault;
use clause::Clause;

pub(super) use schema::definitions;

pub use compare::MATCHED_BYTES_MAX;
pub use explain::{JudgedPart, PartKind};
pub use facts::Facts;
pub use read::{CONDITION_DEPTH_MAX, CONDITION_PARTS_MAX, CONDITION_VALUE_BYTES_MAX};

/// A condition that was read and checked.
#[derive(Clone, Debug)]
pub struct Condition(Clause);

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

/// Reads the condition at a pointer. Whatever was found wrong is in `faults`.
pub(super) fn read(written: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Condition> {
    read::clause(written, at, faults).map(Condition)
}
