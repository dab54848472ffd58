//! The goals of a run, each with its part of the log: told from the log without the kernel's own counters.

use bonded_kernel::{Entry, Event, Limits};

use super::history::History;

/// One goal, from where it was given to its end.
#[derive(Clone, Debug)]
pub(crate) struct Pursued<'h> {
    pub(crate) entries: &'h [Entry],
    /// What may be used for it.
    pub(crate) limits: Limits,
    /// The last turn of the goal before it.
    pub(crate) turns_before: u32,
    /// What the run had used then, by the entry that ended the goal before it.
    pub(crate) elapsed_before_ms: u64,
    /// Whether a person wants a summary first.
    pub(crate) sums_up: bool,
}

impl Pursued<'_> {
    pub(crate) fn last_turn(&self) -> u32 {
        self.entries.last().map_or(0, |entry| entry.turn)
    }

    /// The most turns that the run may have had when it ends: those of the goal, and of all goals together.
    pub(crate) fn turn_max(&self, history: &History) -> u32 {
        let own = self.limits.turns_max.saturating_add(self.turns_before);
        let all = match history.config.overall {
            Some(overall) => overall.turns_max,
            None => Some(history.config.limits.turns_max),
        };
        all.map_or(own, |all| all.min(own))
    }
}

impl History {
    /// Every goal in turn.
    pub(crate) fn pursued(&self) -> Vec<Pursued<'_>> {
        let mut goals = vec![];
        let (mut from, mut limits, mut sums_up) = (0, self.config.limits.clone(), false);
        let (mut turns, mut elapsed_ms) = (0, 0);
        let is_goal = |entry: &Entry| matches!(entry.event, Event::GoalGiven(_));
        let begins = (0..self.entries.len()).filter(|at| is_goal(&self.entries[*at]));
        let ends: Vec<usize> = begins.chain([self.entries.len()]).collect();
        for until in ends {
            let entries = &self.entries[from..until];
            goals.push(Pursued {
                entries,
                limits: limits.clone(),
                turns_before: turns,
                elapsed_before_ms: elapsed_ms,
                sums_up,
            });
            let end = entries.last().and_then(|entry| entry.event.ended());
            elapsed_ms = end.map_or(elapsed_ms, |end| end.elapsed_ms);
            turns = entries.last().map_or(turns, |entry| entry.turn);
            from = until;
            if let Some(Event::GoalGiven(given)) = self.entries.get(until).map(|it| &it.event) {
                limits = given.limits.clone();
                sums_up = given.sums_up;
            }
        }
        goals
    }
}
