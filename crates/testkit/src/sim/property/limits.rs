//! The hard limits, counted from the log without the kernel's own counters.

use std::collections::BTreeMap;

use bonded_kernel::{
    BATCH, Entry, Event, FINAL_REPORT, FailureClass, Money, Price, Reserve, RunConfig, Usage,
};

use crate::sim::history::History;
use crate::sim::pursued::Pursued;

/// How long a step may keep a run past its deadline: the store's delays, and the pauses between its tries.
const LATE_MS_MAX: u64 = 10_000;

/// Counts the entries of each turn that pass.
fn per_turn(history: &History, passes: impl Fn(&Event) -> bool) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    for entry in history.entries.iter().filter(|entry| passes(&entry.event)) {
        *counts.entry(entry.turn).or_default() += 1;
    }
    counts
}

fn within(what: &str, counts: &BTreeMap<u32, u32>, max: u32) -> Result<(), String> {
    match counts.iter().find(|(_, count)| **count > max) {
        Some((turn, count)) => Err(format!("{count} {what} in turn {turn}, the cap is {max}")),
        None => Ok(()),
    }
}

pub(super) fn turns_stay_within_the_cap(history: &History) -> Result<(), String> {
    let mut decisions = per_turn(history, |event| matches!(event, Event::DecisionMade(_)));
    let attempts_max = history.config.limits.attempts_per_turn_max;
    for goal in history.pursued() {
        // The last turn goes on while attempts are left.
        let last = goal.last_turn();
        let of_last = decisions.remove(&last).unwrap_or(0);
        within("decisions", &[(last, of_last)].into(), attempts_max)?;
        let max = goal.turn_max(history).max(goal.turns_before);
        if last > max {
            return Err(format!("turn {last} of {max}"));
        }
    }
    within("decisions", &decisions, 1)
}

pub(super) fn calls_stay_within_the_cap(history: &History) -> Result<(), String> {
    let max = history.config.limits.calls_per_turn_max;
    // An agent's report takes no place under the cap, and a batch is counted by its members.
    let takes_place = |tool: &str| tool != FINAL_REPORT && tool != BATCH;
    let invoked = per_turn(
        history,
        |event| matches!(event, Event::ToolInvoked { tool, .. } if takes_place(tool)),
    );
    within("invoked calls", &invoked, max)?;
    let mut executed: BTreeMap<u32, u32> = BTreeMap::new();
    let mut keys: Vec<(&str, u32)> = vec![];
    for execution in &history.executions {
        keys.push((&execution.key, execution.turn));
    }
    keys.sort_unstable();
    keys.dedup();
    for (_, turn) in keys {
        *executed.entry(turn).or_default() += 1;
    }
    within("executed calls", &executed, max)
}

pub(super) fn attempts_stay_within_the_cap(history: &History) -> Result<(), String> {
    let max = history.config.limits.attempts_per_turn_max;
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut interrupted, mut sums_up) = (0, false);
    for entry in &history.entries {
        let count = counts.entry(entry.turn).or_default();
        match &entry.event {
            Event::AttemptStarted { summary, .. } => {
                sums_up = summary.is_some();
                *count += u32::from(!sums_up);
            }
            Event::AttemptFailed(failed) if failed.class == FailureClass::Interrupted => {
                *count = count.saturating_sub(u32::from(!sums_up));
                interrupted += 1;
            }
            // How many there are of these is a property of its own.
            Event::TargetLearned { .. } => *count = count.saturating_sub(1),
            _ => {}
        }
    }
    within("attempts", &counts, max)?;
    let stops = |entry: &&Entry| matches!(entry.event, Event::RunResumed {} | Event::RunEnded(_));
    let stops = history.entries.iter().filter(stops).count() + 1;
    if interrupted > stops {
        return Err(format!(
            "{interrupted} attempts were interrupted by {stops} stops"
        ));
    }
    Ok(())
}

/// What the requests of a run used, booked anew from the log.
#[derive(Default)]
struct Account {
    usage: Usage,
    cost: Money,
    reserved: Reserve,
    price: Option<Price>,
    /// A provider said that it used more than the reserve.
    exceeded: bool,
}

impl Account {
    fn take(&mut self, history: &History, event: &Event) {
        match event {
            Event::AttemptStarted {
                target, reserved, ..
            } => {
                self.reserved = *reserved;
                let target = history.config.targets.get(*target as usize);
                self.price = target.and_then(|target| target.price);
            }
            // Nobody knows what a request used that was cut off, so it counts in full.
            Event::AttemptFailed(failed)
                if failed.billable || failed.class == FailureClass::Interrupted =>
            {
                self.book(None);
            }
            Event::ReplyRejected { answer, .. } => self.book(answer.usage),
            Event::DecisionMade(decision) => self.book(decision.answer.usage),
            Event::ContextSummarised(made) => self.book(made.answer.usage),
            _ => {}
        }
    }

    fn book(&mut self, reported: Option<Usage>) {
        let usage = reported.unwrap_or_else(|| self.reserved.usage());
        let cost = match (reported, self.price) {
            (Some(usage), Some(price)) => price.of(&usage),
            _ => self.reserved.cost,
        };
        self.exceeded |= usage.input > self.reserved.input || usage.output > self.reserved.output;
        self.usage.add(&usage);
        self.cost = self.cost.plus(cost);
    }
}

/// Before every request there is room for the worst that it can use.
pub(super) fn nothing_is_asked_beyond_the_budget(history: &History) -> Result<(), String> {
    let mut account = Account::default();
    for goal in history.pursued() {
        let max = Budget::of(history, &goal, &account);
        for entry in goal.entries {
            account.take(history, &entry.event);
            let Event::AttemptStarted { reserved, .. } = &entry.event else {
                continue;
            };
            let tokens = account.usage.total() + reserved.usage().total();
            let cost = account.cost.plus(reserved.cost);
            // Without a price nobody knows what a request costs.
            let cost = account.price.map(|_| cost);
            if max.is_exceeded(tokens, cost) {
                let seq = entry.seq;
                return Err(format!(
                    "entry {seq} may bring the run to {tokens} tokens and {cost:?}"
                ));
            }
        }
    }
    Ok(())
}

/// What the run may have used when a goal ends: that of the goal, and that of all goals together.
#[derive(Default)]
struct Budget {
    tokens: Vec<u64>,
    cost: Vec<Money>,
}

impl Budget {
    fn of(history: &History, goal: &Pursued<'_>, used: &Account) -> Self {
        let tokens = goal.limits.tokens_max;
        let tokens = tokens.map(|max| max.saturating_add(used.usage.total()));
        let cost = goal.limits.cost_max.map(|max| max.plus(used.cost));
        let (all_tokens, all_cost) = match &history.config.overall {
            Some(overall) => (overall.tokens_max, overall.cost_max),
            None => {
                let limits = &history.config.limits;
                (limits.tokens_max, limits.cost_max)
            }
        };
        Self {
            tokens: tokens.into_iter().chain(all_tokens).collect(),
            cost: cost.into_iter().chain(all_cost).collect(),
        }
    }

    fn is_exceeded(&self, tokens: u64, cost: Option<Money>) -> bool {
        let over_tokens = self.tokens.iter().any(|max| tokens > *max);
        over_tokens || cost.is_some_and(|cost| self.cost.iter().any(|max| cost > *max))
    }
}

/// What is reserved is a true upper bound: only a provider that miscounts can exceed it.
pub(super) fn the_reserve_covers_every_honest_request(history: &History) -> Result<(), String> {
    let mut account = Account::default();
    for entry in &history.entries {
        account.take(history, &entry.event);
        if account.exceeded && !history.provider_lies {
            let (seq, reserved) = (entry.seq, account.reserved);
            return Err(format!(
                "entry {seq} used more than {reserved:?}: {:?}",
                entry.event
            ));
        }
    }
    Ok(())
}

/// Where no provider reports more than was reserved, the whole run stays within its budget.
pub(super) fn honest_spending_stays_within_the_budget(history: &History) -> Result<(), String> {
    let mut account = Account::default();
    let mut exceeded = None;
    for goal in history.pursued() {
        let max = Budget::of(history, &goal, &account);
        for entry in goal.entries {
            account.take(history, &entry.event);
        }
        let (tokens, cost) = (account.usage.total(), account.cost);
        if max.is_exceeded(tokens, Some(cost)) {
            exceeded.get_or_insert(format!("{tokens} tokens and {cost} were spent"));
        }
    }
    let spend = history.live.as_ref().map(|run| run.spend());
    if let Some(spend) = spend
        && (spend.usage, spend.cost) != (account.usage, account.cost)
    {
        let (usage, cost) = (account.usage, account.cost);
        return Err(format!(
            "the run says {spend:?}, the log says {usage:?} and {cost}"
        ));
    }
    if account.exceeded {
        return Ok(());
    }
    exceeded.map_or(Ok(()), Err)
}

pub(super) fn elapsed_time_stays_within_the_limit(history: &History) -> Result<(), String> {
    let config = &history.config;
    let all = match &config.overall {
        Some(overall) => overall.elapsed_ms_max,
        None => config.limits.elapsed_ms_max,
    };
    for goal in history.pursued() {
        let ended = goal.entries.last().and_then(|entry| entry.event.ended());
        let Some(ended) = ended else { continue };
        let before_ms = goal.elapsed_before_ms;
        let own = goal.limits.elapsed_ms_max;
        let own = own.map(|max| max.saturating_add(before_ms));
        // A goal that is given when nothing is left ends at once.
        let all = all.map(|max| max.max(before_ms));
        let (elapsed, jumped) = (ended.elapsed_ms, history.jumped_ms);
        for max in own.into_iter().chain(all) {
            if elapsed > max + jumped + LATE_MS_MAX {
                return Err(format!(
                    "{elapsed} ms of {max} ms, {jumped} ms of them jumped over"
                ));
            }
        }
    }
    Ok(())
}

/// The targets that a limit of one of them holds for: for agents all that share its key.
fn limited_with(config: &RunConfig, target: u32) -> Vec<u32> {
    let key_of = |index: u32| {
        let target = config.targets.get(index as usize)?;
        let key = target.key_env.clone()?;
        Some((key, target.provider.clone(), target.endpoint.clone()))
    };
    let all = 0..config.targets.len() as u32;
    let key = key_of(target).filter(|_| config.agent.is_some());
    let shares = |other: &u32| *other == target || key.is_some() && key_of(*other) == key;
    all.filter(shares).collect()
}

/// A target that said how long it wants to be left alone is left alone.
pub(super) fn rate_limits_are_honoured(history: &History) -> Result<(), String> {
    let mut free_at = BTreeMap::new();
    let mut asked = 0;
    for entry in &history.entries {
        match &entry.event {
            Event::AttemptStarted { target, .. } => {
                asked = *target;
                if free_at.get(target).is_some_and(|at| entry.at < *at) {
                    return Err(format!(
                        "entry {} asks target {target} too early",
                        entry.seq
                    ));
                }
            }
            Event::AttemptFailed(failed) if failed.class == FailureClass::RateLimit => {
                let floor_ms = if history.config.agent.is_some() {
                    1_000
                } else {
                    0
                };
                let wait_ms = failed.retry_after_ms.unwrap_or(1_000).max(floor_ms);
                for target in limited_with(&history.config, asked) {
                    free_at.insert(target, entry.at.plus(wait_ms));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A run asks for a summary three times for a goal at most, and never for two without a decision between them.
pub(super) fn summaries_are_few(history: &History) -> Result<(), String> {
    history
        .pursued()
        .iter()
        .try_for_each(|goal| few_summaries(history, goal))
}

fn few_summaries(history: &History, goal: &Pursued<'_>) -> Result<(), String> {
    let may_be = history.config.context_summary || goal.sums_up;
    let (mut asked, mut is_due, mut sums_up) = (0, true, false);
    for entry in goal.entries {
        match &entry.event {
            Event::AttemptStarted { summary, .. } => {
                sums_up = summary.is_some();
                if !sums_up {
                    continue;
                }
                asked += 1;
                if asked > 3 || !is_due || !may_be {
                    return Err(format!("entry {} asks for one more", entry.seq));
                }
                is_due = false;
            }
            Event::AttemptFailed(failed)
                if sums_up && failed.class == FailureClass::Interrupted =>
            {
                (asked, is_due) = (asked - 1, true);
            }
            Event::DecisionMade(_) => is_due = true,
            _ => {}
        }
    }
    Ok(())
}
