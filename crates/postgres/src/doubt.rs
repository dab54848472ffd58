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
pub(crate) struct Doubts {
    known: Mutex<BTreeMap<RunId, Doubt>>,
    /// Held by who settles one: it is settled once.
    pub(crate) settling: tokio::sync::Mutex<()>,
}

impl Doubts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<RunId, Doubt>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
            Ok(_) => self.end(append.run()),
            // Another append that was refused says nothing of it.
            Err(_) if self.get(append.run()).is_some_and(|it| it.after == after) => {
                self.end(append.run());
            }
            Err(_) => {}
        }
        done
    }
}
