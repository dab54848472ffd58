//! Appends of which this process does not know whether they were carried out, because the server was away for too long.
//!
//! Whoever asked for such an append looks next at where the log stands. What can be read then may not be on the standby yet,
//! and would be gone after a failover: so it is not read but settled, by a write that is answered when all before it is as
//! durable as an answer must be, and that makes the claim of this process a new one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Head, RunId};
use bonded_state::{Append, StoreError};

use crate::keys::HeldRun;
use crate::server::Server;

/// An append that may have been carried out.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Where the log stands if it was.
    after: Head,
    /// Who holds the run then, if it began with this append.
    worker: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct Doubts(Mutex<BTreeMap<RunId, Doubt>>);

impl Doubts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<RunId, Doubt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what came of an append, which began its run if a worker is named.
    pub(crate) fn note<T>(
        &self,
        append: &Append,
        worker: Option<i64>,
        done: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let after = append.head;
        match &done {
            Err(error) if error.may_pass() => {
                let doubt = Doubt { after, worker };
                self.all().insert(append.run().clone(), doubt);
            }
            Ok(_) | Err(_) => {
                self.all().remove(append.run());
            }
        }
        done
    }
}

impl Server {
    /// Where the log of a run stands, if an append of this process is in doubt.
    pub(crate) async fn settle_doubt(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        let Some(doubt) = self.doubts.all().get(run).copied() else {
            return Ok(None);
        };
        let (key, goal) = match self.get(run).await {
            Ok(known) => known,
            // It did not begin, and may be begun again.
            Err(StoreError::UnknownRun { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let began = doubt.worker.map(|worker| HeldRun {
            key,
            goal,
            worker,
            epoch: 1,
            turn: Default::default(),
        });
        let held = self.held.get(run).or(began);
        let settled = self.settle_at(run, doubt.after, key, held.as_ref()).await;
        let (head, _) = settled?;
        self.doubts.all().remove(run);
        Ok(Some(head))
    }
}
