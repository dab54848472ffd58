//! What those are told who watch a server: whether it takes anything in, and how long its queues are.

use bonded_state::StoreError;

use crate::server::Server;

/// A record in the write-ahead log that belongs to no table: it is synced, and waited for on a standby, like an append.
const WRITE: &str = "SELECT pg_logical_emit_message(true, 'bonded', '')::text";

/// Runs that are postponed are queued and cannot be driven yet.
const DEPTHS: &str = "SELECT l.queue, \
        sum((SELECT count(*) FROM bonded.drive d WHERE d.lane = l.lane AND d.state = 0))::bigint, \
        sum((SELECT count(*) FROM bonded.drive d WHERE d.lane = l.lane AND d.state = 1))::bigint, \
        coalesce(extract(epoch FROM clock_timestamp() - \
            min((SELECT min(d.ready) FROM bonded.drive d WHERE d.lane = l.lane AND d.state = 0)))::double precision, 0) \
     FROM bonded.lane l GROUP BY l.queue ORDER BY l.queue";

/// How a queue stands.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDepth {
    /// Its name.
    pub name: String,
    /// How many of its runs wait for a worker.
    pub queued: u64,
    /// How many are driven.
    pub driven: u64,
    /// For how long the oldest of those that wait could have been driven, in seconds; 0 where none could.
    pub oldest_s: f64,
}

impl Server {
    /// Asked once: who watches asks again.
    pub(crate) async fn try_writing(&self) -> Result<(), StoreError> {
        let connection = self.connection().await?;
        self.rows(connection, WRITE, &[]).await.map(drop)
    }

    pub(crate) async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        let rows = self.rows(self.connection().await?, DEPTHS, &[]).await?;
        let depth = |row: &tokio_postgres::Row| QueueDepth {
            name: row.get(0),
            queued: row.get::<_, i64>(1).unsigned_abs(),
            driven: row.get::<_, i64>(2).unsigned_abs(),
            oldest_s: row.get::<_, f64>(3).max(0.0),
        };
        Ok(rows.iter().map(depth).collect())
    }
}
