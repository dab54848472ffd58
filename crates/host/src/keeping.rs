//! What is kept of runs outside the store: a line in the ledger for each account as it is settled, and a
//! snapshot of each run that has ended. Both are read from the log, never from whoever drives the run.
//!
//! The store is the truth, so a ledger or snapshot that fails is told and stops no run that has begun.
//! The ledger is written while the run works, so that a crash loses as little as possible; what it
//! lacks can be added later from the log.
//!
//! They lie where a person wants them, which may be where an agent works. They are therefore opened
//! before the agent begins, held open, and kept out of the reach of its commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::accounting::{Booked, Books};
use crate::config::options::Options;
use crate::{CancellationToken, HostError, load_run};
use bonded_kernel::{RunFiles, RunId};
use bonded_state::{Store, StoreError};
use tokio::task::JoinHandle;

pub mod claims;
pub mod ledger;
pub mod snapshot;

use ledger::Ledger;
use snapshot::Snapshots;

/// A ledger that cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the ledger {}: {error}", .path.display())]
pub struct LedgerError {
    /// The ledger as the run names it.
    pub path: PathBuf,
    error: std::io::Error,
}

/// Keeps the runs of a process.
pub struct Keeper {
    store: Arc<dyn Store>,
    /// One for each file, so that all runs of the process share its lock and what was read of it.
    ledgers: Mutex<BTreeMap<PathBuf, Arc<Ledger>>>,
    snapshots: Mutex<BTreeMap<PathBuf, Snapshots>>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

/// A run that is being kept: [`settle`](Self::settle) it once nobody drives it any more.
pub struct Following {
    store: Arc<dyn Store>,
    run: RunId,
    snapshots: Option<Snapshots>,
    stop: CancellationToken,
    booking: Option<JoinHandle<Booking>>,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Following({})", self.run)
    }
}

impl Keeper {
    /// Nothing is opened before a run needs it.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            ledgers: Mutex::default(),
            snapshots: Mutex::default(),
        }
    }

    /// Whether runs can be kept so, before they cost anything.
    pub fn check(&self, kept: Option<&RunFiles>) -> Result<(), LedgerError> {
        let ledger = kept.and_then(|kept| kept.ledger.as_deref());
        ledger.map_or(Ok(()), |path| self.ledger(Path::new(path)).map(drop))
    }

    /// Refuses a run whose log does not hold what was kept of it.
    pub async fn refuse_cut(&self, run: &RunId, kept: Option<&RunFiles>) -> Result<(), HostError> {
        claims::refuse_cut(&*self.store, run, kept).await
    }

    /// Begins to keep a run, which need not have begun.
    pub fn follow(&self, run: &RunId, kept: Option<&RunFiles>) -> Result<Following, LedgerError> {
        let ledger = kept.and_then(|kept| kept.ledger.as_deref());
        let stop = CancellationToken::new();
        let booking = match ledger {
            None => None,
            Some(path) => {
                let booking = Booking {
                    store: self.store.clone(),
                    books: Books::new(run.clone()),
                    ledger: self.ledger(Path::new(path))?,
                    unwritten: vec![],
                };
                Some(tokio::spawn(booking.follow(stop.clone())))
            }
        };
        Ok(Following {
            store: self.store.clone(),
            run: run.clone(),
            snapshots: self.snapshots(kept),
            stop,
            booking,
        })
    }

    /// The directory of snapshots, opened once: what a later agent puts in its place is not written to.
    fn snapshots(&self, kept: Option<&RunFiles>) -> Option<Snapshots> {
        let path = kept?.snapshots.as_deref().map(PathBuf::from)?;
        let mut all = self.snapshots.lock();
        let all = all.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut());
        let opened = all
            .entry(path)
            .or_insert_with_key(|path| Snapshots::open(path));
        Some(opened.clone())
    }

    /// Opened under the lock, once.
    fn ledger(&self, path: &Path) -> Result<Arc<Ledger>, LedgerError> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ledger) = ledgers.get(path) {
            return Ok(ledger.clone());
        }
        let store = claims::store_file(&*self.store);
        let opened = Ledger::open(path, &store).map_err(|error| {
            let path = path.to_owned();
            LedgerError { path, error }
        })?;
        let ledger = Arc::new(opened);
        ledgers.insert(path.to_owned(), ledger.clone());
        Ok(ledger)
    }
}

/// Where the log says that a run is kept, and where it works.
pub async fn kept(
    store: &dyn Store,
    run: &RunId,
) -> Result<Option<(RunFiles, String)>, StoreError> {
    let entries = store.load_part(run, 0, 1).await?;
    Ok(entries.into_iter().next().and_then(|entry| {
        let config = &entry.event.started()?.config;
        let kept = config.kept.as_deref().cloned();
        Some((kept.unwrap_or_default(), config.dir.clone()))
    }))
}

/// Where options say that runs which work in `dir` are kept outside the store.
pub fn kept_by(options: &Options, dir: &str) -> Option<Box<RunFiles>> {
    let path_of = |path: &Option<String>| path.as_ref().map(PathBuf::from);
    let kept = kept_at(
        &path_of(&options.billing_file),
        &path_of(&options.sessions_dir),
        dir,
    );
    (kept != RunFiles::default()).then(|| Box::new(kept))
}

/// Where these paths lead now, before an agent works in `dir`.
pub fn kept_at(ledger: &Option<PathBuf>, snapshots: &Option<PathBuf>, dir: &str) -> RunFiles {
    let real_path = |path: &Option<PathBuf>, real: fn(&Path, &Path) -> PathBuf| {
        let path = real(path.as_deref()?, Path::new(dir));
        Some(path.to_string_lossy().into_owned())
    };
    RunFiles {
        ledger: real_path(ledger, crate::private::real_file),
        snapshots: real_path(snapshots, crate::private::real_dir),
    }
}

impl Following {
    /// Brings everything up to date. What cannot be written is a warning: the log has it all.
    pub async fn settle(self) {
        self.stop.cancel();
        if let Some(booking) = self.booking {
            let written = match booking.await {
                Ok(booking) => booking.complete().await,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = written {
                let run = &self.run;
                tracing::warn!(
                    "warning: the ledger lacks accounts: {why}; `bonded resume {run}` completes it"
                );
            }
        }
        if let Some(dir) = &self.snapshots
            && let Ok(run) = load_run(&*self.store, &self.run).await
            && let Err(error) = snapshot::write(&*self.store, &run, dir).await
        {
            tracing::warn!("warning: there is no snapshot: {error}");
        }
    }
}

/// One run on its way into a ledger.
struct Booking {
    store: Arc<dyn Store>,
    books: Books,
    ledger: Arc<Ledger>,
    /// Accounts that the ledger has not taken yet.
    unwritten: Vec<Booked>,
}

impl Booking {
    /// Books accounts as they are settled. What goes wrong is met again at the end, and told then.
    async fn follow(mut self, stop: CancellationToken) -> Self {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self,
                changed = self.books.changed(&*self.store) => {
                    if changed.is_err() {
                        return self;
                    }
                }
            }
            let _met_again = self.catch_up().await;
        }
    }

    /// Returns once the accounts are safe from a loss of power.
    async fn complete(mut self) -> Result<(), String> {
        self.catch_up().await?;
        let ledger = self.ledger.clone();
        let synced = tokio::task::spawn_blocking(move || ledger.sync()).await;
        self.outcome(synced)
    }

    /// Accounts that a fork has from another run are left out: they were paid for there. What could not
    /// be written is kept for the next time.
    async fn catch_up(&mut self) -> Result<(), String> {
        let taken = self.books.take(&*self.store).await;
        let taken = taken.map_err(|error| error.to_string())?;
        let own = taken.into_iter().filter(|it| !it.is_taken_over);
        self.unwritten.extend(own);
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let ledger = self.ledger.clone();
        let booked = std::mem::take(&mut self.unwritten);
        // Another process may hold the file for a moment.
        let writing = tokio::task::spawn_blocking(move || {
            let written = ledger.append(&booked);
            (booked, written)
        });
        let (booked, written) = writing.await.map_err(|error| error.to_string())?;
        if written.is_err() {
            self.unwritten = booked;
        }
        self.outcome(Ok(written))
    }

    fn outcome(
        &self,
        done: Result<std::io::Result<()>, tokio::task::JoinError>,
    ) -> Result<(), String> {
        let why = match done {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let path = self.ledger.path().display();
        Err(format!("cannot write {path}: {why}"))
    }
}
