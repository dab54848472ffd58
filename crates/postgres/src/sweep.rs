//! What workers do for one another: runs of those that died are queued again, and rows that say nothing any more removed.

use bonded_kernel::RunId;
use bonded_state::StoreError;

use crate::server::Server;

const BURY: &str = "UPDATE bonded.worker SET dead = true WHERE id IN (SELECT id FROM bonded.worker \
        WHERE NOT dead AND expires <= clock_timestamp() FOR UPDATE SKIP LOCKED) RETURNING id";

const REQUEUE: &str = "WITH o AS (SELECT d.run FROM bonded.drive d JOIN bonded.worker w ON w.id = d.worker \
        WHERE w.dead AND d.state < 3 FOR UPDATE OF d SKIP LOCKED) \
     UPDATE bonded.drive d SET worker = NULL, state = CASE WHEN d.state = 1 THEN 0 ELSE d.state END, \
        ready = CASE WHEN d.state = 1 THEN clock_timestamp() ELSE d.ready END \
     FROM o WHERE d.run = o.run RETURNING d.run";

/// Runs whose agents wait for a person are looked at again now and then: who answered may have died before they said so.
const LOOK_AGAIN: &str = "WITH o AS (SELECT run FROM bonded.drive WHERE state = 2 AND ready <= clock_timestamp() \
        AND worker IS NULL FOR UPDATE SKIP LOCKED) \
     UPDATE bonded.drive d SET state = 0, ready = clock_timestamp() FROM o WHERE d.run = o.run RETURNING d.run";

/// A day is longer than a process is stopped between two statements of its own.
const FORGET: &str = "DELETE FROM bonded.worker w WHERE w.dead AND w.expires < clock_timestamp() - interval '1 day' \
     AND NOT EXISTS (SELECT 1 FROM bonded.drive d WHERE d.worker = w.id) RETURNING id";

/// When a run is looked at again that waits in an agent.
const PARK: &str = "UPDATE bonded.drive d SET state = 2, ready = clock_timestamp() + interval '60 s' FROM bonded.run r \
     WHERE r.id = $1 AND d.run = r.run AND d.state = 0 AND d.worker IS NULL RETURNING d.run";

const WAKE: &str = "UPDATE bonded.drive d SET state = 0, ready = clock_timestamp() FROM bonded.run r \
     WHERE r.id = $1 AND d.run = r.run AND d.state IN (0, 2) RETURNING d.run";

const POSTPONE: &str = "UPDATE bonded.drive d SET ready = clock_timestamp() + $3::float8 * interval '1 s', why = $2 \
     FROM bonded.run r WHERE r.id = $1 AND d.run = r.run AND d.state = 0 AND d.worker IS NULL RETURNING d.run";

const MISSING: &str =
    "UPDATE bonded.worker SET missing = $2 WHERE id = $1 AND missing <> $2 RETURNING id";

impl Server {
    pub(crate) async fn sweep(&self) -> Result<(), StoreError> {
        self.taking.forget();
        self.read(BURY, &[]).await?;
        for statement in [REQUEUE, LOOK_AGAIN] {
            if !self.read(statement, &[]).await?.is_empty() {
                self.news.tell_queued();
            }
        }
        self.read(FORGET, &[]).await.map(drop)
    }

    pub(crate) async fn park(&self, run: &RunId) -> Result<(), StoreError> {
        self.read(PARK, &[&run.as_str()]).await.map(drop)
    }

    pub(crate) async fn wake(&self, run: &RunId) -> Result<(), StoreError> {
        self.read(WAKE, &[&run.as_str()]).await?;
        self.news.tell_queued();
        Ok(())
    }

    pub(crate) async fn postpone(
        &self,
        run: &RunId,
        why: &str,
        seconds: f64,
    ) -> Result<(), StoreError> {
        self.read(POSTPONE, &[&run.as_str(), &why, &seconds])
            .await
            .map(drop)
    }

    /// Tells others what this worker does not have.
    pub(crate) async fn lack(&self, missing: &[String]) -> Result<(), StoreError> {
        let Some(worker) = self.lease.worker() else {
            return Ok(());
        };
        self.read(MISSING, &[&worker, &missing]).await.map(drop)
    }
}
