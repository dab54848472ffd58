//! Copies of logs, from the server and into it.
//!
//! A run that is set aside has a state of its own: that which it had, and ten. No worker takes it, nobody claims it, and nobody
//! appends to it; its row says in `why` which store continues it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bonded_kernel::{GoalId, Head, RunId};
use bonded_state::{
    Append, CopiedPart, Holder, LogPart, PART_BYTES, QueuedCopy, RunAside, RunCopies, StoreError,
    StoredRun, Submission,
};
use futures_util::future::BoxFuture;
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::append::head_of;
use crate::aside::elsewhere;
use crate::keys::{ASIDE, ENDED, RunNumber, WAITING};
use crate::read::{COLUMNS, Step};
use crate::server::Server;

/// A server that was restored to an earlier moment has a timeline of its own; a standby has that of its primary.
const IDENTITY: &str = "SELECT concat_ws('/', s.system_identifier, d.oid, c.timeline_id) FROM pg_control_system() s, \
     pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()";

macro_rules! stored {
    ($runs:literal) => {
        concat!(
            "SELECT r.run, r.id, r.goal, d.head, d.hash, d.state, d.worker, d.why, \
                coalesce(NOT w.dead AND w.expires > clock_timestamp(), false) AS lives, \
                l.queue, l.submitter, l.needs, l.agent, d.dir, d.at_hand \
             FROM (",
            $runs,
            ") r JOIN bonded.drive d USING (run) LEFT JOIN bonded.worker w ON w.id = d.worker \
             LEFT JOIN bonded.lane l ON l.lane = d.lane ORDER BY r.run"
        )
    };
}

const AFTER: &str =
    stored!("SELECT run, id, goal FROM bonded.run WHERE run > $1 ORDER BY run LIMIT $2");

const NAMED: &str = stored!("SELECT run, id, goal FROM bonded.run WHERE id = ANY($1)");

const HEAD_AT: &str = "SELECT s.last, s.hash FROM bonded.run r JOIN LATERAL (SELECT last, hash FROM bonded.step s \
        WHERE s.run = r.run AND s.first <= $2 ORDER BY s.first DESC LIMIT 1) s ON s.last = $2 WHERE r.id = $1";

const STEPS: &str = "SELECT w.number, r.run, r.goal, s.first, s.last, s.hash, s.blobs, s.body \
     FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS w (id, after, number) JOIN bonded.run r ON r.id = w.id \
     JOIN LATERAL (SELECT * FROM bonded.step s WHERE s.run = r.run AND s.first > w.after \
        ORDER BY s.first LIMIT $3) s ON true \
     ORDER BY w.number, s.first LIMIT $3";

const BLOB_LENGTHS: &str = "SELECT b.run, b.hash, octet_length(b.bytes) FROM unnest($1::bigint[], $2::bytea[]) AS t (run, hash) \
     JOIN bonded.blob b ON b.run = t.run AND b.hash = t.hash";

/// What holds the run is dead, or there is nothing; the claims before it do not count any more.
const SET_ASIDE: &str = "UPDATE bonded.drive d SET state = CASE WHEN d.state >= 10 THEN d.state WHEN d.state = 1 THEN 10 \
        ELSE d.state + 10 END, why = $2, worker = NULL, ready = NULL, epoch = d.epoch + 1 FROM bonded.run r \
     WHERE r.id = $1 AND d.run = r.run AND d.state <> 3 AND (d.worker IS NULL \
        OR EXISTS (SELECT 1 FROM bonded.worker w WHERE w.id = d.worker AND w.dead)) RETURNING d.run";

/// A run that waits for a person is looked at again soon: who answered may have done so before.
const LET_GO: &str = "UPDATE bonded.drive d SET state = d.state - 10, why = NULL, epoch = d.epoch + 1, \
        ready = CASE d.state WHEN 10 THEN clock_timestamp() WHEN 12 THEN clock_timestamp() + interval '60 s' END \
     FROM bonded.run r WHERE r.id = $1 AND d.run = r.run AND d.state >= 10 RETURNING d.run";

impl Server {
    async fn identity(&self) -> Result<String, StoreError> {
        let rows = self.read(IDENTITY, &[]).await?;
        Ok(rows.first().map(|row| row.get(0)).unwrap_or_default())
    }

    async fn runs_after(&self, place: i64, count: usize) -> Result<Vec<StoredRun>, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let rows = self.read(AFTER, &[&place, &count]).await?;
        rows.iter().map(|row| self.stored(row)).collect()
    }

    pub(crate) async fn runs_named(&self, runs: &[RunId]) -> Result<Vec<StoredRun>, StoreError> {
        let ids: Vec<&str> = runs.iter().map(RunId::as_str).collect();
        let rows = self.read(NAMED, &[&ids]).await?;
        rows.iter().map(|row| self.stored(row)).collect()
    }

    fn stored(&self, row: &Row) -> Result<StoredRun, StoreError> {
        let id: &str = row.get("id");
        let run = RunId::new(id).map_err(|_| StoreError::Corrupt {
            file: self.address.label().into(),
            why: format!("{id:?} names a run"),
        })?;
        let state: i16 = row.get("state");
        let has_ended = state == ENDED;
        let aside = match elsewhere(&run, state, row.get("why")) {
            Some(StoreError::Elsewhere { aside, .. }) => Some(aside),
            _ => None,
        };
        Ok(StoredRun {
            place: row.get("run"),
            goal: GoalId::from_stored(row.get("goal")),
            head: head_of(row, "head", "hash"),
            held: match aside {
                Some(_) => Holder::Nobody,
                None => self.holder(row),
            },
            queued: queued(row, state).filter(|_| !has_ended),
            has_ended,
            aside,
            run,
        })
    }

    async fn head_at(&self, run: &RunId, seq: u64) -> Result<Option<Head>, StoreError> {
        let Ok(seq) = i32::try_from(seq) else {
            return Ok(None);
        };
        let rows = self.read(HEAD_AT, &[&run.as_str(), &seq]).await?;
        Ok(rows.first().map(|row| head_of(row, "last", "hash")))
    }

    async fn read_steps(
        &self,
        after: &[(RunId, Head)],
        steps_max: usize,
    ) -> Result<Vec<LogPart>, StoreError> {
        let ids: Vec<&str> = after.iter().map(|(run, _)| run.as_str()).collect();
        let seqs = after.iter().map(|(_, head)| i32::try_from(head.seq));
        let seqs: Vec<i32> = seqs.map(|seq| seq.unwrap_or(i32::MAX)).collect();
        let limit = i64::try_from(steps_max.max(1)).unwrap_or(i64::MAX);
        let rows = self.read(STEPS, &[&ids, &seqs, &limit]).await?;
        let mut steps = vec![];
        for row in &rows {
            let number = usize::try_from(row.get::<_, i64>("number") - 1).unwrap_or(usize::MAX);
            if let Some(step) = Step::of(row, COLUMNS) {
                steps.push((number, row.get::<_, RunNumber>("run"), row, step));
            }
        }
        let fitting = self.fitting(steps.iter().map(|it| (it.1, &it.3))).await?;
        steps.truncate(fitting);
        let contents = self
            .contents(steps.iter().map(|(_, key, _, step)| (*key, step)))
            .await?;
        let mut parts: Vec<(Head, LogPart)> = { after.iter() }
            .map(|(run, head)| {
                let run = run.clone();
                let (steps, fault) = (vec![], None);
                (*head, LogPart { run, steps, fault })
            })
            .collect();
        for (number, _, row, step) in &steps {
            let Some((before, part)) = parts.get_mut(*number) else {
                continue;
            };
            if part.fault.is_some() {
                continue;
            }
            let goal = GoalId::from_stored(row.get("goal"));
            let opened = step.open(&part.run, &goal, *before, &contents);
            let opened = opened.map_err(|source| self.bad_log(&part.run, source));
            match opened.and_then(|entries| Append::new(*before, entries.into())) {
                Ok(append) => {
                    *before = append.head;
                    part.steps.push(append);
                }
                Err(error) => part.fault = Some(error),
            }
        }
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// How many of these steps, from the first on, have long texts that fit into memory together; one does.
    async fn fitting<'a>(
        &self,
        steps: impl Iterator<Item = (RunNumber, &'a Step)> + Clone,
    ) -> Result<usize, StoreError> {
        let count = steps.clone().count();
        let named = { steps.clone() }
            .flat_map(|(key, step)| step.blobs.iter().map(move |it| (key, it.as_slice())));
        let named: BTreeSet<(RunNumber, &[u8])> = named.collect();
        if named.is_empty() {
            return Ok(count);
        }
        let (keys, hashes): (Vec<RunNumber>, Vec<&[u8]>) = named.into_iter().unzip();
        let rows = self.read(BLOB_LENGTHS, &[&keys, &hashes]).await?;
        let lengths = rows.iter().map(|row| {
            let length = u64::from(row.get::<_, i32>(2).unsigned_abs());
            ((row.get::<_, RunNumber>(0), row.get::<_, &[u8]>(1)), length)
        });
        let lengths: BTreeMap<(RunNumber, &[u8]), u64> = lengths.collect();
        let mut bytes = 0u64;
        for (number, (key, step)) in steps.enumerate() {
            let own = step.blobs.iter();
            let own = own.filter_map(|hash| lengths.get(&(key, hash.as_slice())));
            bytes = bytes.saturating_add(own.sum());
            if number > 0 && bytes > PART_BYTES {
                return Ok(number);
            }
        }
        Ok(count)
    }

    async fn set_aside(
        self: &Arc<Self>,
        run: &RunId,
        aside: &RunAside,
    ) -> Result<Option<Head>, StoreError> {
        self.bury(run).await?;
        let rows = self
            .read(SET_ASIDE, &[&run.as_str(), &aside.to_mark()])
            .await?;
        let found = self.runs_named(std::slice::from_ref(run)).await?;
        let Some(found) = found.into_iter().next() else {
            return Err(StoreError::UnknownRun { run: run.clone() });
        };
        match (found.has_ended, rows.is_empty()) {
            (true, _) => Ok(None),
            (false, false) => Ok(Some(found.head)),
            (false, true) => Err(StoreError::Held {
                run: run.clone(),
                by: "another process".into(),
            }),
        }
    }

    async fn let_go(&self, run: &RunId) -> Result<(), StoreError> {
        self.read(LET_GO, &[&run.as_str()]).await.map(drop)
    }
}

/// What the row says of a queue.
fn queued(row: &Row, state: i16) -> Option<QueuedCopy> {
    Some(QueuedCopy {
        submission: Submission {
            queue: row.get::<_, Option<String>>("queue")?,
            submitter: row.get("submitter"),
            needs: row.get("needs"),
            agent: row.get("agent"),
            dir: row.get::<_, Option<String>>("dir").unwrap_or_default(),
            at_hand: row.get("at_hand"),
        },
        awaits_person: state % ASIDE == WAITING,
    })
}

/// A method of the server, as a task of its runtime.
macro_rules! task {
    ($self:ident, $server:ident => $work:expr) => {{
        let $server = Arc::clone(&$self.server);
        Box::pin($self.ask(async move { $work.await }))
    }};
}

impl RunCopies for PostgresStore {
    fn label(&self) -> String {
        self.server.address.label().to_owned()
    }

    fn identity(&self) -> BoxFuture<'_, Result<String, StoreError>> {
        task!(self, server => server.identity())
    }

    fn runs_after(
        &self,
        place: i64,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        task!(self, server => server.runs_after(place, count))
    }

    fn runs_named(&self, runs: Vec<RunId>) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        task!(self, server => server.runs_named(&runs))
    }

    fn head_at<'a>(
        &'a self,
        run: &'a RunId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        task!(self, server => server.head_at(&run, seq))
    }

    fn read_steps(
        &self,
        after: Vec<(RunId, Head)>,
        steps_max: usize,
    ) -> BoxFuture<'_, Result<Vec<LogPart>, StoreError>> {
        task!(self, server => server.read_steps(&after, steps_max))
    }

    fn add_copies(
        &self,
        parts: Vec<CopiedPart>,
    ) -> BoxFuture<'_, Result<Vec<Result<(), StoreError>>, StoreError>> {
        task!(self, server => server.add_copies(parts))
    }

    fn set_aside<'a>(
        &'a self,
        run: &'a RunId,
        aside: RunAside,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        task!(self, server => server.set_aside(&run, &aside))
    }

    fn let_go<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        let run = run.clone();
        task!(self, server => server.let_go(&run))
    }
}
