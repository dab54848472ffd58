//! The one thread that writes. It takes all that is queued as a group, commits the group with one sync, and
//! answers. While somebody waits for a run to go on, it also looks for what other processes wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bonded_kernel::RunId;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite::change::{Change, Fault, Keys};
use crate::sqlite::file::StoreFile;
use crate::sqlite::keys;
use crate::sqlite::worker::Worker;
use crate::watchers::Watchers;

/// How many tasks are taken at once; more would let the first one wait too long.
const GROUP_MAX: usize = 512;

/// How often to look for what other processes wrote.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How many distinct statements the writer uses, and some more.
const STATEMENTS_MAX: usize = 32;

type Done<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Task {
    Change {
        change: Change,
        done: Done<()>,
    },
    /// Tells the sequence number of a run's head.
    Look {
        run: RunId,
        done: Done<u64>,
    },
}

pub(super) struct Writer {
    connection: Connection,
    file: StoreFile,
    tasks: Receiver<Task>,
    worker: Arc<Worker>,
    watchers: Arc<Watchers>,
    commits: Arc<AtomicU64>,
    keys: Keys,
    /// Whether commits are synced, as [`StoreFile`] has set them up.
    is_synced: bool,
    /// What SQLite said at the last poll; it says something else after another process has written.
    data_version: Option<i64>,
    polled_at: Instant,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        file: StoreFile,
        tasks: Receiver<Task>,
        worker: Arc<Worker>,
        watchers: Arc<Watchers>,
        commits: Arc<AtomicU64>,
    ) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Self {
            connection,
            file,
            tasks,
            worker,
            watchers,
            commits,
            keys: Keys::default(),
            is_synced: true,
            data_version: None,
            polled_at: Instant::now(),
        }
    }

    /// Works until nobody can give tasks any more and none is left.
    pub(super) fn run(mut self) {
        while let Some(group) = self.next_group() {
            let mut changes = Vec::with_capacity(group.len());
            let mut looks = Vec::new();
            for task in group {
                match task {
                    Task::Change { change, done } => changes.push((change, done)),
                    Task::Look { run, done } => looks.push((run, done)),
                }
            }
            if !changes.is_empty() {
                self.commit(changes);
            }
            for (run, done) in looks {
                // Who asked may have gone meanwhile; so may the callers below.
                let _ = done.send(self.look(&run));
            }
            self.poll();
        }
    }

    /// What is queued, at least one task unless it is time to poll; `None` when the store was dropped.
    fn next_group(&self) -> Option<Vec<Task>> {
        let first = if self.watchers.is_empty() {
            Some(self.tasks.recv().ok()?)
        } else {
            match self.tasks.recv_timeout(POLL_INTERVAL) {
                Ok(task) => Some(task),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let tasks = first.into_iter().chain(self.tasks.try_iter());
        Some(tasks.take(GROUP_MAX).collect())
    }

    fn commit(&mut self, group: Vec<(Change, Done<()>)>) {
        match self.transact(&group) {
            Ok(results) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                for ((change, done), result) in group.into_iter().zip(results) {
                    if let (Change::Append(append), Ok(())) = (&change, &result) {
                        self.watchers.publish(append.run(), append.head.seq);
                    }
                    let _ = done.send(result);
                }
            }
            Err(error) => {
                self.roll_back();
                let error = self.file.sql(&error);
                for (_, done) in group {
                    let _ = done.send(Err(error.clone()));
                }
            }
        }
    }

    /// Makes the changes in one transaction. A refused change leaves no trace and does not touch the others;
    /// an error of SQLite concerns all of them.
    fn transact(
        &mut self,
        group: &[(Change, Done<()>)],
    ) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        let is_log = |(change, _): &(Change, Done<()>)| matches!(change, Change::Append(_));
        self.sync_commits(group.iter().any(is_log))?;
        self.execute("BEGIN IMMEDIATE")?;
        let mut results = Vec::with_capacity(group.len());
        for (change, _) in group {
            let made = change.make(&self.connection, &mut self.keys, &self.worker);
            results.push(match made {
                Ok(()) => Ok(()),
                Err(Fault::Refused(error)) => Err(error),
                Err(Fault::Failed(error)) => return Err(error),
            });
        }
        self.execute("COMMIT")?;
        Ok(results)
    }

    /// Says whether the next commit is synced. Who holds a run matters only while its process lives, and
    /// need not outlive a power failure; the log must.
    fn sync_commits(&mut self, synced: bool) -> rusqlite::Result<()> {
        if self.is_synced != synced {
            let level = if synced { "FULL" } else { "OFF" };
            self.execute(&format!("PRAGMA synchronous = {level}"))?;
            self.is_synced = synced;
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute([])
    }

    fn roll_back(&mut self) {
        self.keys.clear();
        if !self.connection.is_autocommit() {
            // What fails here fails again, and louder, when the next group begins.
            let _ = self.execute("ROLLBACK");
        }
    }

    /// A run that has not begun yet ends before its first entry.
    fn look(&self, run: &RunId) -> Result<u64, StoreError> {
        let head = self.head_seq(run).map_err(|error| self.file.sql(&error))?;
        Ok(head.unwrap_or(0))
    }

    fn head_seq(&self, run: &RunId) -> rusqlite::Result<Option<u64>> {
        match keys::find(&self.connection, run)? {
            Some((key, _)) => Ok(Some(keys::head(&self.connection, key)?.seq)),
            None => Ok(None),
        }
    }

    /// Wakes those who wait for a run that another process has written to.
    fn poll(&mut self) {
        if self.watchers.is_empty() || self.polled_at.elapsed() < POLL_INTERVAL {
            return;
        }
        self.polled_at = Instant::now();
        if self.publish_foreign().is_err() {
            self.watchers.dismiss();
        }
    }

    fn publish_foreign(&mut self) -> rusqlite::Result<()> {
        let data_version = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if self.data_version != Some(data_version) {
            for run in self.watchers.watched() {
                if let Some(seq) = self.head_seq(&run)? {
                    self.watchers.publish(&run, seq);
                }
            }
            self.data_version = Some(data_version);
        }
        Ok(())
    }
}
