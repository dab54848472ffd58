//! What is left of the limits of a run for what it calls.

use super::Run;
use crate::config::Limits;
use crate::money::Money;

impl Run {
    /// What is left for each of the agents that are called at the same time.
    pub fn limits_left_for_each(&self) -> Limits {
        let agents = (self.agents_under_way() as u64).max(1);
        let left = self.limits_left();
        Limits {
            tokens_max: left.tokens_max.map(|tokens| tokens / agents),
            cost_max: left.cost_max.map(|cost| Money(cost.0 / agents)),
            ..left
        }
    }

    /// What is left of the limits: nothing that this run calls may use more.
    pub fn limits_left(&self) -> Limits {
        let limits = &self.config().limits;
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
