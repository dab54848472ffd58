//! The store in memory: for simulations and tests. It has no thread and no timer, and every future is ready
//! at once except [`Store::changed`], which waits for an append.

mod copying;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Blob, Entry, GoalId, Hash, Head, RunId};
use futures_util::future::BoxFuture;

use crate::append::Append;
use crate::aside::RunAside;
use crate::row::Row;
use crate::watchers::Watchers;
use crate::{Ends, Holder, ListFilter, Listed, RunCopies, Store, StoreError};

/// What errors call a store that has no file.
const NAME: &str = "(memory)";

/// A store that is gone with its last handle. What it gives back was encoded and decoded like that of a
/// store on disk.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    worker: u64,
}

#[derive(Debug, Default)]
struct Shared {
    content: Mutex<Logs>,
    watchers: Arc<Watchers>,
}

#[derive(Debug, Default)]
struct Logs {
    /// In the order in which they started.
    runs: Vec<Stored>,
    places: BTreeMap<RunId, usize>,
    blobs: BTreeMap<Hash, Blob>,
    living: BTreeSet<u64>,
    workers: u64,
}

#[derive(Debug)]
struct Stored {
    run: RunId,
    goal: GoalId,
    rows: Vec<Row>,
    /// The last entry of each append.
    appends: BTreeSet<u64>,
    worker: Option<u64>,
    aside: Option<RunAside>,
}

impl MemoryStore {
    /// An empty store, and the first handle to it.
    #[expect(
        clippy::new_without_default,
        reason = "a handle joins the living workers, which is more than a default value"
    )]
    pub fn new() -> Self {
        Self::join(Arc::default())
    }

    /// A handle as another process would have it: the same log, but another holder of runs. A handle that
    /// is dropped is a process that died.
    pub fn another(&self) -> Self {
        Self::join(self.shared.clone())
    }

    fn join(shared: Arc<Shared>) -> Self {
        let worker = {
            let mut content = shared.content();
            content.workers += 1;
            let worker = content.workers;
            content.living.insert(worker);
            worker
        };
        Self { shared, worker }
    }

    fn append_now(&self, expected: Head, entries: Arc<[Entry]>) -> Result<Head, StoreError> {
        let append = Append::new(expected, entries)?;
        let mut content = self.shared.content();
        let place = content.place_for(&append)?;
        let stored = &mut content.runs[place];
        stored.check_here()?;
        content.keep(place, &append);
        let stored = &mut content.runs[place];
        if append.starts_run() {
            stored.worker = Some(self.worker);
        }
        if append.ends_run() {
            stored.worker = None;
        }
        drop(content);
        self.shared.watchers.publish(append.run(), append.head.seq);
        Ok(append.head)
    }

    /// Every row has its hash here, so that an append need not be whole.
    fn load_now(&self, run: &RunId, after: u64, count: usize) -> Result<Vec<Entry>, StoreError> {
        let content = self.shared.content();
        let stored = &content.runs[content.place(run)?];
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        let later = stored.rows.get(skipped..).unwrap_or_default();
        (0..later.len().min(count))
            .map(|i| content.open(stored, skipped + i))
            .collect()
    }

    fn list_now(&self, filter: &ListFilter) -> Vec<Listed> {
        let content = self.shared.content();
        let prefix = filter.prefix.as_deref().unwrap_or_default();
        let passing = content.runs.iter().rev();
        let passing = passing.filter(|stored| stored.run.as_str().starts_with(prefix));
        passing
            .take(filter.limit)
            .map(|stored| Listed {
                run: stored.run.clone(),
                goal: stored.goal.clone(),
                ends: content.ends(stored),
                held: content.holder(stored, self.worker),
            })
            .collect()
    }

    fn claim_now(&self, run: &RunId) -> Result<(), StoreError> {
        let mut content = self.shared.content();
        let place = content.place(run)?;
        content.runs[place].check_here()?;
        if content.holder(&content.runs[place], self.worker) == Holder::Other {
            let by = content.runs[place].worker.unwrap_or_default();
            return Err(StoreError::Held {
                run: run.clone(),
                by: format!("worker {by}"),
            });
        }
        content.runs[place].worker = Some(self.worker);
        Ok(())
    }

    fn release_now(&self, run: &RunId) -> Result<(), StoreError> {
        let mut content = self.shared.content();
        let place = content.place(run)?;
        let stored = &mut content.runs[place];
        stored.worker = stored.worker.filter(|worker| *worker != self.worker);
        Ok(())
    }

    async fn changed_from(&self, run: &RunId, seq: u64) -> Result<(), StoreError> {
        let mut watcher = self.shared.watchers.watch(run);
        let found = {
            let content = self.shared.content();
            let place = content.places.get(run);
            place.map_or(0, |place| content.runs[*place].head().seq)
        };
        if found <= seq {
            watcher.beyond(seq).await;
        }
        Ok(())
    }
}

impl Shared {
    fn content(&self) -> MutexGuard<'_, Logs> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Logs {
    fn place(&self, run: &RunId) -> Result<usize, StoreError> {
        let unknown = || StoreError::UnknownRun { run: run.clone() };
        self.places.get(run).copied().ok_or_else(unknown)
    }

    fn ends(&self, stored: &Stored) -> Result<Ends, StoreError> {
        let first = self.open(stored, 0)?;
        let last = self.open(stored, stored.rows.len() - 1)?;
        Ok(Ends { first, last })
    }

    /// Where the append's rows go, after every check: from here on it cannot fail.
    fn place_for(&mut self, append: &Append) -> Result<usize, StoreError> {
        if !append.starts_run() || self.places.contains_key(append.run()) {
            let place = self.place(append.run())?;
            append.check_head(self.runs[place].head())?;
            append.check_goal(self.runs[place].goal.as_str())?;
            return Ok(place);
        }
        let place = self.runs.len();
        self.places.insert(append.run().clone(), place);
        self.runs.push(Stored {
            run: append.run().clone(),
            goal: append.goal().clone(),
            rows: Vec::new(),
            appends: BTreeSet::new(),
            worker: None,
            aside: None,
        });
        Ok(place)
    }

    /// After every check.
    fn keep(&mut self, place: usize, append: &Append) {
        for (reference, content) in &append.blobs {
            let blob = self.blobs.entry(reference.hash);
            blob.or_insert_with(|| content.clone());
        }
        let stored = &mut self.runs[place];
        stored.rows.extend(append.entries.iter().map(Row::from));
        stored.appends.insert(append.head.seq);
    }

    fn open(&self, stored: &Stored, index: usize) -> Result<Entry, StoreError> {
        let before = index.checked_sub(1).map(|before| stored.hash_of(before));
        let row = stored.rows[index].clone();
        let blob = |hash: &Hash| self.blobs.get(hash).cloned();
        row.open(
            &stored.run,
            &stored.goal,
            before.unwrap_or(Hash::ZERO),
            blob,
        )
        .map_err(|source| StoreError::BadLog {
            file: Path::new(NAME).into(),
            run: stored.run.clone(),
            source,
        })
    }

    fn holder(&self, stored: &Stored, this: u64) -> Holder {
        match stored.worker {
            Some(worker) if worker == this => Holder::This,
            Some(worker) if self.living.contains(&worker) => Holder::Other,
            _ => Holder::Nobody,
        }
    }
}

impl Stored {
    /// Refuses to drive or to continue a run that is set aside.
    fn check_here(&self) -> Result<(), StoreError> {
        match &self.aside {
            None => Ok(()),
            Some(aside) => Err(StoreError::Elsewhere {
                run: self.run.clone(),
                aside: aside.clone(),
            }),
        }
    }

    fn head(&self) -> Head {
        self.rows.last().map_or(Head::EMPTY, |row| Head {
            seq: row.seq,
            hash: self.hash_of(self.rows.len() - 1),
        })
    }

    /// In memory every row has its hash: there is nothing to save.
    fn hash_of(&self, index: usize) -> Hash {
        self.rows[index].hash.unwrap_or(Hash::ZERO)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.shared.content().living.remove(&self.worker);
    }
}

impl Store for MemoryStore {
    fn copies(&self) -> Option<&dyn RunCopies> {
        Some(self)
    }

    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(async move { self.append_now(expected, entries) })
    }

    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        Box::pin(async move { self.load_now(run, after, count) })
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        Box::pin(async move {
            let content = self.shared.content();
            let place = content.places.get(run);
            Ok(place.map(|place| content.runs[*place].head()))
        })
    }

    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.changed_from(run, seq))
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        Box::pin(async move { Ok(self.list_now(&filter)) })
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.claim_now(run) })
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.release_now(run) })
    }
}
