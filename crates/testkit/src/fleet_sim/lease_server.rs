//! The server: it carries statements out one after the other, whether or not anybody waits for them any more, and has a
//! standby that takes over with what it has.
//!
//! A write is answered when the standby has it, and seen by others from then on: so both change at once. Only where a
//! connection breaks during that wait is a write there before its standby has it; the next one waits for that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::RunId;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::fleet_plan::FleetSabotage;
use super::lease_rows::LeaseRows;
use super::statements::Transaction;

/// What a statement does.
pub(super) type Work = Box<dyn FnOnce(&mut Transaction<'_>) + Send>;

/// How a statement is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) is_write: bool,
    /// How long it waits for a lock.
    pub(super) lock: Duration,
    /// For how long the standby does not have it; its answer is lost.
    pub(super) lag: Option<Duration>,
}

#[derive(Debug, Default)]
struct Machines {
    primary: LeaseRows,
    /// What the standby has, where that is less.
    standby: Option<LeaseRows>,
    /// Counts the failovers: what was under way at an earlier primary is gone.
    term: u64,
    numbers: i64,
    /// How many statements wait for a lock or for the standby.
    waiting: u64,
    epochs: BTreeMap<RunId, i64>,
    wrong: Vec<String>,
}

#[derive(Debug)]
pub(super) struct LeaseServer {
    began: Instant,
    sabotage: FleetSabotage,
    machines: Mutex<Machines>,
    /// Told when the standby has caught up, or has taken over. Unlike other channels it wakes in the order of waiting.
    level: Notify,
}

impl LeaseServer {
    pub(super) fn new(sabotage: FleetSabotage) -> Self {
        Self {
            began: Instant::now(),
            sabotage,
            machines: Mutex::default(),
            level: Notify::new(),
        }
    }

    fn machines(&self) -> MutexGuard<'_, Machines> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's clock, which is never set: a lease could not be counted by one that is.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn complain(&self, wrong: String) {
        self.machines().wrong.push(wrong);
    }

    pub(super) fn wrong(&self) -> Vec<String> {
        self.machines().wrong.clone()
    }

    /// Looks at the rows as nobody in the world can.
    pub(super) fn look<T>(&self, look: impl FnOnce(&LeaseRows, Duration) -> T) -> T {
        look(&self.machines().primary, self.now())
    }

    /// Carries a statement out, in its time. Where the primary is lost before, it is gone.
    pub(super) fn send(self: &Arc<Self>, manner: Manner, work: Work) {
        let term = self.machines().term;
        if manner.lock.is_zero() && (!manner.is_write || self.machines().standby.is_none()) {
            return self.carry_out(manner, work);
        }
        let server = Arc::clone(self);
        self.machines().waiting += 1;
        tokio::spawn(async move {
            tokio::time::sleep(manner.lock).await;
            while manner.is_write && server.machines().standby.is_some() {
                server.level.notified().await;
            }
            server.machines().waiting -= 1;
            if server.machines().term == term {
                server.carry_out(manner, work);
            }
        });
    }

    fn carry_out(self: &Arc<Self>, manner: Manner, work: Work) {
        let mut machines = self.machines();
        let machines = &mut *machines;
        if let Some(lag) = manner.lag.filter(|_| manner.is_write) {
            machines.standby = Some(machines.primary.clone());
            self.catch_up_after(machines.term, lag);
        }
        work(&mut Transaction {
            rows: &mut machines.primary,
            now: self.now(),
            sabotage: self.sabotage,
            numbers: &mut machines.numbers,
            wrong: &mut machines.wrong,
        });
        if manner.is_write {
            machines.judge_epochs();
        }
    }

    fn catch_up_after(self: &Arc<Self>, term: u64, lag: Duration) {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(lag).await;
            let mut machines = server.machines();
            if machines.term == term {
                machines.standby = None;
                server.level.notify_waiters();
            }
        });
    }

    /// The standby takes over with what it has. Every connection breaks.
    pub(super) fn fail_over(&self) {
        let mut machines = self.machines();
        machines.term += 1;
        if let Some(standby) = machines.standby.take() {
            machines.primary = standby;
            // What was never answered was no claim.
            machines.epochs.clear();
        }
        self.level.notify_waiters();
    }

    /// Whether nothing is under way any more that went wrong.
    pub(super) fn is_level(&self) -> bool {
        let machines = self.machines();
        machines.waiting == 0 && machines.standby.is_none()
    }

    pub(super) fn is_behind(&self) -> bool {
        self.machines().standby.is_some()
    }
}

impl Machines {
    fn judge_epochs(&mut self) {
        for (run, row) in &self.primary.drives {
            let known = self.epochs.entry(run.clone()).or_default();
            if row.epoch < *known {
                self.wrong.push(format!("the epoch of {run} fell"));
            }
            *known = row.epoch;
        }
    }
}
