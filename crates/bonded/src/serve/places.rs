//! How many runs go on at once, and how many wait for that.

use std::sync::Arc;

use bonded_host::CancellationToken;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::Refusal;

/// So many requests may wait for each run that goes on.
const WAITING_PER_RUN: usize = 10;

/// Places for runs, given in the order in which they were asked for.
#[derive(Debug)]
pub(super) struct Places {
    running: Arc<Semaphore>,
    /// Those that wait and those that run together.
    admitted: Arc<Semaphore>,
}

/// A place in the line.
#[derive(Debug)]
pub(super) struct Place {
    running: Arc<Semaphore>,
    admitted: OwnedSemaphorePermit,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(concurrency: usize) -> Self {
        let running = concurrency.clamp(1, Semaphore::MAX_PERMITS / (WAITING_PER_RUN + 1));
        Self {
            running: Arc::new(Semaphore::new(running)),
            admitted: Arc::new(Semaphore::new(running * (WAITING_PER_RUN + 1))),
        }
    }

    /// Stands in line, unless it is too long.
    pub(super) fn admit(&self) -> Result<Place, Refusal> {
        let admitted = self.admitted.clone().try_acquire_owned();
        Ok(Place {
            running: self.running.clone(),
            admitted: admitted.map_err(|_| Refusal::busy())?,
        })
    }
}

impl Place {
    /// Waits until it is this one's turn; `None` if it was cancelled before.
    pub(super) async fn wait(self, cancel: &CancellationToken) -> Option<Running> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            running = self.running.acquire_owned() => Some(Running {
                _running: running.ok()?,
                _admitted: self.admitted,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_that_wait_run_in_order_and_those_beyond_the_bound_are_refused() {
        let places = Places::new(1);
        let cancel = CancellationToken::new();
        let first = places.admit().expect("the line is empty");
        let first = first.wait(&cancel).await.expect("nobody is before it");
        let mut line: Vec<Place> = (0..WAITING_PER_RUN)
            .map(|_| places.admit().expect("there is room in the line"))
            .collect();
        assert!(places.admit().is_err());

        let second = line.remove(0).wait(&cancel);
        let mut second = std::pin::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(first);
        let second = second.await.expect("its turn has come");
        assert!(places.admit().is_ok());

        cancel.cancel();
        assert!(line.remove(0).wait(&cancel).await.is_none());
        drop(second);
    }
}
