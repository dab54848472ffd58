//! What a run does, read from its log: turns, the names of tools, and what a model says of its progress for
//! just this purpose; nothing else that it wrote.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::sync::Arc;

use bonded_kernel::{Entry, RunId};
use bonded_state::{Store, StoreError};

use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::brief;

/// A longer line is cut: it is for a person who waits.
const PROGRESS_CHARS: usize = 200;

/// Follows one run.
pub(crate) struct Follower {
    store: Arc<dyn Store>,
    /// The run whose log is read.
    run: RunId,
    /// The last entry that was told.
    after: u64,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Follower({} after {})", self.run, self.after)
    }
}

impl Follower {
    /// From an entry of the log on, which is not told itself.
    pub(crate) fn new(store: Arc<dyn Store>, run: RunId, after: u64) -> Self {
        Self { store, run, after }
    }

    /// Waits until there is more in the log, and tells it.
    pub(crate) async fn next(&mut self) -> Result<Vec<String>, StoreError> {
        self.store.changed(&self.run, self.after).await?;
        self.catch_up().await
    }

    /// Tells what is there.
    pub(crate) async fn catch_up(&mut self) -> Result<Vec<String>, StoreError> {
        let entries = self.store.load(&self.run, self.after).await?;
        if let Some(last) = entries.last() {
            self.after = last.seq;
        }
        Ok(entries.iter().filter_map(line).collect())
    }
}

/// None for what says nothing to somebody who waits. Only the first attempt of a turn is told.
fn line(entry: &Entry) -> Option<String> {
    let turn = entry.turn;
    match Activity::of(entry) {
        Activity::Asking { attempt: 1, .. } => Some(format!("turn {turn}")),
        Activity::Calling { tool, .. } => Some(format!("turn {turn}: {tool}")),
        Activity::Progress(progress) => {
            Some(format!("turn {turn}: {}", brief(progress, PROGRESS_CHARS)))
        }
        Activity::Started(_)
        | Activity::Asking { .. }
        | Activity::Answered(_)
        | Activity::Failed(_)
        | Activity::CallOver { .. }
        | Activity::Ended
        | Activity::Goal(_)
        | Activity::Person(_)
        | Activity::Quiet => None,
    }
}
