//! The logs of a run and of the agents that it called.
//!
//! An item's run may call agents, each with a run and a log of its own. What an item did is all of them
//! together: its calls are counted over all, its capsule covers all, and a replay needs the replies of all in
//! the order in which they were asked for.

use std::collections::VecDeque;

use bonded_kernel::{Entry, Reply, RunId, recorded_reply};
use bonded_state::{Store, StoreError};

use bonded_host::accounting::Bookkeeper;

/// The log of a run, then those of the agents that it called, in the order in which they were called. Nothing where
/// the run has not begun.
///
/// A run that was called and never began has no log and is passed over.
pub(crate) async fn logs(store: &dyn Store, run: &RunId) -> Result<Vec<Vec<Entry>>, StoreError> {
    let mut logs = vec![];
    let mut open = vec![run.clone()];
    while let Some(run) = open.pop() {
        if store.head(&run).await?.is_none() {
            continue;
        }
        let log = store.load(&run, 0).await?;
        let mut called: Vec<RunId> = called(&log).into_iter().flatten().collect();
        called.reverse();
        open.append(&mut called);
        logs.push(log);
    }
    Ok(logs)
}

/// For each entry the run that it calls.
///
/// The books tell which call of a log started which run.
fn called(log: &[Entry]) -> Vec<Option<RunId>> {
    let mut books = Bookkeeper::default();
    let child = |entry| {
        books.take(entry);
        books.child(entry)
    };
    log.iter().map(child).collect()
}

/// What a log says that a replay needs.
///
/// In the order of the log, so that a replay meets them as the run did.
enum LogPiece {
    Reply(Box<Reply>),
    Called(RunId),
}

fn pieces(log: &[Entry]) -> VecDeque<LogPiece> {
    let mut pieces = VecDeque::new();
    for (at, called) in called(log).into_iter().enumerate() {
        let reply = recorded_reply(log, at).map(Box::new);
        pieces.extend(reply.map(LogPiece::Reply));
        pieces.extend(called.map(LogPiece::Called));
    }
    pieces
}

/// Every reply that a run and the agents that it called were given, in the order in which they were asked for.
pub(crate) async fn replies(store: &dyn Store, run: &RunId) -> Result<Vec<Reply>, StoreError> {
    let mut replies = vec![];
    // The last one is read; those before it wait for the agent that they called.
    let mut open = vec![VecDeque::from([LogPiece::Called(run.clone())])];
    while let Some(log) = open.last_mut() {
        match log.pop_front() {
            None => drop(open.pop()),
            Some(LogPiece::Reply(reply)) => replies.push(*reply),
            Some(LogPiece::Called(run)) => {
                if store.head(&run).await?.is_some() {
                    open.push(pieces(&store.load(&run, 0).await?));
                }
            }
        }
    }
    Ok(replies)
}
