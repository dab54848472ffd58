//! Waiting for a run to continue: own appends wake at once, and one look at the server finds those of others.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::RunId;
use bonded_state::StoreError;

use crate::server::Server;

/// How often to look for what other processes wrote.
const INTERVAL: Duration = Duration::from_millis(100);

const HEADS: &str =
    "SELECT id, head FROM bonded.run JOIN bonded.drive USING (run) WHERE id = ANY($1)";

impl Server {
    /// Resolves when the head of a run is beyond `seq`.
    pub(crate) async fn changed(&self, run: &RunId, seq: u64) -> Result<(), StoreError> {
        loop {
            let mut watcher = self.watchers.watch(run);
            let head = self.head(run).await?;
            if head.is_some_and(|head| head.seq > seq) || watcher.beyond(seq).await.is_some() {
                return Ok(());
            }
        }
    }

    /// Looks for what others wrote, for as long as there is a store.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let watched = self.watchers.watched();
            if watched.is_empty() {
                continue;
            }
            match self.heads(&watched).await {
                Ok(heads) => {
                    for (run, seq) in heads {
                        self.watchers.publish(&run, seq);
                    }
                }
                // Who waits looks for themselves, and is told what is wrong.
                Err(_) => self.watchers.dismiss(),
            }
        }
    }

    async fn heads(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        let ids: Vec<&str> = runs.iter().map(RunId::as_str).collect();
        let rows = self.rows(self.connection().await?, HEADS, &[&ids]).await?;
        let heads = rows.iter().filter_map(|row| {
            let run = RunId::new(row.get(0)).ok()?;
            Some((run, row.get::<_, i32>(1).unsigned_abs().into()))
        });
        Ok(heads.collect())
    }
}
