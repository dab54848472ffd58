//! The lease of this process: a row that says until when it lives, by the server's clock.
//!
//! The server's clock decides when others may take over. This process counts for itself how long it may go on: from before
//! it sent the last renewal that was answered, by a clock that runs while the machine sleeps, and a little less than the
//! lease, so that what it does has stopped when another process begins.

use std::time::Duration;

use bonded_kernel::RunId;
use bonded_state::{LeaseTerms, StoreError};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Mutex, watch};

use crate::keys::HeldRun;

/// The time since the machine started. It runs on while the machine sleeps, unlike that of the standard library.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

/// How this process stands with the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// The row of this process; none before it holds a run, and after it has lost its lease.
    worker: Option<i64>,
    /// Until when it may go on.
    pub(crate) until: Duration,
    /// Why the last renewal failed.
    pub(crate) why: String,
}

impl Standing {
    fn holds(&self, worker: i64) -> bool {
        self.worker == Some(worker) && now() < self.until
    }
}

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) terms: LeaseTerms,
    pub(crate) standing: watch::Sender<Standing>,
    /// Taken by who makes the row, so that there is one.
    pub(crate) making: Mutex<()>,
}

impl Lease {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            terms: LeaseTerms { length },
            standing: watch::Sender::default(),
            making: Mutex::default(),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// The row of this process, if it has one.
    pub(crate) fn worker(&self) -> Option<i64> {
        self.standing.borrow().worker
    }

    /// Whether this process still holds what it held as this worker.
    pub(crate) fn holds(&self, worker: i64) -> bool {
        self.standing.borrow().holds(worker)
    }

    /// How this process stands as this worker, after a renewal that was sent then.
    pub(crate) fn renewed(&self, worker: i64, sent: Duration) -> Standing {
        Standing {
            worker: Some(worker),
            until: self.terms.until(sent),
            why: "the process was stopped".into(),
        }
    }

    /// Changes how this worker stands, unless the process has become another one meanwhile.
    pub(crate) fn change(&self, worker: i64, change: impl FnOnce(&mut Standing)) {
        self.standing.send_if_modified(|standing| {
            let is_ours = standing.worker == Some(worker);
            if is_ours {
                change(standing);
            }
            is_ours
        });
    }

    pub(crate) fn lose(&self, worker: i64, why: Option<&str>) {
        self.change(worker, |standing| {
            let why = why.map_or_else(|| std::mem::take(&mut standing.why), str::to_owned);
            *standing = Standing {
                why,
                ..Standing::default()
            };
        });
    }

    /// Has those who wait for a loss look again.
    pub(crate) fn wake(&self) {
        self.standing.send_modify(|_| {});
    }

    /// Resolves when what was held as this worker is lost, with an error where the lease is. The clock is looked at whenever
    /// this is polled, and not only when the alarm rings: a process that was stopped finds out before it does anything else.
    pub(crate) async fn lost(
        &self,
        run: &RunId,
        held: &HeldRun,
        is_held: impl Fn() -> bool,
    ) -> Result<(), StoreError> {
        let mut changes = self.standing.subscribe();
        let alarm = async {
            loop {
                let left = changes.borrow_and_update().until.saturating_sub(now());
                tokio::select! {
                    () = tokio::time::sleep(left.max(Duration::from_millis(1))) => {}
                    changed = changes.changed() => if changed.is_err() {
                        std::future::pending::<()>().await;
                    },
                }
            }
        };
        let mut alarm = std::pin::pin!(alarm);
        std::future::poll_fn(|context| {
            if !self.holds(held.worker) || !is_held() {
                return std::task::Poll::Ready(());
            }
            alarm.as_mut().poll(context)
        })
        .await;
        if self.holds(held.worker) {
            return Ok(());
        }
        Err(StoreError::LeaseLost {
            run: run.clone(),
            why: self.standing().why,
        })
    }
}
