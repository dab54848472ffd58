//! How a run ended.

use serde::{Deserialize, Serialize};

use super::defaults::is_free;
use super::held::Held;
use crate::money::Money;
use crate::termination::Termination;
use crate::text::Text;
use crate::usage::Usage;

/// How a run stood when it ended. Whatever is counted here is counted from the beginning of the run, over all its goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// Why, and with which answer.
    pub termination: Termination,
    /// The turns that were begun.
    pub turns: u32,
    /// What counts against the budget: what was used, and what is held.
    pub usage: Usage,
    /// The same in money; 0 where no price is known.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
    /// The part of both that is held for requests that nobody counted.
    #[serde(default, skip_serializing_if = "Held::is_none")]
    pub held: Held,
    /// The time in which a process drove the run; waiting for a person and lying still are not in it.
    pub elapsed_ms: u64,
    /// What an agent delivers, as JSON; see [`Report`](crate::Report).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Text>,
}

impl RunEnded {
    /// What was used, as far as somebody counted.
    pub fn used(&self) -> (Usage, Money) {
        self.held.apart(self.usage, self.cost)
    }

    /// Every text that may lie in a blob.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        std::iter::once(self.termination.reason_mut()).chain(&mut self.report)
    }
}
