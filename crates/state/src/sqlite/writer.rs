//! The one thread that writes. It takes all that is queued as a group, commits the group with one sync, and
//! answers. While somebody waits for a run to go on, it also looks for what other processes wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use bonded_kernel::RunId;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite::change::{ChangeFault, Keys, LogChange};
use crate::sqlite::file::{FileIdentity, StoreFile};
use crate::sqlite::keys;
use crate::sqlite::poll::Poll;
use crate::sqlite::worker::Worker;
use crate::watchers::Watchers;

/// How many tasks are taken at once; more would let the first one wait too long.
const GROUP_MAX: usize = 512;

/// How many distinct statements the writer uses, and some more.
const STATEMENTS_MAX: usize = 32;

type Done<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Task {
    Change {
        change: LogChange,
        done: Done<()>,
    },
    /// Tells the sequence number of a run's head.
    Look {
        run: RunId,
        done: Done<u64>,
    },
}

pub(super) struct LogWriter {
    connection: Connection,
    file: StoreFile,
    /// The file that the connection writes to.
    identity: FileIdentity,
    tasks: Receiver<Task>,
    worker: Arc<Worker>,
    watchers: Arc<Watchers>,
    commits: Arc<AtomicU64>,
    keys: Keys,
    /// Whether commits are synced, as [`StoreFile`] has set them up.
    is_synced: bool,
    poll: Poll,
}

impl LogWriter {
    pub(super) fn new(
        connection: Connection,
        (file, identity): (StoreFile, FileIdentity),
        tasks: Receiver<Task>,
        worker: Arc<Worker>,
        watchers: Arc<Watchers>,
        commits: Arc<AtomicU64>,
    ) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Self {
            connection,
            file,
            identity,
            tasks,
            worker,
            watchers,
            commits,
            keys: Keys::default(),
            is_synced: true,
            poll: Poll::new(),
        }
    }

    /// Works until nobody can give tasks any more and none is left.
    pub(super) fn run(mut self) {
        while let Some(group) = Poll::next_group(&self.tasks, &self.watchers, GROUP_MAX) {
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
            self.poll.look(&self.connection, &self.watchers, head_seq);
        }
    }

    fn commit(&mut self, group: Vec<(LogChange, Done<()>)>) {
        // Looked at after the commit: what is acknowledged was in the file under the path.
        let committed = self.transact(&group).map_err(|error| {
            self.roll_back();
            self.file.sql(&error)
        });
        let committed = committed.and_then(|results| {
            self.file.check_identity(self.identity)?;
            Ok(results)
        });
        match committed {
            Ok(results) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                for ((change, done), result) in group.into_iter().zip(results) {
                    if let (Some((run, seq)), Ok(())) = (change.news(), &result) {
                        self.watchers.publish(run, seq);
                    }
                    let _ = done.send(result);
                }
            }
            Err(error) => {
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
        group: &[(LogChange, Done<()>)],
    ) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        self.sync_commits(group.iter().any(|(change, _)| change.is_kept()))?;
        self.execute("BEGIN IMMEDIATE")?;
        let mut results = Vec::with_capacity(group.len());
        for (change, _) in group {
            let made = change.make(&self.connection, &mut self.keys, &self.worker);
            results.push(match made {
                Ok(()) => Ok(()),
                Err(ChangeFault::Refused(error)) => Err(error),
                Err(ChangeFault::Failed(error)) => return Err(error),
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
        let head = head_seq(&self.connection, run).map_err(|error| self.file.sql(&error))?;
        Ok(head.unwrap_or(0))
    }
}

fn head_seq(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<u64>> {
    match keys::find(connection, run)? {
        Some((key, _)) => Ok(Some(keys::head(connection, key)?.seq)),
        None => Ok(None),
    }
}
