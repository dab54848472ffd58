//! How a run ended.

use serde::{Deserialize, Serialize};

use super::held::Held;
use super::usual::is_free;
use crate::money::Money;
use crate::termination::Termination;
use crate::text::Text;
use crate::usage::Usage;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    pub termination: Termination,
    pub turns: u32,
    /// What counts against the budget: what was used, and what is held.
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
    /// The part of both that is held for requests that nobody counted.
    #[serde(default, skip_serializing_if = "Held::is_none")]
    pub held: Held,
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
