//! Gives back the runs that this process holds by the rows of the server, and does not know of: others would wait for them for
//! as long as this process lives.
//!
//! A statement may be carried out long after its connection broke: it waited for a lock, or in a network. So the rows are
//! looked at now and then, and often for a while after an answer was lost.

use std::sync::Arc;

use bonded_state::StoreError;

use crate::claim::RELEASE;
use crate::parameter::SqlValues;
use crate::server::Server;
use crate::strays::HeldRow;
use crate::take::run_of;

const HELD: &str = "SELECT d.run, d.epoch, r.id FROM bonded.drive d JOIN bonded.run r USING (run) \
     WHERE d.worker = $1 AND d.state < 10";

impl Server {
    /// Looks as long as this process is this worker.
    pub(crate) async fn look_for_strays(self: Arc<Self>, worker: i64) {
        let pause = self.lease.terms.pause();
        while self.lease.worker() == Some(worker) {
            tokio::time::sleep(pause).await;
            if self.strays.is_due() {
                // A server that is away is asked again.
                let _given_back = self.give_strays_back(worker).await;
            }
        }
    }

    async fn give_strays_back(&self, worker: i64) -> Result<(), StoreError> {
        let rows = self
            .rows(self.connection().await?, HELD, &[&worker])
            .await?;
        let mut unknown = vec![];
        for row in &rows {
            let (run, key, epoch) = (run_of(row.get(2), self)?, row.get(0), row.get(1));
            // Also what is in doubt: nobody may ask for it any more.
            if !self.held.holds(&run, worker) {
                unknown.push(HeldRow { run, key, epoch });
            }
        }
        for HeldRow { run, key, epoch } in self.strays.twice_unknown(unknown) {
            if self.held.give_back(&run, worker, epoch) {
                let values: SqlValues<'_> = &[&key, &worker, &epoch];
                let connection = self.connection().await?;
                self.rows(connection, RELEASE, values).await?;
                self.news.tell_queued();
            }
        }
        Ok(())
    }
}
