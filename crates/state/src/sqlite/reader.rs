//! Reading what the log holds.

use std::collections::BTreeMap;

use bonded_kernel::{BadEntry, Blob, Entry, GoalId, Hash, Head, RunId};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::OwnedSemaphorePermit;

use crate::row::Row;
use crate::sqlite::file::StoreFile;
use crate::sqlite::keys::{self, RunKey, columns, read_row};
use crate::sqlite::pool::{Pool, connections_max};
use crate::sqlite::worker::Worker;
use crate::{Ends, Holder, ListFilter, Listed, StoreError};

/// How much of the file each connection keeps in memory, in KiB. What it keeps is worth nothing after the next append, and
/// the logs of runs lie together.
const CACHE_KIB: i64 = 256;

/// How many distinct statements reading uses, and some more.
const STATEMENTS_MAX: usize = 16;

const NEWEST: &str = "SELECT key, id, goal, worker FROM run LEFT JOIN lease ON run_key = key \
     ORDER BY key DESC LIMIT ?1";

/// A server looks for the runs of a key at every request that has one, so only those are touched. Without the plus the
/// newest run would be looked for among all.
const NEWEST_OF_PREFIX: &str = "SELECT key, id, goal, worker FROM run LEFT JOIN lease ON run_key = key \
     WHERE key IN (SELECT key FROM run WHERE id >= ?2 AND id < ?3 ORDER BY +key DESC LIMIT ?1) \
     ORDER BY key DESC";

#[derive(Debug)]
pub(super) struct Readers {
    pool: Pool,
}

impl Readers {
    pub(super) fn new(file: StoreFile) -> Self {
        let pool = Pool::new(file, connections_max(), |connection| {
            connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
            connection.pragma_update(None, "cache_size", -CACHE_KIB)
        });
        Self { pool }
    }

    /// Waits until a connection is free.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.pool.turn().await
    }

    pub(super) fn close_idle(&self) {
        self.pool.close_idle();
    }

    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, ReadFault>,
    ) -> Result<T, StoreError> {
        self.pool.lend(read)?.map_err(|fault| match fault {
            ReadFault::Sql(error) => self.pool.file().sql(&error),
            ReadFault::Store(error) => error,
            ReadFault::BadLog { run, source } => self.bad_log(run, source),
        })
    }

    pub(super) fn bad_log(&self, run: RunId, source: BadEntry) -> StoreError {
        StoreError::BadLog {
            file: self.pool.file().path(),
            run,
            source,
        }
    }

    pub(super) fn load(
        &self,
        run: &RunId,
        after: u64,
        count: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.read(|connection| {
            let unknown = || StoreError::UnknownRun { run: run.clone() };
            let (key, goal) = keys::find(connection, run)?.ok_or_else(unknown)?;
            let anchor = keys::anchor(connection, key, after)?;
            // What lies between is read for its hashes, and is none of what was asked for.
            let between = usize::try_from(after.saturating_sub(anchor.seq)).unwrap_or(0);
            let count = count.saturating_add(between);
            let mut entries = Log::new(connection, run, &goal).read(key, anchor, count)?;
            entries.retain(|entry| entry.seq > after);
            Ok(entries)
        })
    }

    pub(super) fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.read(|connection| match keys::find(connection, run)? {
            Some((key, _)) => Ok(Some(keys::head(connection, key)?)),
            None => Ok(None),
        })
    }

    pub(super) fn list(
        &self,
        filter: &ListFilter,
        worker: &Worker,
    ) -> Result<Vec<Listed>, StoreError> {
        let prefix = filter.prefix.as_deref().unwrap_or_default();
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut query = connection.prepare_cached(match prefix {
                "" => NEWEST,
                _ => NEWEST_OF_PREFIX,
            })?;
            let mut rows = match prefix {
                "" => query.query([limit]),
                _ => query.query(params![limit, prefix, beyond(prefix)]),
            }?;
            let mut listed = Vec::new();
            while let Some(row) = rows.next()? {
                let run = run_id(row.get_ref(1)?.as_str()?)?;
                let goal = GoalId::from_stored(row.get_ref(2)?.as_str()?);
                let ends = match ends(connection, RunKey(row.get(0)?), &run, &goal) {
                    Ok(ends) => Ok(ends),
                    Err(ReadFault::BadLog { run, source }) => Err(self.bad_log(run, source)),
                    Err(fault) => return Err(fault),
                };
                let lease: Option<String> = row.get(3)?;
                listed.push(Listed {
                    run,
                    goal,
                    ends,
                    held: lease.map_or(Ok(Holder::Nobody), |lease| worker.holder(&lease))?,
                });
            }
            Ok(listed)
        })
    }
}

/// What comes after everything that begins so.
fn beyond(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// Why something could not be read.
pub(super) enum ReadFault {
    Sql(rusqlite::Error),
    Store(StoreError),
    BadLog { run: RunId, source: BadEntry },
}

impl From<rusqlite::Error> for ReadFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<rusqlite::types::FromSqlError> for ReadFault {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        Self::Sql(error.into())
    }
}

impl From<StoreError> for ReadFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Opens the rows of one run. A blob that several entries refer to is read once.
pub(super) struct Log<'a> {
    connection: &'a Connection,
    run: &'a RunId,
    goal: &'a GoalId,
    blobs: BTreeMap<Hash, Blob>,
}

impl<'a> Log<'a> {
    pub(super) fn new(connection: &'a Connection, run: &'a RunId, goal: &'a GoalId) -> Self {
        Self {
            connection,
            run,
            goal,
            blobs: BTreeMap::new(),
        }
    }

    /// Opens what comes after a place whose hash is known, until there are so many and their append ends.
    fn read(&mut self, key: RunKey, anchor: Head, count: usize) -> Result<Vec<Entry>, ReadFault> {
        let mut query = self.connection.prepare_cached(concat!(
            "SELECT ",
            columns!(),
            " FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
        ))?;
        let mut rows = query.query(params![key.entry(anchor.seq + 1), key.last_entry()])?;
        let newest = keys::head(self.connection, key)?;
        let left = newest.seq.saturating_sub(anchor.seq);
        let mut entries = Vec::with_capacity(usize::try_from(left).unwrap_or(0).min(count));
        let (mut prev, mut is_closed) = (anchor.hash, true);
        while let Some(row) = rows.next()? {
            let row = read_row(row)?;
            is_closed = row.hash.is_some();
            let entry = self.open(row, prev)?;
            prev = entry.hash;
            entries.push(entry);
            if is_closed && entries.len() >= count {
                break;
            }
        }
        match entries.last() {
            // An append is all or nothing, so somebody has taken the rest of it away.
            Some(last) if !is_closed => Err(ReadFault::BadLog {
                run: self.run.clone(),
                source: BadEntry::BrokenChain { seq: last.seq },
            }),
            _ => Ok(entries),
        }
    }

    pub(super) fn open(&mut self, row: Row, prev: Hash) -> Result<Entry, ReadFault> {
        let (connection, blobs) = (self.connection, &mut self.blobs);
        let mut failure = None;
        let entry = row.open(self.run, self.goal, prev, |hash| {
            if let Some(content) = blobs.get(hash) {
                return Some(content.clone());
            }
            let content = read_blob(connection, hash).unwrap_or_else(|error| {
                failure = Some(error);
                None
            })?;
            blobs.insert(*hash, content.clone());
            Some(content)
        });
        match (entry, failure) {
            (_, Some(error)) => Err(ReadFault::Sql(error)),
            (Ok(entry), None) => Ok(entry),
            (Err(source), None) => Err(ReadFault::BadLog {
                run: self.run.clone(),
                source,
            }),
        }
    }
}

/// The content of a blob; `None` if there is none or it is not what its hash says.
fn read_blob(connection: &Connection, hash: &Hash) -> rusqlite::Result<Option<Blob>> {
    let content = connection
        .prepare_cached("SELECT bytes FROM blob WHERE hash = ?1")?
        .query_row([hash.as_bytes().as_slice()], |row| {
            let bytes = row.get_ref(0)?.as_blob()?;
            let is_intact = Hash::of(bytes) == *hash;
            Ok(is_intact.then(|| Blob::read(bytes)))
        })
        .optional()?;
    Ok(content.flatten())
}

/// The first and the last entry of a run.
fn ends(
    connection: &Connection,
    key: RunKey,
    run: &RunId,
    goal: &GoalId,
) -> Result<Ends, ReadFault> {
    let mut log = Log::new(connection, run, goal);
    let missing = || ReadFault::BadLog {
        run: run.clone(),
        source: BadEntry::Unreadable {
            seq: 1,
            why: "it is missing".into(),
        },
    };
    let first = connection
        .prepare_cached(concat!("SELECT ", columns!(), " FROM entry WHERE id = ?1"))?
        .query_row([key.entry(1)], read_row)
        .optional()?
        .ok_or_else(missing)?;
    let first = log.open(first, Hash::ZERO)?;
    let newest = keys::head(connection, key)?;
    let anchor = keys::anchor(connection, key, newest.seq.saturating_sub(1))?;
    let last = log
        .read(key, anchor, usize::MAX)?
        .pop()
        .ok_or_else(missing)?;
    Ok(Ends { first, last })
}

pub(super) fn run_id(id: &str) -> Result<RunId, ReadFault> {
    RunId::new(id).map_err(|error| {
        let error = Box::new(error);
        ReadFault::Sql(rusqlite::Error::FromSqlConversionFailure(
            1,
            rusqlite::types::Type::Text,
            error,
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use rusqlite::{StatementStatus, params};
    use tempfile::TempDir;

    use super::{NEWEST_OF_PREFIX, beyond};
    use crate::sqlite::file::{LOG, StoreFile};
    use crate::{ListFilter, SqliteStore, Store as _};

    #[test]
    fn the_runs_of_a_prefix_are_found_without_a_look_at_the_others() {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let file = StoreFile::new(&dir.path().join("store.db"), &LOG).expect("a path");
        file.create().expect("the store can be made");
        let connection = file.open_for_writing().expect("it opens");
        for number in 0..500 {
            let id = format!("key-{number:03}-x");
            let inserted = connection.execute("INSERT INTO run (id, goal) VALUES (?1, 'g')", [id]);
            inserted.expect("a run can be inserted");
        }
        let mut query = connection.prepare(NEWEST_OF_PREFIX).expect("it is SQL");
        for (prefix, limit, expected) in [
            ("key-123-", 1_000, &["key-123-x"][..]),
            ("key-12", 2, &["key-129-x", "key-128-x"]),
            ("key-5", 1_000, &[]),
        ] {
            let rows = query.query_map(params![limit, prefix, beyond(prefix)], |row| {
                row.get::<_, String>(1)
            });
            let found: Result<Vec<String>, _> = rows.expect("it can be asked").collect();
            assert_eq!(found.expect("the rows can be read"), expected, "{prefix}");
        }
        assert_eq!(query.get_status(StatementStatus::FullscanStep), 0);
        let steps = query.get_status(StatementStatus::VmStep);
        assert!(steps < 1_000, "{steps} steps for few of 500 runs");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_finds_all_connections_taken_waits_for_one_on_no_thread() {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let store = SqliteStore::open(&dir.path().join("store.db")).expect("it opens");
        let pool = &store.readers.pool;
        let turns = pool.free_turns();
        let taken: Vec<_> = (0..turns).map(|_| pool.turn().now_or_never()).collect();
        assert!(taken.iter().all(Option::is_some));
        let mut listing = store.list(ListFilter::default());
        let early = tokio::time::timeout(Duration::from_millis(200), &mut listing).await;
        assert!(early.is_err(), "nothing is free: {early:?}");
        drop(taken);
        assert_eq!(listing.await, Ok(vec![]));
        assert_eq!(pool.free_turns(), turns, "every turn came back");
    }
}
