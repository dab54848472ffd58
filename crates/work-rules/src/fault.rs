//! What is wrong with a plan: where, and what to do about it.

use std::fmt;

use bonded_kernel::{Mistake, ReadFault, did_you_mean};

use super::item::{BadAgentId, BadItemId, ItemId};
use super::path::BadTreePath;

/// One thing that is wrong with a plan. All of them are found at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// A JSON pointer into the plan.
    pub at: String,
    /// The id of the item, where it has a usable one.
    pub item: Option<ItemId>,
    /// What is wrong there.
    pub kind: PlanFaultKind,
}

impl ReadFault for PlanFault {
    type Kind = PlanFaultKind;

    fn new(at: String, kind: PlanFaultKind) -> Self {
        let item = None;
        Self { at, item, kind }
    }
}

impl std::error::Error for PlanFault {}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str("the plan")?,
            at => f.write_str(at)?,
        }
        if let Some(item) = &self.item {
            write!(f, " (item {item})")?;
        }
        write!(f, ": {}", self.kind)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFaultKind {
    /// The document is neither an object nor a list.
    #[error("a plan is one work item (an object) or a list of them, not {found}")]
    NotAPlan { found: String },
    /// The list is empty.
    #[error("it has no work items")]
    NoItem,
    /// What may be wrong with anything that people write.
    #[error(transparent)]
    Mistake(#[from] Mistake),
    /// A word that is no complexity.
    #[error("must be low, medium or high, not {found:?}")]
    BadComplexity { found: String },
    /// An id that no directory could have.
    #[error(transparent)]
    BadId(#[from] BadItemId),
    /// No such agent.
    #[error(transparent)]
    BadAgent(#[from] BadAgentId),
    /// A path that leads out of the tree.
    #[error(transparent)]
    BadPath(#[from] BadTreePath),
    /// Two items have one id.
    #[error("the item at {first} has the same id; each needs its own")]
    DuplicateId { first: String },
    /// A dependency that nobody has done and nobody will.
    #[error(
        "depends on {id:?}, which is neither in the plan nor done before{}",
        did_you_mean(.nearest.as_deref())
    )]
    UnknownDependency { id: String, nearest: Option<String> },
    /// An item that waits for itself.
    #[error("depends on itself")]
    SelfDependency,
    /// Items of which none could ever begin.
    #[error("these depend on each other in a circle: {}", circle(.ids))]
    Cycle {
        /// Each depends on the next, and the last on the first.
        ids: Vec<ItemId>,
    },
    /// Tests that nothing would run.
    #[error("tests are expected, but there is no test_command to run them")]
    NoTestCommand,
}

/// Longer circles are shown in part.
const CIRCLE_SHOWN_MAX: usize = 20;

fn circle(ids: &[ItemId]) -> String {
    let mut shown: Vec<&str> = ids.iter().map(ItemId::as_str).collect();
    let more = format!("({} more)", shown.len().saturating_sub(CIRCLE_SHOWN_MAX));
    if shown.len() > CIRCLE_SHOWN_MAX {
        shown.truncate(CIRCLE_SHOWN_MAX);
        shown.push(&more);
    }
    shown.extend(ids.first().map(ItemId::as_str));
    shown.join(" -> ")
}
