//! A store with faults: appends that fail before or after their commit, conflicts with nobody, delays, and
//! the death of the process on either side of a commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bonded_kernel::{Entry, Head, RunId};
use bonded_state::{ListFilter, Listed, MemoryStore, Store, StoreError};
use futures_util::future::BoxFuture;

use super::ledger::Place;
use super::plan::Sabotage;
use super::process::Process;

/// More appends than any run of a world can need: beyond this something turns in circles.
const APPENDS_MAX: u32 = 20_000;

/// The longest that a store keeps somebody waiting.
pub(crate) const DELAY_MS_MAX: u64 = 400;

/// The store as one process sees it.
#[derive(Debug)]
pub(crate) struct SimStore {
    inner: MemoryStore,
    process: Arc<Process>,
    appends: AtomicU32,
}

#[derive(Clone, Copy)]
enum AppendFault {
    None,
    Conflict,
    FailsBefore,
    FailsAfter,
}

impl SimStore {
    pub(crate) fn new(process: Arc<Process>) -> Self {
        Self {
            inner: process.shared.log.another(),
            process,
            appends: AtomicU32::new(0),
        }
    }

    async fn delay(&self) {
        self.process.live().await;
        let shared = &self.process.shared;
        if shared.chance(shared.plan.faults.store) {
            let ms = shared.draw(|rng| rng.between(0, DELAY_MS_MAX));
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }

    /// Reads fail more rarely: one that does ends the process.
    fn fail_read(&self) -> Result<(), StoreError> {
        let shared = &self.process.shared;
        if shared.chance(shared.plan.faults.store / 10) {
            return Err(self.broken("a read failed"));
        }
        Ok(())
    }

    fn broken(&self, why: &str) -> StoreError {
        self.process.shared.ledger().tally.failures += 1;
        StoreError::Io {
            file: PathBuf::from("(simulated)"),
            why: why.into(),
        }
    }

    fn draw_fault(&self) -> AppendFault {
        let shared = &self.process.shared;
        if !shared.chance(shared.plan.faults.store) {
            return AppendFault::None;
        }
        shared.draw(|rng| {
            rng.pick(&[
                AppendFault::Conflict,
                AppendFault::FailsBefore,
                AppendFault::FailsAfter,
            ])
        })
    }

    async fn append_with_faults(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> Result<Head, StoreError> {
        self.process.pass(Place::BeforeAppend).await;
        self.delay().await;
        let nth = self.appends.fetch_add(1, Ordering::Relaxed);
        if nth == APPENDS_MAX {
            let complaint = format!("a process made {APPENDS_MAX} appends");
            self.process.shared.complain(complaint);
            self.process.die(Place::BeforeAppend);
            self.process.live().await;
        }
        match self.draw_fault() {
            AppendFault::Conflict => {
                self.process.shared.ledger().tally.failures += 1;
                return Err(StoreError::Conflict {
                    run: self.process.shared.run.clone(),
                    expected: expected.seq,
                    found: expected.seq,
                });
            }
            AppendFault::FailsBefore => return Err(self.broken("an append failed")),
            AppendFault::FailsAfter => {
                self.append_truly(expected, entries).await?;
                self.process.pass(Place::AfterAppend).await;
                return Err(self.broken("an append was made, and nobody knows"));
            }
            AppendFault::None => {}
        }
        let head = self.commit(nth, expected, entries).await?;
        self.process.shared.ledger().acknowledged.push(head);
        self.process.pass(Place::AfterAppend).await;
        Ok(head)
    }

    async fn commit(
        &self,
        nth: u32,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> Result<Head, StoreError> {
        let is_lost = self.process.shared.plan.sabotage == Sabotage::LoseAppend;
        if is_lost && self.process.number == 0 && nth == 2 {
            return Ok(entries.last().map_or(expected, Entry::head));
        }
        self.append_truly(expected, entries).await
    }

    async fn append_truly(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> Result<Head, StoreError> {
        let head = self.inner.append(expected, entries).await?;
        if expected == Head::EMPTY {
            self.process.took_hold();
        }
        Ok(head)
    }
}

impl Store for SimStore {
    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(self.append_with_faults(expected, entries))
    }

    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        Box::pin(async move {
            self.delay().await;
            self.fail_read()?;
            self.inner.load_part(run, after, count).await
        })
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        Box::pin(async move {
            self.delay().await;
            self.fail_read()?;
            self.inner.head(run).await
        })
    }

    /// Now and then it says that something changed when nothing did.
    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.process.live().await;
            self.fail_read()?;
            let shared = &self.process.shared;
            if shared.chance(shared.plan.faults.store / 3) {
                let ms = shared.draw(|rng| rng.between(0, 5_000));
                let slept = tokio::time::sleep(Duration::from_millis(ms));
                tokio::select! {
                    biased;
                    changed = self.inner.changed(run, seq) => return changed,
                    () = slept => return Ok(()),
                }
            }
            self.inner.changed(run, seq).await
        })
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        self.inner.list(filter)
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.delay().await;
            self.inner.claim(run).await?;
            self.process.took_hold();
            Ok(())
        })
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(run)
    }
}
