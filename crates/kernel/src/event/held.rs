//! What is held in a budget for requests that nobody counted.

use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::usage::Usage;

/// What is held in a budget for requests that were sent and that nobody counted: the most that they can have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// How many such requests there were.
    pub requests: u32,
    /// All that was reserved for them.
    pub usage: Usage,
    /// The same in money, but for requests that were billed.
    #[serde(default)]
    pub cost: Money,
}

impl Held {
    /// Whether every request was counted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The rest of what counts.
    pub(crate) fn apart(&self, usage: Usage, cost: Money) -> (Usage, Money) {
        (usage.minus(&self.usage), cost.minus(self.cost))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.usage.add(&other.usage);
        self.cost = self.cost.plus(other.cost);
    }

    /// One more request, and its money where nobody said that either.
    pub(crate) fn hold(&mut self, usage: Usage, cost: Option<Money>) {
        self.add(&Self {
            requests: 1,
            usage,
            cost: cost.unwrap_or_default(),
        });
    }
}
