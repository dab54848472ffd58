//! Queues of a store, in which runs wait for a process that drives them.

use std::sync::Arc;

use bonded_kernel::{Entry, RunId};
use futures_util::future::BoxFuture;

use crate::StoreError;

/// What is to be known of a run before it is queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Where it waits.
    pub queue: String,
    /// Whose it is: submitters take turns.
    pub submitter: String,
    /// The labels that its worker must have.
    pub needs: Vec<String>,
    /// The directory that its worker must have.
    pub dir: String,
    /// What its worker must have at hand beside that, in words.
    pub at_hand: Vec<String>,
    /// The agent whose run it is; empty where it has none.
    pub agent: String,
}

/// What a store can do beside keeping logs whose runs need not be driven where they begin.
///
/// A run of a queue is taken by one worker at a time. Who has queued it follows its log.
pub trait RunQueues: Send + Sync {
    /// Begins a run that a worker shall drive. Says whether it was begun: there may be one of this id already, and whoever
    /// submits it again changes nothing.
    fn submit(
        &self,
        entries: Arc<[Entry]>,
        submission: Submission,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Whether workers drive this run. One that has ended is nobody's.
    fn is_of_a_queue<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Queues a run that was set aside or postponed. One that is driven, or that is of no queue, stays as it is.
    fn wake<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>>;
}
