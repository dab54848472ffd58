//! What a worker takes from queues, and what it remembers between two takes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// What a worker offers, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOffer {
    /// The queues that it takes runs from.
    pub queues: Vec<String>,
    /// What it has that a run can need.
    pub labels: Vec<String>,
    /// How many runs it drives at once.
    pub concurrent: i32,
}

/// Runs become visible a little later than the time from which they are ready.
const MARGIN: Duration = Duration::from_secs(1);

/// How far the runs of each lane have been taken. What lies before was taken, and its places in the index are walked
/// through until they are vacuumed; who begins there does not.
#[derive(Debug, Default)]
pub(crate) struct Taking {
    marks: Mutex<BTreeMap<i32, SystemTime>>,
}

impl Taking {
    fn marks(&self) -> MutexGuard<'_, BTreeMap<i32, SystemTime>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mark(&self, lane: i32, ready: SystemTime) {
        self.marks().insert(lane, ready - MARGIN);
    }

    /// From where on to look in each lane.
    pub(crate) fn columns(&self) -> (Vec<i32>, Vec<SystemTime>) {
        self.marks().iter().unzip()
    }

    /// The next look is at everything.
    pub(crate) fn forget(&self) {
        self.marks().clear();
    }
}
