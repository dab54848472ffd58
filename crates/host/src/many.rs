//! Many runs in one process.
//!
//! Each run is a task of its own, so that one that panics takes no other with it. Results come as they
//! are ready and not in the order of the goals.

use std::sync::Arc;

use bonded_kernel::{Run, RunId};
use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use tokio_util::sync::CancellationToken;

use crate::error::HostError;
use crate::host::{Goal, Host};

/// One of many: a goal under an id.
#[derive(Clone, Debug)]
pub struct Many {
    /// Chosen by the caller; the same list must give the same ids to be gone on with.
    pub id: RunId,
    /// What it is to do.
    pub goal: Goal,
}

/// Drives the runs, at most `jobs` at a time, and gives each result as it comes. A goal whose id has a
/// run already continues that one, so the same list can be given again after a crash.
///
/// Goals are drawn as places become free, so that a long list is never in memory as a whole.
pub fn many(
    host: Arc<Host>,
    goals: impl Iterator<Item = Many>,
    jobs: usize,
    cancel: CancellationToken,
) -> impl Stream<Item = (RunId, Result<Run, HostError>)> {
    stream::iter(goals)
        .map(move |one| {
            let (host, cancel) = (host.clone(), cancel.clone());
            let id = one.id.clone();
            let task = tokio::spawn(async move { host.run_as(one.id, one.goal, cancel).await });
            async move {
                match task.await {
                    Ok(result) => (id, result),
                    Err(error) => {
                        let message = error.to_string();
                        let run = id.clone();
                        (id, Err(HostError::Panicked { run, message }))
                    }
                }
            }
        })
        .buffer_unordered(jobs.max(1))
}
