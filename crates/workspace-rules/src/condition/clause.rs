//! The tree that a condition is.
//!
//! `All` of nothing holds and `Any` of nothing does not. Depth and number of parts were bounded when it was read, so
//! the recursion is bounded too.

use super::compare::Comparison;
use super::facts::Facts;

/// All, any or none of some parts, or one comparison.
#[derive(Clone, Debug)]
pub(super) enum Clause {
    All(Vec<Clause>),
    Any(Vec<Clause>),
    Not(Box<Clause>),
    Compare(Box<Comparison>),
}

impl Clause {
    /// Stops at the first part that decides.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
            Self::Not(part) => !part.holds(facts),
            Self::Compare(comparison) => comparison.holds(facts),
        }
    }
}
