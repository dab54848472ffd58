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
    /// The newest call whose result the request brought.
    pub(super) after: Option<(u32, u32)>,
    /// As the client called it.
    pub(super) model: String,
    /// Seconds since the Unix epoch.
    pub(super) created: u64,
}

impl Ticket {
    /// What names this answer of the run: there is one to the first request, and one to each that brings results.
    pub(super) fn name(&self) -> String {
        match self.after {
            None => self.run.to_string(),
            Some((turn, call)) => format!("{}_{turn}_{call}", self.run),
        }
    }

    /// The run whose answer has this name.
    pub(super) fn run_of(name: &str) -> Option<RunId> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let mut parts = name.rsplitn(3, '_');
        let run = match (parts.next(), parts.next(), parts.next()) {
            (Some(call), Some(turn), Some(run)) if is_number(call) && is_number(turn) => run,
            _ => name,
        };
        RunId::new(run).ok()
    }
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
