//! What counts against the limits of a run: tokens and money, time, and doing the same again and again.

use super::watch::Stopwatch;
use crate::budget::{Ledger, Spend};
use crate::config::Limits;
use crate::money::Money;
use crate::progress::Progress;

/// What a run has used of its limits.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) ledger: Ledger,
    pub(crate) progress: Progress,
    pub(crate) watch: Stopwatch,
}

impl Tally {
    pub(crate) fn spend(&self) -> Spend {
        self.ledger.spend()
    }

    /// The time that the run had used when its last entry was made.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.watch.elapsed_ms(self.watch.last_at)
    }

    /// What is left of the limits: nothing that the run calls may use more.
    pub(super) fn left_of(&self, limits: &Limits) -> Limits {
        let spend = self.spend();
        let minus = |max: Option<u64>, used: u64| max.map(|max| max.saturating_sub(used));
        Limits {
            elapsed_ms_max: minus(limits.elapsed_ms_max, self.elapsed_ms()),
            tokens_max: minus(limits.tokens_max, spend.usage.total()),
            cost_max: limits.cost_max.map(|max| max.minus(spend.cost)),
            ..limits.clone()
        }
    }
}

/// The share of each of so many agents that are called at the same time.
pub(super) fn share_of(left: &Limits, agents: usize) -> Limits {
    let agents = (agents as u64).max(1);
    Limits {
        tokens_max: left.tokens_max.map(|tokens| tokens / agents),
        cost_max: left.cost_max.map(|cost| Money(cost.0 / agents)),
        ..left.clone()
    }
}
