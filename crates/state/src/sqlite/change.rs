//! What the writer does to the file, each change within the transaction of its group.

use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{GoalId, RunId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::append::Append;
use crate::aside::RunAside;
use crate::copies::CopiedPart;
use crate::sqlite::copying;
use crate::sqlite::keys::{self, RunKey};
use crate::sqlite::worker::{self, Worker};
use crate::{Holder, StoreError};

/// How many runs' keys are remembered.
const KEYS_MAX: usize = 4096;

#[derive(Debug)]
pub(super) enum LogChange {
    Append(Append),
    Claim(RunId),
    Release(RunId),
    /// Appends what was appended elsewhere.
    Copy(CopiedPart),
    SetAside(RunId, RunAside),
    LetGo(RunId),
    /// Writes what stands there already.
    Try,
}

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum ChangeFault {
    /// Before anything was written; the other changes of the group go on.
    Refused(StoreError),
    /// Perhaps in the middle: the whole group is rolled back.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for ChangeFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for ChangeFault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// The keys of runs that are being written. They never change once their transaction is committed.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: BTreeMap<RunId, (RunKey, GoalId)>,
    /// Those of them that this process holds, so that nothing has set them aside.
    held: BTreeSet<RunId>,
}

impl Keys {
    /// To be called when a transaction was rolled back: it may have started some of these runs.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.held.clear();
    }

    pub(super) fn find(
        &mut self,
        connection: &Connection,
        run: &RunId,
    ) -> Result<Option<&(RunKey, GoalId)>, ChangeFault> {
        if !self.known.contains_key(run) {
            let Some(found) = keys::find(connection, run)? else {
                return Ok(None);
            };
            if self.known.len() >= KEYS_MAX {
                self.known.clear();
            }
            self.known.insert(run.clone(), found);
        }
        Ok(self.known.get(run))
    }

    pub(super) fn get(
        &mut self,
        connection: &Connection,
        run: &RunId,
    ) -> Result<&(RunKey, GoalId), ChangeFault> {
        let unknown = || ChangeFault::Refused(StoreError::UnknownRun { run: run.clone() });
        self.find(connection, run)?.ok_or_else(unknown)
    }

    /// To be called when a run is not written any more.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.known.remove(run);
        self.held.remove(run);
    }
}

impl LogChange {
    /// Whether a power failure must not undo it.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Self::Append(_) | Self::Copy(_) | Self::SetAside(..) | Self::LetGo(_) => true,
            Self::Claim(_) | Self::Release(_) | Self::Try => false,
        }
    }

    /// The run that others wait for, and how far its log goes now.
    pub(super) fn news(&self) -> Option<(&RunId, u64)> {
        match self {
            Self::Append(append) => Some((append.run(), append.head.seq)),
            Self::Copy(part) => Some((part.run(), part.after().seq)),
            _ => None,
        }
    }

    /// Makes the change, or refuses it before anything is written.
    pub(super) fn make(
        &self,
        connection: &Connection,
        keys: &mut Keys,
        worker: &Worker,
    ) -> Result<(), ChangeFault> {
        match self {
            Self::Append(append) => make_append(append, connection, keys, worker),
            Self::Claim(run) => claim(run, connection, keys, worker),
            Self::Release(run) => release(run, connection, keys, worker),
            Self::Copy(part) => copying::add(part, connection, keys, worker),
            Self::SetAside(run, aside) => copying::set_aside(run, aside, connection, keys, worker),
            Self::LetGo(run) => copying::let_go(run, connection, keys),
            Self::Try => rewrite_version(connection),
        }
    }
}

/// The version of the file is a number in its first page, which is written and synced like any other.
fn rewrite_version(connection: &Connection) -> Result<(), ChangeFault> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(connection.pragma_update(None, "user_version", version)?)
}

fn make_append(
    append: &Append,
    connection: &Connection,
    keys: &mut Keys,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let is_known = !append.starts_run() || keys.find(connection, append.run())?.is_some();
    let key = if is_known {
        let (key, goal) = keys.get(connection, append.run())?;
        append.check_head(keys::head(connection, *key)?)?;
        append.check_goal(goal.as_str())?;
        let key = *key;
        if !keys.held.contains(append.run()) {
            copying::check_here(append.run(), key, connection)?;
        }
        key
    } else {
        worker.report()?;
        start_run(append, connection)?
    };
    insert_blobs(append, connection)?;
    insert_entries(append, key, connection)?;
    match (append.starts_run(), append.ends_run()) {
        (_, true) => {
            free(key, connection)?;
            keys.forget(append.run());
        }
        (true, false) => {
            hold(key, connection, worker)?;
            keys.held.insert(append.run().clone());
        }
        (false, false) => {}
    }
    Ok(())
}

/// Who holds the run, or why nobody does.
pub(super) fn lease(key: RunKey, connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT worker FROM lease WHERE run_key = ?1")?
        .query_row([key.0], |row| row.get(0))
        .optional()
}

pub(super) fn start_run(append: &Append, connection: &Connection) -> rusqlite::Result<RunKey> {
    connection
        .prepare_cached("INSERT INTO run (id, goal) VALUES (?1, ?2)")?
        .execute([append.run().as_str(), append.goal().as_str()])?;
    Ok(RunKey(connection.last_insert_rowid()))
}

pub(super) fn insert_blobs(append: &Append, connection: &Connection) -> rusqlite::Result<()> {
    for (reference, content) in &append.blobs {
        let hash = reference.hash.as_bytes().as_slice();
        let is_known = connection
            .prepare_cached("SELECT 1 FROM blob WHERE hash = ?1")?
            .exists([hash])?;
        if !is_known {
            connection
                .prepare_cached("INSERT INTO blob (hash, bytes) VALUES (?1, ?2)")?
                .execute(params![hash, content.as_bytes()])?;
        }
    }
    Ok(())
}

pub(super) fn insert_entries(
    append: &Append,
    key: RunKey,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO entry (id, format, at, turn, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for entry in append.entries.iter() {
        insert.execute(params![
            key.entry(entry.seq),
            entry.format,
            entry.at.0 as i64,
            entry.turn,
            &entry.body[..],
            append
                .stored_hash(entry)
                .as_ref()
                .map(|hash| hash.as_bytes().as_slice()),
        ])?;
    }
    Ok(())
}

fn claim(
    run: &RunId,
    connection: &Connection,
    keys: &mut Keys,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let (key, _) = *keys.get(connection, run)?;
    copying::check_here(run, key, connection)?;
    let lease = lease(key, connection)?;
    let holder = match &lease {
        Some(other) => worker.holder(other)?,
        None => Holder::Nobody,
    };
    match holder {
        Holder::This => Ok(()),
        Holder::Nobody | Holder::Queue => {
            worker.report()?;
            hold(key, connection, worker)?;
            keys.held.insert(run.clone());
            Ok(())
        }
        Holder::Other => Err(ChangeFault::Refused(StoreError::Held {
            run: run.clone(),
            by: worker::describe(&lease.unwrap_or_default()),
        })),
    }
}

fn release(
    run: &RunId,
    connection: &Connection,
    keys: &mut Keys,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let (key, _) = *keys.get(connection, run)?;
    connection
        .prepare_cached("DELETE FROM lease WHERE run_key = ?1 AND worker = ?2")?
        .execute(params![key.0, worker.id()])?;
    keys.forget(run);
    Ok(())
}

fn hold(key: RunKey, connection: &Connection, worker: &Worker) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO lease (run_key, worker) VALUES (?1, ?2)")?
        .execute(params![key.0, worker.id()])?;
    Ok(())
}

pub(super) fn free(key: RunKey, connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM lease WHERE run_key = ?1")?
        .execute([key.0])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use bonded_kernel::{Catalog, Input, Millis, RunConfig, RunStarted, Step, Target, start, step};

    use super::*;
    use crate::sqlite::file::{LOG, StoreFile};

    fn made(step: &Step) -> LogChange {
        let append = Append::new(step.before(), step.entries().clone());
        LogChange::Append(append.expect("the kernel's steps follow each other"))
    }

    /// The two steps of a run: it begins, and is cancelled.
    fn run(name: &str) -> (RunId, [LogChange; 2]) {
        let id = RunId::new(name).expect("test ids are well formed");
        let config = RunConfig::new("/", vec![Target::new("script", "replies.json", "m")]);
        let catalog = Catalog::new([]).expect("an empty catalogue is well formed");
        let started = RunStarted::new("a goal".into(), "be brief".into(), config, catalog);
        let (mut run, first) = start(id.clone(), Millis(1), started);
        let reason = "enough".into();
        let last = step(&mut run, Millis(2), Input::Cancel { reason });
        (id, [made(&first), made(&last)])
    }

    #[test]
    fn only_runs_that_are_being_written_are_remembered() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let file = StoreFile::new(&dir.path().join("store.db"), &LOG).expect("a path");
        file.create().expect("the store can be made");
        let connection = file.open_for_writing().expect("it opens");
        let worker = Worker::new(&file);
        let mut keys = Keys::default();
        for number in 0..3 {
            let (id, [first, last]) = run(&format!("ended-{number}"));
            let changes = [
                first,
                LogChange::Claim(id.clone()),
                last,
                LogChange::Release(id),
            ];
            for change in changes {
                let made = change.make(&connection, &mut keys, &worker);
                assert!(made.is_ok(), "{made:?}");
            }
        }
        let (id, [first, _]) = run("under-way");
        for change in [first, LogChange::Claim(id.clone())] {
            let made = change.make(&connection, &mut keys, &worker);
            assert!(made.is_ok(), "{made:?}");
        }
        assert!(keys.known.keys().eq([&id]), "{keys:?}");
    }
}
