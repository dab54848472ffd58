//! The one thread that writes. It takes all that is queued as a group, commits the group with one sync, and answers.
//! While somebody waits for a stream to go on, it also looks for what other processes wrote.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection as sql;
use super::error::{StoreFault, WorkspaceError};
use super::place::StorePlace;
use super::readers::set_up;
use super::transaction::Transaction;
use super::watched_stream::{self, WatchedStream};
use bonded_state::Watchers;
use bonded_state::sqlite::file::{FileIdentity, StoreFile};
use bonded_state::sqlite::poll::Poll;

/// How many jobs are taken at once; more would let the first one wait too long.
const GROUP_MAX: usize = 256;

/// How many distinct statements the writer uses, and some more.
const STATEMENTS_MAX: usize = 96;

/// How much of the file the writer keeps in memory, in KiB.
const CACHE_KIB: i64 = 4096;

/// Something to do in a transaction.
pub(super) trait WriteJob: Send {
    /// Does it. A fault that concerns all rolls back the group; any other rolls back this job alone.
    fn make(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreFault>;

    /// Says what came of it: the group was committed, or why not.
    fn answer(self: Box<Self>, committed: Result<(), WorkspaceError>);
}

/// A job with somebody who waits for its answer.
pub(super) struct AwaitedWrite<T, F> {
    make: F,
    made: Option<T>,
    done: oneshot::Sender<Result<T, WorkspaceError>>,
}

impl<T, F> AwaitedWrite<T, F> {
    /// Nothing was made yet.
    pub(super) fn new(make: F, done: oneshot::Sender<Result<T, WorkspaceError>>) -> Self {
        Self {
            make,
            made: None,
            done,
        }
    }
}

impl<T, F> WriteJob for AwaitedWrite<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T, StoreFault> + Send,
{
    /// The result is kept until the group is committed: nobody is answered before.
    fn make(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreFault> {
        self.made = Some((self.make)(transaction)?);
        Ok(())
    }

    /// An error of the group is the answer to each of its jobs.
    fn answer(self: Box<Self>, committed: Result<(), WorkspaceError>) {
        let answer = match (committed, self.made) {
            (Ok(()), Some(made)) => Ok(made),
            (Err(error), _) => Err(error),
            // Without an answer the caller hears that the store was closed.
            (Ok(()), None) => return,
        };
        // Who asked may have gone meanwhile.
        let _ = self.done.send(answer);
    }
}

/// It owns the only connection that writes, and lives as long as the store.
pub(super) struct StoreWriter {
    connection: Connection,
    file: StoreFile,
    /// The file that the connection writes to.
    identity: FileIdentity,
    jobs: Receiver<Box<dyn WriteJob>>,
    watchers: Arc<Watchers<WatchedStream>>,
    poll: Poll,
}

impl StoreWriter {
    /// The identity tells the file that was opened from one that was put in its place.
    pub(super) fn new(
        connection: Connection,
        (file, identity): (StoreFile, FileIdentity),
        jobs: Receiver<Box<dyn WriteJob>>,
        watchers: Arc<Watchers<WatchedStream>>,
    ) -> Self {
        Self {
            connection,
            file,
            identity,
            jobs,
            watchers,
            poll: Poll::new(),
        }
    }

    /// Works until nobody can give jobs any more and none is left.
    pub(super) fn run(mut self) {
        // A connection that cannot be set up says so again at the first job.
        let _set_up = set_up(&self.connection, STATEMENTS_MAX, CACHE_KIB);
        while let Some(group) = Poll::next_group(&self.jobs, &self.watchers, GROUP_MAX) {
            if !group.is_empty() {
                self.commit(group);
            }
            let head = |connection: &Connection, stream: &WatchedStream| {
                watched_stream::head(sql::Connection::File(connection), *stream).map(Some)
            };
            self.poll.look(&self.connection, &self.watchers, head);
        }
    }

    /// Nobody is told of a success before it is synced, and nobody is woken before it can be read. A file that was
    /// replaced under its path is told to all, because what was written went elsewhere.
    fn commit(&mut self, mut group: Vec<Box<dyn WriteJob>>) {
        let committed = self.transact(&mut group).map_err(|fault| {
            if !self.connection.is_autocommit() {
                // What fails here fails again, and louder, when the next group begins.
                let _ = self.execute("ROLLBACK");
            }
            StorePlace::File(self.file.clone()).error(fault)
        });
        // Looked at after the commit: what is acknowledged was in the file under the path.
        let committed = committed.and_then(|made| {
            self.file.check_identity(self.identity)?;
            Ok(made)
        });
        answer_all(group, committed, &self.watchers);
    }

    /// One immediate transaction for the whole group: the lock of the file is taken once, and the disk is synced once.
    fn transact(&self, group: &mut [Box<dyn WriteJob>]) -> Result<GroupOutcomes, StoreFault> {
        self.execute("BEGIN IMMEDIATE")?;
        let mut transaction = Transaction::new(sql::Connection::File(&self.connection));
        let results = match group {
            // A job that is alone is taken back with its transaction. Under a savepoint SQLite keeps every page that is
            // changed, and looks through all that it keeps after each statement: a job of many writes takes ten times as
            // long there.
            [job] => {
                job.make(&mut transaction)?;
                vec![Ok(())]
            }
            group => self.make_each(group, &mut transaction)?,
        };
        let heads = transaction.finish()?;
        self.execute("COMMIT")?;
        Ok((results, heads))
    }

    /// Makes each job by itself: one that fails is taken back, and the others stay.
    fn make_each(
        &self,
        group: &mut [Box<dyn WriteJob>],
        transaction: &mut Transaction<'_>,
    ) -> Result<Vec<Result<(), WorkspaceError>>, StoreFault> {
        let mut results = Vec::with_capacity(group.len());
        for job in group {
            self.execute("SAVEPOINT job")?;
            let mark = transaction.mark();
            let result = match job.make(transaction) {
                Ok(()) => Ok(()),
                Err(fault) if fault.concerns_all() => return Err(fault),
                Err(fault) => {
                    transaction.back_to(mark);
                    self.execute("ROLLBACK TO job")?;
                    Err(StorePlace::File(self.file.clone()).error(fault))
                }
            };
            self.execute("RELEASE job")?;
            results.push(result);
        }
        Ok(results)
    }

    /// Statements are kept prepared.
    fn execute(&self, sql: &str) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute([])
    }
}

/// What came of each job, and how far the streams go now.
pub(super) type GroupOutcomes = (
    Vec<Result<(), WorkspaceError>>,
    std::collections::BTreeMap<WatchedStream, u64>,
);

/// Wakes those who wait for what a group wrote, and answers each of its jobs. The group is as durable as it will be.
pub(super) fn answer_all(
    group: Vec<Box<dyn WriteJob>>,
    committed: Result<GroupOutcomes, WorkspaceError>,
    watchers: &Watchers<WatchedStream>,
) {
    match committed {
        Ok((results, heads)) => {
            for (stream, seq) in heads {
                watchers.publish(&stream, seq);
            }
            for (job, result) in group.into_iter().zip(results) {
                job.answer(result);
            }
        }
        Err(error) => {
            for job in group {
                job.answer(Err(error.clone()));
            }
        }
    }
}
