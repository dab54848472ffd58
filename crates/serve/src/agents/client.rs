//! A client that waits for a run.

use std::sync::Arc;

use bonded_kernel::RunId;
use tokio::sync::watch;

use super::answer::{self, Ended};
use super::runs::Runs;

/// What every part of an answer names.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    /// The run that answers.
    pub(super) run: RunId,
    /// As the client called it.
    pub(super) model: String,
    /// Seconds since the Unix epoch.
    pub(super) created: u64,
}

/// A client's share in a run. Dropping it means that the client is gone, and a run without clients is
/// cancelled.
#[derive(Debug)]
pub(crate) struct Client {
    /// The run that is waited for.
    pub(crate) run: RunId,
    /// Tells this drive of the run from an earlier one.
    pub(super) drive: u64,
    /// Holds the end as soon as there is one.
    pub(super) ended: watch::Receiver<Option<Ended>>,
    /// Told when the client goes.
    pub(super) runs: Arc<Runs>,
}

impl Client {
    /// Waits for the end of the run.
    /// May be asked again after it was answered: the end stays.
    pub(crate) async fn ended(&mut self) -> Ended {
        match self.ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or_else(lost),
            Err(_) => lost(),
        }
    }
}

impl Drop for Client {
    /// A connection that breaks drops its client, and the last one takes the run with it.
    fn drop(&mut self) {
        self.runs.leave(&self.run, self.drive);
    }
}

/// The task that drove the run is gone without a word.
fn lost() -> Ended {
    Err(answer::internal(
        "the run was lost; `bonded runs` shows where it stands",
    ))
}
