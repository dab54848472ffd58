//! Who drives a run: claimed, released, and taken from a process whose lease is over.

use std::sync::Arc;

use bonded_kernel::{GoalId, RunId};
use bonded_state::StoreError;
use tokio_postgres::Row;

use crate::aside;
use crate::keys::{ENDED, HeldRun};
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

/// Makes a claim that this process did not know of a new one. What it sent under that claim, and was never answered, may
/// still wait at the server: a release that is carried out late would free a run that is driven.
const CLAIM_ANEW: &str = "UPDATE bonded.drive SET epoch = epoch + 1 WHERE run = $1 AND worker = $2 AND epoch = $3 RETURNING epoch";

/// What is of the queue is queued again, and the claim counts no more.
pub(crate) const RELEASE: &str = "UPDATE bonded.drive SET worker = NULL, epoch = epoch + 1, \
        state = CASE WHEN state = 1 THEN 0 ELSE state END, ready = CASE WHEN state = 1 THEN clock_timestamp() ELSE ready END \
     WHERE run = $1 AND worker = $2 AND epoch = $3 RETURNING run";

/// A row that begins with the run's number, its epoch and its goal.
pub(crate) fn held_as(row: &Row, worker: i64) -> HeldRun {
    HeldRun {
        key: row.get(0),
        epoch: row.get(1),
        goal: GoalId::from_stored(row.get(2)),
        worker,
        turn: Arc::default(),
        has_ended: Arc::default(),
    }
}

fn held_elsewhere(run: &RunId, row: &Row) -> StoreError {
    let by: Option<String> = row.get(4);
    aside::elsewhere(run, row.get(5), row.get(6)).unwrap_or_else(|| StoreError::Held {
        run: run.clone(),
        by: by.unwrap_or_else(|| "another process".into()),
    })
}

impl Server {
    fn is_driving(&self, run: &RunId) -> bool {
        let held = self.held.get(run);
        held.is_some_and(|held| self.lease.holds(held.worker))
    }

    /// Whether this process holds the run by this claim from now on. What was sent as a worker that this process is no more
    /// may be answered late.
    #[must_use]
    pub(crate) fn hold(&self, run: &RunId, held: HeldRun) -> bool {
        self.lease.worker() == Some(held.worker) && self.held.hold(run, held)
    }

    /// Whether nobody can drive a run, because it has ended or there is none.
    pub(crate) async fn is_over(&self, run: &RunId) -> Result<bool, StoreError> {
        let rows = self.read(HOLDER, &[&run.as_str()]).await?;
        let state = rows.first().map(|row| row.get::<_, i16>(5));
        Ok(state.is_none_or(|state| state == ENDED))
    }

    pub(crate) async fn claim(self: &Arc<Self>, run: &RunId) -> Result<(), StoreError> {
        if self.is_driving(run) {
            return Ok(());
        }
        // Who is not there is told so before a row is made for this process.
        self.get(run).await?;
        loop {
            let worker = self.patience().with(|| self.as_worker()).await?;
            let held = self.patience().with(|| self.claim_as(run, worker)).await;
            if held.as_ref().is_err_and(StoreError::may_pass) {
                self.strays.doubt();
            }
            if self.hold(run, held?) || self.is_driving(run) {
                return Ok(());
            }
        }
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
        loop {
            self.bury(run).await?;
            let connection = self.connection().await?;
            let rows = self.rows(connection, CLAIM, &[&id, &worker]).await?;
            if let Some(row) = rows.first() {
                return Ok(held_as(row, worker));
            }
            let rows = self.rows(self.connection().await?, HOLDER, &[&id]).await?;
            let Some(row) = rows.first() else {
                return Err(StoreError::UnknownRun { run: run.clone() });
            };
            if row.get::<_, Option<i64>>(3) != Some(worker) {
                return Err(held_elsewhere(run, row));
            }
            // The answer to a claim of our own was lost.
            if let Some(held) = self.claim_anew(held_as(row, worker)).await? {
                return Ok(held);
            }
        }
    }

    /// Nothing where the run is not held under this claim any more.
    async fn claim_anew(&self, found: HeldRun) -> Result<Option<HeldRun>, StoreError> {
        let values: SqlValues<'_> = &[&found.key, &found.worker, &found.epoch];
        let rows = self
            .rows(self.connection().await?, CLAIM_ANEW, values)
            .await?;
        let row = rows.first();
        Ok(row.map(|row| HeldRun {
            epoch: row.get(0),
            ..found
        }))
    }

    /// By its row the run may still be ours.
    pub(crate) fn lose_claim(&self, run: &RunId, lost: &HeldRun) {
        self.held.forget_claim(run, lost);
        self.news.leave_run(run);
        self.lease.wake();
        self.strays.doubt();
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
        // It may have been released by an earlier try, and be held again under a later claim.
        self.held.forget_claim(run, &held);
        self.news.leave_run(run);
        self.news.tell_queued();
        if !matches!(released, Ok(true)) {
            // By its row it may still be ours, under another claim too.
            self.strays.doubt();
        }
        released.map(drop)
    }
}
