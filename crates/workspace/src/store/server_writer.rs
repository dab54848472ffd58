//! The one thread of this process that writes to a server. It takes all that is queued as a group and commits the group at
//! once, as the writer of a file does.
//!
//! Every group begins by locking one row of the database, so that all writes of all processes follow one another: what a
//! change is decided by is what stands there until it is committed, events are numbered without gap, and the row of an
//! event is greater than those of all events before it. While somebody waits for a stream to go on, it also looks for what
//! other processes wrote.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bonded_kernel::WorkspaceId;
use bonded_state::Watchers;
use bonded_state::database::{Committed, ServerDatabase, ServerSession, SessionUse, SqlFault};
use rusqlite::params;

use super::codes::count;
use super::connection::Connection;
use super::error::{StoreFault, WorkspaceError};
use super::place::StorePlace;
use super::rows;
use super::transaction::Transaction;
use super::watched_stream::{self, WatchedStream};
use super::writer::{GroupOutcomes, WriteJob, answer_all};

/// How many jobs are taken at once. The row is locked for so long, so there are fewer than a file takes.
const GROUP_MAX: usize = 64;

/// How often to look for what other processes wrote, while somebody waits for it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long a server that is away is waited for before those who wait are told.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Whoever holds this row writes.
const LOCK: &str = "SELECT row FROM head FOR UPDATE";

/// It lives as long as the store.
pub(super) struct ServerWriter {
    database: Arc<dyn ServerDatabase>,
    place: StorePlace,
    jobs: Receiver<Box<dyn WriteJob>>,
    watchers: Arc<Watchers<WatchedStream>>,
    /// Up to which event those who wait were told of; `None` before the first look.
    seen: Option<u64>,
    looked_at: Instant,
}

/// Why a group was not made.
enum Failed {
    /// Nothing of it is there, and it may be tried again.
    Passing(WorkspaceError),
    /// It may be there, or trying again is of no use.
    Final(WorkspaceError),
}

impl ServerWriter {
    pub(super) fn new(
        database: Arc<dyn ServerDatabase>,
        jobs: Receiver<Box<dyn WriteJob>>,
        watchers: Arc<Watchers<WatchedStream>>,
    ) -> Self {
        Self {
            place: StorePlace::Server(database.clone()),
            database,
            jobs,
            watchers,
            seen: None,
            looked_at: Instant::now(),
        }
    }

    /// Works until nobody can give jobs any more and none is left.
    pub(super) fn run(mut self) {
        while let Some(group) = self.next_group() {
            if !group.is_empty() {
                self.commit(group);
            }
            self.look();
        }
    }

    /// What is queued, at least one unless it is time to look; `None` when nobody can queue anything any more.
    fn next_group(&self) -> Option<Vec<Box<dyn WriteJob>>> {
        let first = if self.watchers.is_empty() {
            Some(self.jobs.recv().ok()?)
        } else {
            match self.jobs.recv_timeout(POLL_INTERVAL) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let group = first.into_iter().chain(self.jobs.try_iter());
        Some(group.take(GROUP_MAX).collect())
    }

    /// Nobody is told of a success before it is durable. What failed on the way and left nothing behind is tried again.
    fn commit(&mut self, mut group: Vec<Box<dyn WriteJob>>) {
        let began = Instant::now();
        let made = loop {
            match self.transact(&mut group) {
                Err(Failed::Passing(_)) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Ok(made) => break Ok(made),
                Err(Failed::Passing(error) | Failed::Final(error)) => break Err(error),
            }
        };
        answer_all(group, made, &self.watchers);
    }

    /// One transaction for the whole group.
    fn transact(&self, group: &mut [Box<dyn WriteJob>]) -> Result<GroupOutcomes, Failed> {
        let begun = self.database.begin(SessionUse::Write);
        let session = begun.map_err(|error| self.failed(error.into()))?;
        let made = self.make_all(&*session, group);
        let made = made.map_err(|fault| self.failed(fault))?;
        match session.commit() {
            Committed::Yes => Ok(made),
            Committed::No(error) => Err(self.failed(error.into())),
            Committed::Unknown(error) => Err(Failed::Final(error.into())),
        }
    }

    fn make_all(
        &self,
        session: &dyn ServerSession,
        group: &mut [Box<dyn WriteJob>],
    ) -> Result<GroupOutcomes, StoreFault> {
        let connection = Connection::Server(session);
        rows::one(connection, LOCK, params![], |_| Ok(()))?;
        let mut transaction = Transaction::new(connection);
        let results = match group {
            // A job that is alone is taken back with its transaction.
            [job] => {
                job.make(&mut transaction)?;
                vec![Ok(())]
            }
            group => self.make_each(session, group, &mut transaction)?,
        };
        Ok((results, transaction.finish()?))
    }

    /// Makes each job by itself: one that fails is taken back, and the others stay.
    fn make_each(
        &self,
        session: &dyn ServerSession,
        group: &mut [Box<dyn WriteJob>],
        transaction: &mut Transaction<'_>,
    ) -> Result<Vec<Result<(), WorkspaceError>>, StoreFault> {
        let mut results = Vec::with_capacity(group.len());
        for job in group {
            session.batch("SAVEPOINT job")?;
            let mark = transaction.mark();
            let result = match job.make(transaction) {
                Ok(()) => {
                    session.batch("RELEASE job")?;
                    Ok(())
                }
                Err(fault) if fault.concerns_all() => return Err(fault),
                Err(fault) => {
                    transaction.back_to(mark);
                    session.batch("ROLLBACK TO job; RELEASE job")?;
                    Err(self.place.error(fault))
                }
            };
            results.push(result);
        }
        Ok(results)
    }

    fn failed(&self, fault: StoreFault) -> Failed {
        let may_pass =
            matches!(&fault, StoreFault::Server(SqlFault::Store(error)) if error.may_pass());
        let error = self.place.error(fault);
        match may_pass {
            true => Failed::Passing(error),
            false => Failed::Final(error),
        }
    }

    /// Wakes those who wait for a stream that another process has written to.
    fn look(&mut self) {
        if self.watchers.is_empty() || self.looked_at.elapsed() < POLL_INTERVAL {
            return;
        }
        self.looked_at = Instant::now();
        if self.publish_foreign().is_err() {
            self.watchers.dismiss();
        }
    }

    /// One statement where nothing happened, whatever is watched. All rows up to the last one are there: nobody who writes
    /// is overtaken.
    fn publish_foreign(&mut self) -> Result<(), StoreFault> {
        let session = self.database.begin(SessionUse::LookUp)?;
        let connection = Connection::Server(&*session);
        let sql = "SELECT head.row, access_version.version FROM head, access_version";
        let heads = rows::one(connection, sql, params![], |row| {
            Ok((count(row.get(0)?), count(row.get(1)?)))
        })?;
        let Some((last, access)) = heads else {
            return Ok(());
        };
        self.watchers.publish(&WatchedStream::Access, access);
        self.watchers.publish(&WatchedStream::All, last);
        match self.seen {
            Some(seen) if seen == last => return Ok(()),
            Some(seen) => {
                let sql = "SELECT workspace.id, max(event.seq) FROM event \
                           JOIN workspace ON workspace.key = event.workspace \
                           WHERE event.row > ?1 GROUP BY workspace.id";
                let seen = super::codes::number(seen);
                connection.each(sql, [seen], |row| {
                    let stream = WatchedStream::Workspace(WorkspaceId::from_bytes(row.get(0)?));
                    self.watchers.publish(&stream, count(row.get(1)?));
                    Ok(())
                })?;
            }
            None => {
                for stream in self.watchers.watched() {
                    let head = watched_stream::head(connection, stream)?;
                    self.watchers.publish(&stream, head);
                }
            }
        }
        self.seen = Some(last);
        Ok(())
    }
}
