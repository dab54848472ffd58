//! A fork: a new run that has the first turns of another one.

use crate::config::RunConfig;
use crate::entry::{Entry, Head, Header};
use crate::event::{Event, GoalGiven, Origin};
use crate::id::RunId;

/// Makes the log of a new run that stands where `turn` of the given run began. The settings may differ
/// from there on: what is another than the run began with takes the place of what later goals brought, too. The tree that the tools work on is not touched: it is as the other run left it.
///
/// `None` when the run has no such turn.
pub fn fork(
    entries: &[Entry],
    id: &RunId,
    turn: u32,
    config: Option<&RunConfig>,
) -> Option<Vec<Entry>> {
    let begins = entries.iter().position(|entry| {
        entry.turn == turn && matches!(entry.event, Event::AttemptStarted { .. })
    })?;
    let taken = entries.get(..begins)?;
    let origin = Origin {
        run: taken.first()?.run.clone(),
        turn,
        head: taken.last()?.hash,
        entries: taken.len() as u64,
    };
    let is_goal = |entry: &Entry| matches!(entry.event, Event::GoalGiven(_));
    let last_goal = taken.iter().rposition(is_goal);
    let began = &taken.first()?.event.started()?.config;
    let mut prev = Head::EMPTY.hash;
    let mut copies = Vec::with_capacity(taken.len());
    for (at, entry) in taken.iter().enumerate() {
        let mut event = entry.event.clone();
        if let Event::RunStarted(started) = &mut event {
            started.forked_from = Some(origin.clone());
            if let Some(config) = config {
                started.config = config.clone();
            }
        }
        if let (Event::GoalGiven(given), Some(config)) = (&mut event, config) {
            settle(given, config, began, last_goal == Some(at));
        }
        let header = Header {
            format: entry.format,
            run: id.clone(),
            goal: entry.goal.clone(),
            seq: entry.seq,
            at: entry.at,
            turn: entry.turn,
            prev,
        };
        let copy = Entry::seal(header, event);
        prev = copy.hash;
        copies.push(copy);
    }
    Some(copies)
}

/// What is set anew for the whole holds for a goal that had been given before.
fn settle(given: &mut GoalGiven, config: &RunConfig, began: &RunConfig, is_last: bool) {
    if config.targets != began.targets {
        given.targets = None;
    }
    if config.policy != began.policy {
        given.policy = None;
    }
    if config.overall != began.overall {
        given.overall = None;
    }
    if config.limits != began.limits && is_last {
        given.limits.clone_from(&config.limits);
    }
}
