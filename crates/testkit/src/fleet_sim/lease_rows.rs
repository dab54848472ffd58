//! The rows of the server: workers with their leases, and the head of each run with the epoch of its last claim.

use std::collections::BTreeMap;
use std::time::Duration;

use bonded_kernel::{Entry, Head, RunId};

/// The states that a run can be in, as in `crates/postgres/src/keys.rs`.
pub(super) const QUEUED: i16 = 0;
pub(super) const DRIVEN: i16 = 1;
pub(super) const ENDED: i16 = 3;

/// A process, as the server knows it.
#[derive(Clone, Debug)]
pub(super) struct LeaseRow {
    /// Which life of which process; only the judge looks at it.
    pub(super) life: u64,
    /// By the server's clock.
    pub(super) expires: Duration,
    pub(super) dead: bool,
}

#[derive(Clone, Debug)]
pub(super) struct DriveRow {
    pub(super) epoch: i64,
    pub(super) worker: Option<i64>,
    pub(super) state: i16,
    pub(super) log: Vec<Entry>,
}

impl DriveRow {
    pub(super) fn head(&self) -> Head {
        self.log.last().map_or(Head::EMPTY, Entry::head)
    }
}

/// Everything that a failover may take back to an earlier state.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseRows {
    pub(super) workers: BTreeMap<i64, LeaseRow>,
    pub(super) drives: BTreeMap<RunId, DriveRow>,
}

impl LeaseRows {
    /// Whether this is the row of a process whose lease lasts.
    pub(super) fn lives(&self, worker: i64, now: Duration) -> bool {
        let row = self.workers.get(&worker);
        row.is_some_and(|row| !row.dead && row.expires > now)
    }

    pub(super) fn is_dead(&self, worker: i64) -> bool {
        self.workers.get(&worker).is_some_and(|row| row.dead)
    }

    /// Who holds the run on a lease that lasts.
    pub(super) fn holder(&self, run: &RunId, now: Duration) -> Option<&LeaseRow> {
        let worker = self.drives.get(run)?.worker?;
        self.workers
            .get(&worker)
            .filter(|_| self.lives(worker, now))
    }

    pub(super) fn has_ended(&self, run: &RunId) -> bool {
        self.drives.get(run).is_some_and(|row| row.state == ENDED)
    }
}
