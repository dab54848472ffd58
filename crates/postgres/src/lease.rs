//! The lease of this process: a row that says until when it lives, by the server's clock.
//!
//! The server's clock decides when others may take over. This process counts for itself how long it may go on: from before
//! it sent the last renewal that was answered, by a clock that runs while the machine sleeps, and a little less than the
//! lease, so that what it does has stopped when another process begins.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::RunId;
use bonded_state::StoreError;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::connection;
use crate::keys::HeldRun;
use crate::server::{Server, SqlValues};

const REGISTER: &str = "INSERT INTO bonded.worker (name, expires, queues, labels, concurrent) \
     VALUES ($1, clock_timestamp() + $2::float8 * interval '1 second', $3, coalesce($4::text[], '{}'), $5) RETURNING id";

/// A lease that is over is never renewed: its runs may have been taken.
const RENEW: &str = "UPDATE bonded.worker SET expires = clock_timestamp() + $2::float8 * interval '1 second' \
     WHERE id = $1 AND NOT dead AND expires > clock_timestamp() RETURNING id";

const RETIRE: &str = "UPDATE bonded.worker SET dead = true WHERE id = $1 RETURNING id";

/// How often a lease is renewed while it lasts.
const RENEWALS: u32 = 3;

/// The part of a lease that is left for stopping.
const MARGIN: u32 = 10;

/// How long a process that ends waits to say so.
const FAREWELL: Duration = Duration::from_secs(2);

/// The time since the machine started. It runs on while the machine sleeps, unlike that of the standard library.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

/// How this process stands with the server.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// The row of this process; none before it holds a run, and after it has lost its lease.
    worker: Option<i64>,
    /// Until when it may go on.
    until: Duration,
    /// Why the last renewal failed.
    why: String,
}

impl Standing {
    fn holds(&self, worker: i64) -> bool {
        self.worker == Some(worker) && now() < self.until
    }
}

#[derive(Debug)]
pub(crate) struct Lease {
    length: Duration,
    standing: watch::Sender<Standing>,
    /// Taken by who makes the row, so that there is one.
    making: Mutex<()>,
}

impl Lease {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            standing: watch::Sender::default(),
            making: Mutex::default(),
        }
    }

    fn standing(&self) -> Standing {
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
    fn renewed(&self, worker: i64, sent: Duration) -> Standing {
        Standing {
            worker: Some(worker),
            until: sent + self.length - self.length / MARGIN,
            why: "the process was stopped".into(),
        }
    }

    /// Changes how this worker stands, unless the process has become another one meanwhile.
    fn change(&self, worker: i64, change: impl FnOnce(&mut Standing)) {
        self.standing.send_if_modified(|standing| {
            let is_ours = standing.worker == Some(worker);
            if is_ours {
                change(standing);
            }
            is_ours
        });
    }

    fn lose(&self, worker: i64, why: Option<&str>) {
        self.change(worker, |standing| {
            let why = why.map_or_else(|| std::mem::take(&mut standing.why), str::to_owned);
            *standing = Standing {
                why,
                ..Standing::default()
            };
        });
    }

    /// Resolves when what was held as this worker is lost. The clock is looked at whenever this is polled, and not only when
    /// the alarm rings: a process that was stopped finds out before it does anything else.
    pub(crate) async fn lost(&self, run: &RunId, held: &HeldRun) -> StoreError {
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
            if !self.holds(held.worker) {
                return std::task::Poll::Ready(());
            }
            alarm.as_mut().poll(context)
        })
        .await;
        StoreError::LeaseLost {
            run: run.clone(),
            why: self.standing().why,
        }
    }
}

impl Server {
    /// The worker that this process is; a new one where it has none, or has lost its lease.
    pub(crate) async fn as_worker(self: &Arc<Self>) -> Result<i64, StoreError> {
        let _making = self.lease.making.lock().await;
        if let Some(worker) = self.lease.worker().filter(|it| self.lease.holds(*it)) {
            return Ok(worker);
        }
        let name = name();
        let seconds = self.lease.length.as_secs_f64();
        let offer = self.offer.get();
        let queues = offer.map(|offer| &offer.queues);
        let labels = offer.map(|offer| &offer.labels);
        let concurrent = offer.map(|offer| offer.concurrent);
        let connection = self.connection().await?;
        let values: SqlValues<'_> = &[&name, &seconds, &queues, &labels, &concurrent];
        let sent = now();
        let rows = self.rows(connection, REGISTER, values).await?;
        let closed = || StoreError::Closed {
            file: self.address.label().into(),
        };
        let worker = rows.first().ok_or_else(closed)?.get(0);
        let standing = self.lease.renewed(worker, sent);
        self.lease.standing.send_replace(standing);
        tokio::spawn(Arc::clone(self).keep(worker));
        Ok(worker)
    }

    /// Renews the lease of a worker until it is lost.
    async fn keep(self: Arc<Self>, worker: i64) {
        let lease = &self.lease;
        let pause = lease.length / RENEWALS;
        let mut wait = pause;
        while lease.worker() == Some(worker) {
            tokio::time::sleep(wait).await;
            let sent = now();
            let left = lease.standing().until.saturating_sub(sent);
            if left.is_zero() {
                return lease.lose(worker, None);
            }
            wait = match self.renew(worker, left.min(pause)).await {
                Ok(true) => {
                    let standing = lease.renewed(worker, sent);
                    lease.change(worker, |old| *old = standing);
                    pause
                }
                Ok(false) => return lease.lose(worker, Some("the server says that it is over")),
                Err(why) => {
                    lease.change(worker, |standing| standing.why = why);
                    pause / RENEWALS
                }
            };
        }
    }

    /// Whether the server has renewed the lease; an error in words where it did not say.
    async fn renew(&self, worker: i64, patience: Duration) -> Result<bool, String> {
        let seconds = self.lease.length.as_secs_f64();
        let pool = &self.pools.lease;
        let renewal = async {
            let connection = connection::take(&self.address, pool, self.access).await?;
            self.rows(connection, RENEW, &[&worker, &seconds]).await
        };
        let why = match timeout(patience, renewal).await {
            Ok(Ok(rows)) => return Ok(!rows.is_empty()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the server does not answer".into(),
        };
        // The next renewal does not wait behind this one.
        pool.retain(|_, _| false);
        Err(why)
    }

    /// Says that this process ends, so that nobody waits for its lease.
    pub(crate) async fn retire(&self) {
        let Some(worker) = self.lease.worker() else {
            return;
        };
        let farewell = async {
            let connection = self.connection().await?;
            self.rows(connection, RETIRE, &[&worker]).await
        };
        // Who cannot say so is found out when the lease ends.
        let _ended = timeout(FAREWELL, farewell).await;
        self.lease.lose(worker, Some("the store was closed"));
    }
}

/// The process, for a person to find it.
fn name() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    format!("process {} on {host}", std::process::id())
}
