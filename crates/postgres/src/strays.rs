//! Runs that this process holds by the rows of the server, and does not know of: the answer to a claim was lost, or what was
//! sent to release one did not arrive. They are given back, because others would wait for as long as this process lives.
//!
//! A statement may be carried out long after its connection broke: it waited for a lock, or in a network. So the rows are
//! looked at now and then, and often for a while after an answer was lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::RunId;
use bonded_state::StoreError;

use crate::claim::RELEASE;
use crate::keys::RunNumber;
use crate::lease;
use crate::parameter::SqlValues;
use crate::server::Server;
use crate::take::run_of;

/// How often the rows are looked at where nothing was lost, and for how long they are looked at often.
const LOOK: Duration = Duration::from_secs(60);

const HELD: &str = "SELECT d.run, d.epoch, r.id FROM bonded.drive d JOIN bonded.run r USING (run) \
     WHERE d.worker = $1 AND d.state < 10";

#[derive(Debug, Default)]
pub(crate) struct Strays(Mutex<StrayLooks>);

#[derive(Debug, Default)]
struct StrayLooks {
    /// When an answer was lost last.
    doubted: Option<Duration>,
    looked: Option<Duration>,
    /// The claims that nobody here knew of at the last look. An answer may have been on its way.
    unknown: BTreeMap<RunId, i64>,
}

/// A run that this process holds by its row.
#[derive(Debug)]
struct HeldRow {
    run: RunId,
    key: RunNumber,
    epoch: i64,
}

impl Strays {
    fn looks(&self) -> MutexGuard<'_, StrayLooks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn doubt(&self) {
        self.looks().doubted = Some(lease::now());
    }

    /// Whether to look; the time until the next look begins now.
    fn is_due(&self) -> bool {
        let (mut looks, now) = (self.looks(), lease::now());
        let is_recent = |then: Option<Duration>| then.is_some_and(|it| now < it + LOOK);
        let looked = *looks.looked.get_or_insert(now);
        let is_due =
            is_recent(looks.doubted) || !looks.unknown.is_empty() || !is_recent(Some(looked));
        if is_due {
            looks.looked = Some(now);
        }
        is_due
    }

    /// Which of those that nobody knows were unknown at the last look too.
    fn twice_unknown(&self, rows: Vec<HeldRow>) -> Vec<HeldRow> {
        let unknown = rows.iter().map(|row| (row.run.clone(), row.epoch));
        let before = std::mem::replace(&mut self.looks().unknown, unknown.collect());
        let mut rows = rows;
        rows.retain(|row| before.get(&row.run) == Some(&row.epoch));
        rows
    }
}

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
