//! The processes that drive runs, as people see them.

use std::time::SystemTime;

use bonded_state::StoreError;

use crate::server::Server;

/// A process that drives runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Where it runs.
    pub name: String,
    /// Since when.
    pub since: SystemTime,
    /// Until when its lease lasts, unless it is renewed.
    pub expires: SystemTime,
    /// How long that is from now; nothing where it is over.
    pub left_ms: i64,
    /// The queues that it takes runs from; none for a process that drives its own.
    pub queues: Option<Vec<String>>,
    /// What it has that a run can need.
    pub labels: Vec<String>,
    /// How many runs it drives at once, if it is bounded.
    pub concurrent: Option<i32>,
    /// The ids of the runs that it drives.
    pub runs: Vec<String>,
}

const WORKERS: &str = "SELECT w.name, w.since, w.expires, \
        (extract(epoch FROM w.expires - clock_timestamp()) * 1000)::bigint, w.queues, w.labels, w.concurrent, \
        array(SELECT r.id FROM bonded.drive d JOIN bonded.run r USING (run) WHERE d.worker = w.id ORDER BY r.run) AS runs \
     FROM bonded.worker w WHERE NOT w.dead AND (w.expires > clock_timestamp() \
        OR EXISTS (SELECT 1 FROM bonded.drive d WHERE d.worker = w.id)) ORDER BY w.id";

impl Server {
    /// Those that live, and those that died with runs that nobody has taken yet.
    pub(crate) async fn workers(&self) -> Result<Vec<WorkerRow>, StoreError> {
        let rows = self.read(WORKERS, &[]).await?;
        let worker = |row: &tokio_postgres::Row| WorkerRow {
            name: row.get(0),
            since: row.get(1),
            expires: row.get(2),
            left_ms: row.get(3),
            queues: row.get(4),
            labels: row.get(5),
            concurrent: row.get(6),
            runs: row.get(7),
        };
        Ok(rows.iter().map(worker).collect())
    }
}
