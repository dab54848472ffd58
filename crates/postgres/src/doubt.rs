//! Appends of which this process does not know whether they were carried out, because the server was away for too long.
//!
//! Whoever asked for such an append looks next at where the log stands. What can be read then may not be on the standby yet,
//! and would be gone after a failover: so it is not read but settled, by a write that is answered when all before it is as
//! durable as an answer must be, and that makes the claim of this process a new one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Head, RunId};
use bonded_state::{Append, StoreError};

/// An append that may have been carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    /// Where the log stands if it was.
    pub(crate) after: Head,
    /// Who holds the run then, if it began with this append.
    pub(crate) worker: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct Doubts(Mutex<BTreeMap<RunId, Doubt>>);

impl Doubts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<RunId, Doubt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, run: &RunId) -> Option<Doubt> {
        self.all().get(run).copied()
    }

    pub(crate) fn end(&self, run: &RunId) {
        self.all().remove(run);
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
            Ok(_) | Err(_) => self.end(append.run()),
        }
        done
    }
}
