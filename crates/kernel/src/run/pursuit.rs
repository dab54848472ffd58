//! The goal that a run pursues: where it began in the run, and what may be used until it is reached.
//!
//! What is counted is counted from the beginning of the run, and so are the limits that it is held against: those of a later
//! goal begin where the goal did, and none goes beyond what the run may use over all its goals. People are told of the goal
//! alone, unless it is the whole run whose limit was reached.

use super::Run;
use crate::budget::{Exhausted, Spend};
use crate::config::{Limits, OverallLimits};
use crate::event::GoalGiven;
use crate::money::Money;
use crate::text::Text;

/// The goal at hand.
#[derive(Clone, Debug)]
pub(crate) struct Pursuit {
    /// Counted from 1.
    pub(super) number: u32,
    pub(super) goal: Text,
    /// The place of its message in the conversation.
    pub(super) message: usize,
    /// What may be used for it, as it was given.
    limits: Limits,
    began: Used,
}

/// What the run had used when the goal was given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) turns: u32,
    pub(super) elapsed_ms: u64,
    pub(super) spend: Spend,
}

impl Pursuit {
    /// The goal that the run began with.
    pub(super) fn first(goal: &Text, limits: &Limits) -> Self {
        Self {
            number: 1,
            goal: goal.clone(),
            message: 0,
            limits: limits.clone(),
            began: Used::default(),
        }
    }

    /// The goal after this one.
    pub(super) fn next(&self, goal: Text, message: usize, given: &GoalGiven, began: Used) -> Self {
        Self {
            number: self.number.saturating_add(1),
            goal,
            message,
            limits: given.limits.clone(),
            began,
        }
    }

    /// The limits until it is reached, counted from the beginning of the run.
    pub(super) fn bounds(&self, overall: &OverallLimits) -> Limits {
        let Used {
            turns,
            elapsed_ms,
            spend,
        } = self.began;
        let limits = &self.limits;
        let from = |max: Option<u64>, used: u64| max.map(|max| max.saturating_add(used));
        let turns_max = limits.turns_max.saturating_add(turns);
        Limits {
            turns_max: overall.turns_max.map_or(turns_max, |it| it.min(turns_max)),
            elapsed_ms_max: least(
                from(limits.elapsed_ms_max, elapsed_ms),
                overall.elapsed_ms_max,
            ),
            tokens_max: least(
                from(limits.tokens_max, spend.usage.total()),
                overall.tokens_max,
            ),
            cost_max: least(
                limits.cost_max.map(|max| max.plus(spend.cost)),
                overall.cost_max,
            ),
            ..limits.clone()
        }
    }

    /// Says that the time is over.
    pub(crate) fn out_of_time(&self, elapsed_ms: u64, max: u64) -> String {
        let began = self.began.elapsed_ms;
        let is_own = self
            .limits
            .elapsed_ms_max
            .map(|own| own.saturating_add(began))
            == Some(max);
        let before = if is_own { began } else { 0 };
        let (elapsed_ms, max) = (
            elapsed_ms.saturating_sub(before),
            max.saturating_sub(before),
        );
        let whole = self.of_the_whole(is_own);
        format!("{elapsed_ms} ms passed{whole}, the limit is {max} ms")
    }

    /// The turns that count against its limit.
    pub(crate) fn turns(&self, turn: u32, max: u32) -> u32 {
        match self.limits.turns_max.saturating_add(self.began.turns) == max {
            true => turn.saturating_sub(self.began.turns),
            false => turn,
        }
    }

    /// Says that a budget does not suffice.
    pub(crate) fn out_of_budget(&self, exhausted: &Exhausted) -> String {
        let began = self.began.spend;
        match *exhausted {
            Exhausted::Tokens { spent, held, max } => {
                let before = began.usage.total();
                let is_own =
                    self.limits.tokens_max.map(|own| own.saturating_add(before)) == Some(max);
                let left = |it: u64, before: u64| {
                    if is_own {
                        it.saturating_sub(before)
                    } else {
                        it
                    }
                };
                let exhausted = Exhausted::Tokens {
                    spent: left(spent, before),
                    held: left(held, began.held.usage.total()),
                    max: left(max, before),
                };
                format!("{exhausted}{}", self.of_the_whole(is_own))
            }
            Exhausted::Cost { spent, held, max } => {
                let before = began.cost;
                let is_own = self.limits.cost_max.map(|own| own.plus(before)) == Some(max);
                let left = |it: Money, before: Money| if is_own { it.minus(before) } else { it };
                let exhausted = Exhausted::Cost {
                    spent: left(spent, before),
                    held: left(held, began.held.cost),
                    max: left(max, before),
                };
                format!("{exhausted}{}", self.of_the_whole(is_own))
            }
        }
    }

    /// Where the limit is not that of the goal at hand, it is that of the run.
    fn of_the_whole(&self, is_own: bool) -> &'static str {
        match is_own || self.number == 1 {
            true => "",
            false => " over all goals of the run",
        }
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Run {
    /// How many goals the run was given.
    pub fn goals(&self) -> u32 {
        self.pursuit.number
    }

    /// What the run was asked last: the goal that it pursues, or has ended with.
    pub fn goal_at_hand(&self) -> &Text {
        &self.pursuit.goal
    }

    /// What may be used for the goal at hand, as it was given.
    pub fn limits_of_goal(&self) -> &Limits {
        &self.pursuit.limits
    }

    /// What may be used over all goals, counted from the beginning of the run.
    pub fn overall_limits(&self) -> OverallLimits {
        self.setup.overall
    }

    /// The turns of earlier goals.
    pub fn turns_before(&self) -> u32 {
        self.pursuit.began.turns
    }

    /// What counted against the budget when the goal at hand was given.
    pub fn spend_before(&self) -> Spend {
        self.pursuit.began.spend
    }

    /// The time that the run had used when the goal at hand was given.
    pub fn elapsed_before_ms(&self) -> u64 {
        self.pursuit.began.elapsed_ms
    }
}
