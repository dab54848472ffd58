//! Who drives a run: claimed, released, and taken from a process whose lease is over.

use std::sync::Arc;

use bonded_kernel::{GoalId, RunId};
use bonded_state::StoreError;

use crate::aside;
use crate::keys::HeldRun;
use crate::parameter::SqlValues;
use crate::server::Server;

/// A lease that is over is ended for good before anything is taken from it.
const BURY: &str = "UPDATE bonded.worker w SET dead = true FROM bonded.drive d JOIN bonded.run r USING (run) \
     WHERE r.id = $1 AND w.id = d.worker AND NOT w.dead AND w.expires <= clock_timestamp() RETURNING w.id";

/// A worker counts as dead only where its row says so: one that cannot be seen yet is alive. A run of the queue stays one.
const CLAIM: &str = "UPDATE bonded.drive d SET epoch = d.epoch + 1, worker = $2, \
        state = CASE WHEN d.state = 0 THEN 1 ELSE d.state END FROM bonded.run r \
     WHERE r.id = $1 AND d.run = r.run AND d.state < 10 AND (d.worker IS NULL \
        OR EXISTS (SELECT 1 FROM bonded.worker w WHERE w.id = d.worker AND w.dead)) \
     RETURNING d.run, d.epoch, r.goal";

const HOLDER: &str = "SELECT d.run, d.epoch, r.goal, d.worker, w.name, d.state, d.why FROM bonded.run r JOIN bonded.drive d USING (run) \
     LEFT JOIN bonded.worker w ON w.id = d.worker WHERE r.id = $1";

/// What is of the queue is queued again.
const RELEASE: &str = "UPDATE bonded.drive SET worker = NULL, state = CASE WHEN state = 1 THEN 0 ELSE state END, \
        ready = CASE WHEN state = 1 THEN clock_timestamp() ELSE ready END \
     WHERE run = $1 AND worker = $2 AND epoch = $3 RETURNING run";

impl Server {
    pub(crate) async fn claim(self: &Arc<Self>, run: &RunId) -> Result<(), StoreError> {
        let held = self.held.get(run);
        if held.is_some_and(|held| self.lease.holds(held.worker)) {
            return Ok(());
        }
        // Who is not there is told so before a row is made for this process.
        self.get(run).await?;
        let worker = self.patience().with(|| self.as_worker()).await?;
        let held = self.patience().with(|| self.claim_as(run, worker)).await?;
        self.held.hold(run, held);
        Ok(())
    }

    /// Ends the lease of who holds the run, if its time is over.
    pub(crate) async fn bury(&self, run: &RunId) -> Result<(), StoreError> {
        let connection = self.connection().await?;
        self.rows(connection, BURY, &[&run.as_str()])
            .await
            .map(drop)
    }

    async fn claim_as(&self, run: &RunId, worker: i64) -> Result<HeldRun, StoreError> {
        let id = run.as_str();
        self.bury(run).await?;
        let connection = self.connection().await?;
        let rows = self.rows(connection, CLAIM, &[&id, &worker]).await?;
        let held = |row: &tokio_postgres::Row| HeldRun {
            key: row.get(0),
            epoch: row.get(1),
            goal: GoalId::from_stored(row.get(2)),
            worker,
            turn: Arc::default(),
        };
        if let Some(row) = rows.first() {
            return Ok(held(row));
        }
        let rows = self.rows(self.connection().await?, HOLDER, &[&id]).await?;
        let Some(row) = rows.first() else {
            return Err(StoreError::UnknownRun { run: run.clone() });
        };
        // The answer to a claim of our own was lost.
        if row.get::<_, Option<i64>>(3) == Some(worker) {
            return Ok(held(row));
        }
        if let Some(elsewhere) = aside::elsewhere(run, row.get(5), row.get(6)) {
            return Err(elsewhere);
        }
        let by: Option<String> = row.get(4);
        Err(StoreError::Held {
            run: run.clone(),
            by: by.unwrap_or_else(|| "another process".into()),
        })
    }

    /// By its row the run may still be ours as long as this process lives: the next take finds it.
    pub(crate) fn lose_claim(&self, run: &RunId, lost: &HeldRun) {
        self.held.forget_lost(run, lost);
        self.taking.doubt();
    }

    pub(crate) async fn release(&self, run: &RunId) -> Result<(), StoreError> {
        let Some(held) = self.held.get(run) else {
            return self.get(run).await.map(|_| ());
        };
        // What was lost is free when the lease ends, and the server may be away.
        let released = match self.lease.holds(held.worker) {
            true => {
                let values: SqlValues<'_> = &[&held.key, &held.worker, &held.epoch];
                self.read(RELEASE, values)
                    .await
                    .map(|rows| !rows.is_empty())
            }
            false => Ok(true),
        };
        self.held.forget(run);
        self.news.tell_queued();
        if !matches!(released, Ok(true)) {
            // By its row it may still be ours, under another claim too, as long as this process lives: the next take finds it.
            self.taking.doubt();
        }
        released.map(drop)
    }
}
