//! The store in one SQLite file.
//!
//! One thread owns the write connection and commits the appends of all runs in groups. Reads go through a
//! small pool of connections on blocking threads. Several processes may use one file at the same time.

mod change;
mod copying;
pub mod file;
mod keys;
pub mod poll;
pub mod pool;
mod reader;
mod worker;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bonded_kernel::{Entry, Head, RunId};
use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use crate::append::Append;
use crate::watchers::Watchers;
use crate::{ListFilter, Listed, RunCopies, Store, StoreError};
use change::LogChange;
use file::StoreFile;
use reader::Readers;
use worker::Worker;
use writer::{LogWriter, Task};

/// The log of all runs in one file. Dropping it finishes what was queued, then closes the file.
#[derive(Debug)]
pub struct SqliteStore {
    file: StoreFile,
    /// `None` while dropping, and where the file can only be read.
    tasks: Option<mpsc::Sender<Task>>,
    writer: Option<JoinHandle<()>>,
    readers: Arc<Readers>,
    worker: Arc<Worker>,
    watchers: Arc<Watchers>,
    commits: Arc<AtomicU64>,
}

impl SqliteStore {
    /// Opens the store in this file, or makes it: missing directories too, for the user's eyes only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = StoreFile::new(path, &file::LOG)?;
        file.create()?;
        Self::start(file)
    }

    /// Opens the store in this file; an error if there is none.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Self::start(StoreFile::new(path, &file::LOG)?)
    }

    /// Opens the store in this file to look at it. Where it cannot be written, it is read as it is, and every change is
    /// refused.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        match Self::open_existing(path) {
            Err(StoreError::ReadOnly { .. }) => {}
            opened => return opened,
        }
        let file = StoreFile::new(path, &file::LOG)?.to_read()?;
        Ok(Self {
            readers: Arc::new(Readers::new(file.clone())),
            worker: Arc::new(Worker::new(&file)),
            file,
            tasks: None,
            writer: None,
            watchers: Arc::default(),
            commits: Arc::default(),
        })
    }

    fn start(file: StoreFile) -> Result<Self, StoreError> {
        let connection = file.open_for_writing()?;
        let identity = file.identity()?;
        let worker = Arc::new(Worker::new(&file));
        let watchers = Arc::<Watchers>::default();
        let commits = Arc::<AtomicU64>::default();
        let (tasks, queue) = mpsc::channel();
        let writer = LogWriter::new(
            connection,
            (file.clone(), identity),
            queue,
            worker.clone(),
            watchers.clone(),
            commits.clone(),
        );
        let thread = std::thread::Builder::new().name("bonded-store".into());
        let writer = thread
            .spawn(move || writer.run())
            .map_err(|error| file.io(&error))?;
        Ok(Self {
            readers: Arc::new(Readers::new(file.clone())),
            file,
            tasks: Some(tasks),
            writer: Some(writer),
            worker,
            watchers,
            commits,
        })
    }

    /// How many groups of changes were committed since this store was opened.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Gives the writer a task and waits for its answer.
    async fn ask<T>(
        &self,
        task: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Task,
    ) -> Result<T, StoreError> {
        let Some(tasks) = &self.tasks else {
            return Err(self.file.not_writable("it was opened to be read"));
        };
        let (done, answer) = oneshot::channel();
        let is_sent = tasks.send(task(done)).is_ok();
        match answer.await {
            Ok(result) if is_sent => result,
            _ => Err(self.file.closed()),
        }
    }

    async fn change(&self, change: LogChange) -> Result<(), StoreError> {
        self.ask(|done| Task::Change { change, done }).await
    }

    /// Reads where it may block. A runtime that has one thread is that of one program for one person: a
    /// part of a log is read in a millisecond, and another thread would cost as much again.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Readers) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return read(&self.readers);
        }
        let readers = self.readers.clone();
        let turn = readers.turn().await;
        let read = move || {
            let result = read(&readers);
            drop(turn);
            result
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(result) => result,
            Err(_) => Err(self.file.closed()),
        }
    }

    async fn changed_from(&self, run: &RunId, seq: u64) -> Result<(), StoreError> {
        loop {
            let mut watcher = self.watchers.watch(run);
            let run = run.clone();
            let found = self.ask(|done| Task::Look { run, done }).await?;
            if found > seq || watcher.beyond(seq).await.is_some() {
                return Ok(());
            }
        }
    }
}

impl Store for SqliteStore {
    fn files(&self) -> Vec<PathBuf> {
        let file = self.file.path().into_os_string();
        let beside = |end: &str| {
            let mut name = file.clone();
            name.push(end);
            PathBuf::from(name)
        };
        [
            "", "-wal", "-shm", "-journal", ".workers", ".live", ".changes",
        ]
        .map(beside)
        .into()
    }

    fn copies(&self) -> Option<&dyn RunCopies> {
        Some(self)
    }

    fn try_writing(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.change(LogChange::Try))
    }

    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let append = Append::new(expected, entries)?;
            let head = append.head;
            self.change(LogChange::Append(append)).await?;
            Ok(head)
        })
    }

    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        let run = run.clone();
        Box::pin(self.read(move |readers| readers.load(&run, after, count)))
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        Box::pin(self.read(move |readers| readers.head(&run)))
    }

    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.changed_from(run, seq))
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        let worker = self.worker.clone();
        Box::pin(self.read(move |readers| readers.list(&filter, &worker)))
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.change(LogChange::Claim(run.clone())))
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.change(LogChange::Release(run.clone())))
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer is the last to close its connection, so that it leaves the file without a WAL.
        self.readers.close_idle();
        self.tasks = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has answered nobody, which its callers were told as `Closed`.
            let _joined = writer.join();
        }
        self.worker.retire();
    }
}
