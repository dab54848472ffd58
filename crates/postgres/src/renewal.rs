//! Keeping the lease of this process: its row is made, renewed while the process lives, and ended with it.

use std::sync::Arc;
use std::time::Duration;

use bonded_state::StoreError;
use tokio::time::timeout;

use crate::connection;
use crate::lease::now;
use crate::parameter::SqlValues;
use crate::server::Server;

const REGISTER: &str = "INSERT INTO bonded.worker (name, expires, queues, labels, concurrent) \
     VALUES ($1, clock_timestamp() + $2::float8 * interval '1 second', $3, coalesce($4::text[], '{}'), $5) RETURNING id";

/// A lease that is over is never renewed: its runs may have been taken.
const RENEW: &str = "UPDATE bonded.worker SET expires = clock_timestamp() + $2::float8 * interval '1 second' \
     WHERE id = $1 AND NOT dead AND expires > clock_timestamp() RETURNING id";

const RETIRE: &str = "UPDATE bonded.worker SET dead = true WHERE id = $1 RETURNING id";

/// How long a process that ends waits to say so.
const FAREWELL: Duration = Duration::from_secs(2);

impl Server {
    /// The worker that this process is; a new one where it has none, or has lost its lease.
    pub(crate) async fn as_worker(self: &Arc<Self>) -> Result<i64, StoreError> {
        let _making = self.lease.making.lock().await;
        if let Some(worker) = self.lease.worker().filter(|it| self.lease.holds(*it)) {
            return Ok(worker);
        }
        let name = name();
        let seconds = self.lease.terms.length.as_secs_f64();
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
        tokio::spawn(Arc::clone(self).look_for_strays(worker));
        Ok(worker)
    }

    /// Renews the lease of a worker until it is lost.
    async fn keep(self: Arc<Self>, worker: i64) {
        let lease = &self.lease;
        let pause = lease.terms.pause();
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
                    lease.terms.pause_after_failure()
                }
            };
        }
    }

    /// Whether the server has renewed the lease; an error in words where it did not say.
    async fn renew(&self, worker: i64, patience: Duration) -> Result<bool, String> {
        let seconds = self.lease.terms.length.as_secs_f64();
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
