//! Copies of logs, from the file and into it. A run that is set aside has a word in the place of its holder that names no
//! process.

use bonded_kernel::{BadEntry, Entry, Event, GoalId, Hash, Head, RunId};
use futures_util::future::{BoxFuture, join_all};
use rusqlite::{Connection, OptionalExtension, params};

use crate::append::Append;
use crate::aside::RunAside;
use crate::copies::{CopiedPart, LogPart, PART_BYTES, RunCopies, StoredRun};
use crate::sqlite::change::{self, ChangeFault, Keys, LogChange};
use crate::sqlite::keys::{self, RunKey, columns, read_row};
use crate::sqlite::reader::{Log, ReadFault, Readers, run_id};
use crate::sqlite::worker::{self, Worker};
use crate::{Holder, SqliteStore, StoreError};

/// Why the run of this key is not continued in this file.
fn aside(key: RunKey, connection: &Connection) -> rusqlite::Result<Option<RunAside>> {
    let lease = change::lease(key, connection)?;
    Ok(lease.as_deref().and_then(RunAside::from_mark))
}

/// Refuses to drive or to continue a run that is set aside.
pub(super) fn check_here(
    run: &RunId,
    key: RunKey,
    connection: &Connection,
) -> Result<(), ChangeFault> {
    match aside(key, connection)? {
        None => Ok(()),
        Some(aside) => Err(ChangeFault::Refused(StoreError::Elsewhere {
            run: run.clone(),
            aside,
        })),
    }
}

/// Refuses what a living process holds.
fn check_free(
    run: &RunId,
    key: RunKey,
    connection: &Connection,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let Some(lease) = change::lease(key, connection)? else {
        return Ok(());
    };
    match worker.holder(&lease)? {
        Holder::Nobody | Holder::Queue => Ok(()),
        Holder::This | Holder::Other => Err(ChangeFault::Refused(StoreError::Held {
            run: run.clone(),
            by: worker::describe(&lease),
        })),
    }
}

fn mark(key: RunKey, aside: &RunAside, connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO lease (run_key, worker) VALUES (?1, ?2)")?
        .execute(params![key.0, aside.to_mark()])?;
    Ok(())
}

/// Appends a part, as it was appended elsewhere.
pub(super) fn add(
    part: &CopiedPart,
    connection: &Connection,
    keys: &mut Keys,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let Some(first) = part.steps.first() else {
        return Ok(());
    };
    let is_known = !first.starts_run() || keys.find(connection, first.run())?.is_some();
    let key = if is_known {
        let (key, goal) = keys.get(connection, first.run())?;
        first.check_head(keys::head(connection, *key)?)?;
        first.check_goal(goal.as_str())?;
        let key = *key;
        check_free(first.run(), key, connection, worker)?;
        key
    } else {
        change::start_run(first, connection)?
    };
    for step in &part.steps {
        change::insert_blobs(step, connection)?;
        change::insert_entries(step, key, connection)?;
    }
    match part.ends_run() {
        true => change::free(key, connection)?,
        false => mark(key, &RunAside::CopyOf(part.from.clone()), connection)?,
    }
    keys.forget(first.run());
    Ok(())
}

/// One that has ended stays as it is.
pub(super) fn set_aside(
    run: &RunId,
    aside: &RunAside,
    connection: &Connection,
    keys: &mut Keys,
    worker: &Worker,
) -> Result<(), ChangeFault> {
    let (key, goal) = keys.get(connection, run)?.clone();
    if last(connection, key, run, &goal)?.has_ended {
        return Ok(());
    }
    check_free(run, key, connection, worker)?;
    mark(key, aside, connection)?;
    keys.forget(run);
    Ok(())
}

pub(super) fn let_go(
    run: &RunId,
    connection: &Connection,
    keys: &mut Keys,
) -> Result<(), ChangeFault> {
    let (key, _) = *keys.get(connection, run)?;
    if aside(key, connection)?.is_some() {
        change::free(key, connection)?;
    }
    keys.forget(run);
    Ok(())
}

/// The end of a log.
struct LogEnd {
    head: Head,
    has_ended: bool,
}

/// Looks at the last entry alone. What cannot be read has not ended; who reads the log is told what is wrong with it.
fn last(
    connection: &Connection,
    key: RunKey,
    run: &RunId,
    goal: &GoalId,
) -> rusqlite::Result<LogEnd> {
    let row = connection
        .prepare_cached(concat!(
            "SELECT ",
            columns!(),
            " FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1"
        ))?
        .query_row(params![key.entry(0), key.last_entry()], read_row)
        .optional()?;
    let Some(mut row) = row else {
        return Ok(LogEnd {
            head: Head::EMPTY,
            has_ended: false,
        });
    };
    let head = Head {
        seq: row.seq,
        hash: row.hash.unwrap_or(Hash::ZERO),
    };
    // Only the kind of the entry is asked for, and neither its hash nor its texts.
    row.hash = None;
    let entry = row.open(run, goal, Hash::ZERO, |_| Some("".into()));
    let has_ended = entry.is_ok_and(|entry| matches!(entry.event, Event::RunEnded(_)));
    Ok(LogEnd { head, has_ended })
}

/// A row of key, id, goal and holder.
fn stored(
    connection: &Connection,
    row: &rusqlite::Row<'_>,
    worker: &Worker,
) -> Result<StoredRun, ReadFault> {
    let key = RunKey(row.get(0)?);
    let run = run_id(row.get_ref(1)?.as_str()?)?;
    let goal = GoalId::from_stored(row.get_ref(2)?.as_str()?);
    let end = last(connection, key, &run, &goal)?;
    let lease: Option<String> = row.get(3)?;
    Ok(StoredRun {
        place: key.0,
        head: end.head,
        has_ended: end.has_ended,
        aside: lease.as_deref().and_then(RunAside::from_mark),
        held: lease.map_or(Ok(Holder::Nobody), |lease| worker.holder(&lease))?,
        queued: None,
        run,
        goal,
    })
}

impl Readers {
    fn runs_after(
        &self,
        place: i64,
        count: usize,
        worker: &Worker,
    ) -> Result<Vec<StoredRun>, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT key, id, goal, worker FROM run LEFT JOIN lease ON run_key = key \
                 WHERE key > ?1 ORDER BY key LIMIT ?2",
            )?;
            let mut rows = query.query([place, count])?;
            let mut runs = vec![];
            while let Some(row) = rows.next()? {
                runs.push(stored(connection, row, worker)?);
            }
            Ok(runs)
        })
    }

    fn runs_named(&self, runs: &[RunId], worker: &Worker) -> Result<Vec<StoredRun>, StoreError> {
        self.read(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT key, id, goal, worker FROM run LEFT JOIN lease ON run_key = key WHERE id = ?1",
            )?;
            let mut found = vec![];
            for run in runs {
                let mut rows = query.query([run.as_str()])?;
                if let Some(row) = rows.next()? {
                    found.push(stored(connection, row, worker)?);
                }
            }
            Ok(found)
        })
    }

    fn head_at(&self, run: &RunId, seq: u64) -> Result<Option<Head>, StoreError> {
        self.read(|connection| {
            let Some((key, _)) = keys::find(connection, run)? else {
                return Ok(None);
            };
            let anchor = keys::anchor(connection, key, seq)?;
            Ok((seq > 0 && anchor.seq == seq).then_some(anchor))
        })
    }

    fn read_steps(
        &self,
        after: &[(RunId, Head)],
        steps_max: usize,
    ) -> Result<Vec<LogPart>, StoreError> {
        self.read(|connection| {
            let mut room = ReadingRoom {
                steps: steps_max.max(1),
                bytes: PART_BYTES,
            };
            let mut parts = Vec::with_capacity(after.len());
            for (run, head) in after {
                let mut part = LogPart {
                    run: run.clone(),
                    steps: vec![],
                    fault: None,
                };
                match room.fill(&mut part, *head, connection) {
                    Ok(()) => {}
                    Err(ReadFault::BadLog { run, source }) => {
                        part.fault = Some(self.bad_log(run, source));
                    }
                    Err(ReadFault::Store(error)) => part.fault = Some(error),
                    Err(fault) => return Err(fault),
                }
                parts.push(part);
            }
            Ok(parts)
        })
    }
}

/// What may still be read.
struct ReadingRoom {
    steps: usize,
    bytes: u64,
}

impl ReadingRoom {
    fn fill(
        &mut self,
        part: &mut LogPart,
        after: Head,
        connection: &Connection,
    ) -> Result<(), ReadFault> {
        let unknown = || StoreError::UnknownRun {
            run: part.run.clone(),
        };
        let (key, goal) = keys::find(connection, &part.run)?.ok_or_else(unknown)?;
        let mut query = connection.prepare_cached(concat!(
            "SELECT ",
            columns!(),
            " FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
        ))?;
        let mut rows = query.query(params![key.entry(after.seq + 1), key.last_entry()])?;
        let (mut before, mut prev, mut step) = (after, after.hash, Vec::<Entry>::new());
        while self.steps > 0 && self.bytes > 0 {
            let Some(row) = rows.next()? else {
                break;
            };
            let row = read_row(row)?;
            let is_last = row.hash.is_some();
            // A text that several steps refer to is read for each, so that none stays in memory after its step.
            let entry = Log::new(connection, &part.run, &goal).open(row, prev)?;
            prev = entry.hash;
            step.push(entry);
            if is_last {
                let append = Append::new(before, std::mem::take(&mut step).into())?;
                before = append.head;
                self.take(&append);
                part.steps.push(append);
            }
        }
        match step.last() {
            // An append is all or nothing, so somebody has taken the rest of it away.
            Some(last) if self.steps > 0 && self.bytes > 0 => Err(ReadFault::BadLog {
                run: part.run.clone(),
                source: BadEntry::BrokenChain { seq: last.seq },
            }),
            _ => Ok(()),
        }
    }

    fn take(&mut self, append: &Append) {
        let bytes = append.blobs.iter().map(|(_, content)| content.len());
        let bytes: usize = bytes.sum();
        self.bytes = self
            .bytes
            .saturating_sub(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.steps -= 1;
    }
}

impl RunCopies for SqliteStore {
    fn label(&self) -> String {
        self.file.path().display().to_string()
    }

    fn identity(&self) -> BoxFuture<'_, Result<String, StoreError>> {
        let identity = self.file.identity();
        Box::pin(async move { Ok(format!("{:?}", identity?)) })
    }

    fn runs_after(
        &self,
        place: i64,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        let worker = self.worker.clone();
        Box::pin(self.read(move |readers| readers.runs_after(place, count, &worker)))
    }

    fn runs_named(&self, runs: Vec<RunId>) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        let worker = self.worker.clone();
        Box::pin(self.read(move |readers| readers.runs_named(&runs, &worker)))
    }

    fn head_at<'a>(
        &'a self,
        run: &'a RunId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        Box::pin(self.read(move |readers| readers.head_at(&run, seq)))
    }

    fn read_steps(
        &self,
        after: Vec<(RunId, Head)>,
        steps_max: usize,
    ) -> BoxFuture<'_, Result<Vec<LogPart>, StoreError>> {
        Box::pin(self.read(move |readers| readers.read_steps(&after, steps_max)))
    }

    fn add_copies(
        &self,
        parts: Vec<CopiedPart>,
    ) -> BoxFuture<'_, Result<Vec<Result<(), StoreError>>, StoreError>> {
        Box::pin(async move {
            // All are given to the writer before the first is answered, so that they share a commit.
            let parts = parts.into_iter();
            let added = join_all(parts.map(|part| self.change(LogChange::Copy(part)))).await;
            let is_of_all = |error: &&StoreError| {
                !matches!(
                    error,
                    StoreError::Conflict { .. }
                        | StoreError::Held { .. }
                        | StoreError::NotAppendable { .. }
                        | StoreError::UnknownRun { .. }
                )
            };
            let failed = added.iter().filter_map(|it| it.as_ref().err());
            match { failed }.find(is_of_all) {
                Some(error) => Err(error.clone()),
                None => Ok(added),
            }
        })
    }

    fn set_aside<'a>(
        &'a self,
        run: &'a RunId,
        aside: RunAside,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        Box::pin(async move {
            self.change(LogChange::SetAside(run.clone(), aside)).await?;
            let found = self.runs_named(vec![run.clone()]).await?;
            let open = found.into_iter().find(|it| !it.has_ended);
            Ok(open.map(|it| it.head))
        })
    }

    fn let_go<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.change(LogChange::LetGo(run.clone())))
    }
}
