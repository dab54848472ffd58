//! A fork: a new run that has the first turns of another one.

use crate::config::RunConfig;
use crate::entry::{Entry, Head, Header};
use crate::event::{Event, Origin};
use crate::id::RunId;

/// Makes the log of a new run that stands where `turn` of the given run began. The settings may differ
/// from there on. The tree that the tools work on is not touched: it is as the other run left it.
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
    let mut prev = Head::EMPTY.hash;
    let mut copies = Vec::with_capacity(taken.len());
    for entry in taken {
        let mut event = entry.event.clone();
        if let Event::RunStarted(started) = &mut event {
            started.forked_from = Some(origin.clone());
            if let Some(config) = config {
                started.config = config.clone();
            }
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
