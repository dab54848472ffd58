//! Reading what the log holds.

use std::collections::BTreeSet;

use bonded_kernel::{BadEntry, Entry, GoalId, Hash, Head, Header, RunId};
use bonded_state::{ENTRIES_MAX, Ends, Holder, ListFilter, Listed, StoreError};
use tokio_postgres::Row;

use crate::append::head_of;
use crate::blobs::{self, Blobs};
use crate::body;
use crate::keys::{RunNumber, WAITING};
use crate::server::Server;

const HEAD: &str = "SELECT head, hash FROM bonded.run JOIN bonded.drive USING (run) WHERE id = $1";

/// Whole appends: from the first that reaches beyond entry $2, as many as begin within the next $3 entries. Each row tells
/// the place that the first one follows, too.
const STEPS: &str = "WITH a AS (SELECT last, hash FROM (SELECT last, hash FROM bonded.step \
        WHERE run = $1 AND first <= $2 ORDER BY first DESC LIMIT 2) t WHERE last <= $2 ORDER BY last DESC LIMIT 1) \
     SELECT s.first, s.last, s.hash, s.blobs, s.body, coalesce(a.last, 0) AS before, a.hash AS before_hash, d.head \
     FROM bonded.step s JOIN bonded.drive d USING (run) LEFT JOIN a ON true \
     WHERE s.run = $1 AND s.first > coalesce(a.last, 0) AND s.first <= coalesce(a.last, 0) + $3::bigint \
     ORDER BY s.first";

const BLOBS: &str = "SELECT DISTINCT b.hash, b.bytes FROM unnest($1::bigint[], $2::bytea[]) AS t (run, hash) \
     JOIN bonded.blob b ON b.run = t.run AND b.hash = t.hash";

/// The newest runs, with the first and the last append of each.
const LIST: &str = "WITH r AS (SELECT run, id, goal FROM bonded.run \
        WHERE $1 = '' OR (id >= $1 AND id < $2) ORDER BY run DESC LIMIT $3) \
     SELECT r.run, r.id, r.goal, d.state, d.worker, coalesce(NOT w.dead AND w.expires > clock_timestamp(), false) AS lives, \
        f.first, f.last, f.hash, f.blobs, f.body, \
        l.first AS l_first, l.last AS l_last, l.hash AS l_hash, l.blobs AS l_blobs, l.body AS l_body, p.hash AS p_hash \
     FROM r JOIN bonded.drive d USING (run) LEFT JOIN bonded.worker w ON w.id = d.worker \
     LEFT JOIN bonded.step f ON f.run = r.run AND f.first = 1 \
     LEFT JOIN LATERAL (SELECT * FROM bonded.step s WHERE s.run = r.run ORDER BY s.first DESC LIMIT 1) l ON true \
     LEFT JOIN LATERAL (SELECT hash FROM bonded.step s WHERE s.run = r.run AND s.first < l.first \
        ORDER BY s.first DESC LIMIT 1) p ON true \
     ORDER BY r.run DESC";

/// An append as it lies in its row.
pub(crate) struct Step {
    first: u64,
    last: u64,
    hash: Hash,
    pub(crate) blobs: Vec<Vec<u8>>,
    body: Vec<u8>,
}

impl Step {
    /// From the columns of these names; `None` where the row has none.
    pub(crate) fn of(row: &Row, names: [&str; 5]) -> Option<Self> {
        let [first, last, hash, blobs, body] = names;
        let number = |name: &str| row.get::<_, Option<i32>>(name).map(i32::unsigned_abs);
        let named: Option<&[u8]> = row.get(blobs);
        Some(Self {
            first: number(first)?.into(),
            last: number(last)?.into(),
            hash: hash_of(row.get::<_, Option<&[u8]>>(hash)),
            blobs: named.into_iter().flat_map(blobs::named).collect(),
            body: row.get::<_, Option<Vec<u8>>>(body)?,
        })
    }

    /// Reads the entries, which follow `before`.
    pub(crate) fn open(
        &self,
        run: &RunId,
        goal: &GoalId,
        before: Head,
        contents: &Blobs,
    ) -> Result<Vec<Entry>, BadEntry> {
        let broken = BadEntry::BrokenChain { seq: self.first };
        let parts = body::read(&self.body).ok_or(broken.clone())?;
        let is_whole = self.first == before.seq + 1 && self.last == before.seq + parts.len() as u64;
        if !is_whole {
            return Err(broken);
        }
        let mut prev = before.hash;
        let mut entries = Vec::with_capacity(parts.len());
        for (part, seq) in parts.into_iter().zip(self.first..) {
            let header = Header {
                format: part.format,
                run: run.clone(),
                goal: goal.clone(),
                seq,
                at: part.at,
                turn: part.turn,
                prev,
            };
            let stored = (seq == self.last).then_some(self.hash);
            let entry = Entry::open(header, stored, part.body, |hash| {
                contents.get(hash).cloned()
            })?;
            prev = entry.hash;
            entries.push(entry);
        }
        Ok(entries)
    }
}

/// The first and the last append of a run.
struct Outer {
    first: Step,
    last: Step,
    /// The hash that the last one follows.
    before: Hash,
}

impl Outer {
    fn of(row: &Row) -> Option<Self> {
        Some(Self {
            first: Step::of(row, COLUMNS)?,
            last: Step::of(row, LAST_COLUMNS)?,
            before: hash_of(row.get("p_hash")),
        })
    }

    fn open(&self, run: &RunId, goal: &GoalId, contents: &Blobs) -> Result<Ends, BadEntry> {
        let before = Head {
            seq: self.last.first.saturating_sub(1),
            hash: self.before,
        };
        let first = self.first.open(run, goal, Head::EMPTY, contents)?;
        let last = self.last.open(run, goal, before, contents)?;
        let broken = BadEntry::BrokenChain { seq: 1 };
        match (first.into_iter().next(), last.into_iter().next_back()) {
            (Some(first), Some(last)) => Ok(Ends { first, last }),
            _ => Err(broken),
        }
    }
}

pub(crate) const COLUMNS: [&str; 5] = ["first", "last", "hash", "blobs", "body"];
const LAST_COLUMNS: [&str; 5] = ["l_first", "l_last", "l_hash", "l_blobs", "l_body"];

fn hash_of(bytes: Option<&[u8]>) -> Hash {
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(Hash::ZERO, Hash::from_bytes)
}

impl Server {
    pub(crate) async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        if let Some(settled) = self.settle_doubt(run).await? {
            return Ok(Some(settled));
        }
        let rows = self.read(HEAD, &[&run.as_str()]).await?;
        Ok(rows.first().map(|row| head_of(row, "head", "hash")))
    }

    pub(crate) async fn load(
        &self,
        run: &RunId,
        after: u64,
        count: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let (key, goal) = match self.held.get(run) {
            Some(held) => (held.key, held.goal),
            None => self.get(run).await?,
        };
        let after_max = i32::try_from(after.min(ENTRIES_MAX)).unwrap_or(i32::MAX);
        let count = i64::try_from(count)
            .unwrap_or(i64::MAX)
            .min(i64::from(i32::MAX));
        let rows = self.read(STEPS, &[&key, &after_max, &count]).await?;
        let Some(row) = rows.first() else {
            return Ok(vec![]);
        };
        let mut before = Head {
            seq: row.get::<_, i32>("before").unsigned_abs().into(),
            hash: hash_of(row.get("before_hash")),
        };
        let head: u64 = row.get::<_, i32>("head").unsigned_abs().into();
        let end = before.seq.saturating_add(count.unsigned_abs());
        let steps: Vec<Step> = rows
            .iter()
            .filter_map(|row| Step::of(row, COLUMNS))
            .collect();
        let contents = self.contents(steps.iter().map(|step| (key, step))).await?;
        let bad = |source| self.bad_log(run, source);
        let mut entries = vec![];
        for step in &steps {
            let opened = step.open(run, &goal, before, &contents).map_err(bad)?;
            before = opened.last().map_or(before, Entry::head);
            entries.extend(opened);
        }
        // All that the head says is there, or begins beyond what was asked for.
        if before.seq < head.min(end) {
            let seq = before.seq + 1;
            return Err(bad(BadEntry::BrokenChain { seq }));
        }
        entries.retain(|entry| entry.seq > after);
        Ok(entries)
    }

    pub(crate) fn bad_log(&self, run: &RunId, source: BadEntry) -> StoreError {
        StoreError::BadLog {
            file: self.address.label().into(),
            run: run.clone(),
            source,
        }
    }

    /// The long texts that steps refer to, with one question.
    pub(crate) async fn contents<'a>(
        &self,
        steps: impl Iterator<Item = (RunNumber, &'a Step)>,
    ) -> Result<Blobs, StoreError> {
        let named = steps.flat_map(|(key, step)| step.blobs.iter().map(move |hash| (key, hash)));
        let named: BTreeSet<(RunNumber, &Vec<u8>)> = named.collect();
        if named.is_empty() {
            return Ok(Blobs::new());
        }
        let (keys, hashes): (Vec<RunNumber>, Vec<&[u8]>) = named
            .into_iter()
            .map(|(key, hash)| (key, hash.as_slice()))
            .unzip();
        let rows = self.read(BLOBS, &[&keys, &hashes]).await?;
        blobs::read(&rows).map_err(|error| self.fault(&error))
    }

    pub(crate) async fn list(&self, filter: &ListFilter) -> Result<Vec<Listed>, StoreError> {
        let prefix = filter.prefix.as_deref().unwrap_or_default();
        let beyond = format!("{prefix}{}", char::MAX);
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let rows = self.read(LIST, &[&prefix, &beyond, &limit]).await?;
        let ends = rows.iter().map(|row| (row.get("run"), Outer::of(row)));
        let ends: Vec<(RunNumber, Option<Outer>)> = ends.collect();
        let steps = ends
            .iter()
            .filter_map(|(key, outer)| Some((*key, outer.as_ref()?)));
        let steps = steps.flat_map(|(key, outer)| [(key, &outer.first), (key, &outer.last)]);
        let contents = self.contents(steps).await?;
        let mut listed = Vec::with_capacity(rows.len());
        for (row, (_, outer)) in rows.iter().zip(&ends) {
            let id: &str = row.get("id");
            let Ok(run) = RunId::new(id) else {
                let why = format!("{id:?} names a run");
                let file = self.address.label().into();
                return Err(StoreError::Corrupt { file, why });
            };
            let goal = GoalId::from_stored(row.get("goal"));
            let missing = || {
                let why = "it is missing".into();
                BadEntry::Unreadable { seq: 1, why }
            };
            let outer = outer.as_ref().ok_or_else(missing);
            let ends = outer.and_then(|outer| outer.open(&run, &goal, &contents));
            listed.push(Listed {
                held: self.holder(row),
                ends: ends.map_err(|source| self.bad_log(&run, source)),
                run,
                goal,
            });
        }
        Ok(listed)
    }

    pub(crate) fn holder(&self, row: &Row) -> Holder {
        let worker: Option<i64> = row.get("worker");
        match (worker, row.get("lives")) {
            (Some(_), _) if worker == self.lease.worker() => Holder::This,
            (Some(_), true) => Holder::Other,
            // Also one whose worker died: another one takes it.
            _ if row.get::<_, i16>("state") < WAITING => Holder::Queue,
            _ => Holder::Nobody,
        }
    }
}
