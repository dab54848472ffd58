//! Parts of logs that come from another store: many runs in one statement, with one commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use bonded_state::{Append, CopiedPart, RunAside, StoreError};
use tokio_postgres::Row;

use crate::append::{bytes, seq};
use crate::keys::{ASIDE, ENDED, QUEUED, UNQUEUED, WAITING};
use crate::parameter::SqlValues;
use crate::server::Server;
use crate::{blobs, body};

/// The parts, one row each, and the words that belong to a run.
macro_rules! parts {
    () => {
        "WITH n AS (SELECT n.*, coalesce((SELECT array_agg(a.word ORDER BY a.place) \
                FROM unnest($10::text[], $11::text[]) WITH ORDINALITY AS a (id, word, place) WHERE a.id = n.id), '{}') AS at_hand \
            FROM unnest($1::text[], $2::text[], $3::int[], $4::bytea[], $5::int[], $6::bytea[], $7::smallint[], $8::int[], \
                $9::text[]) WITH ORDINALITY AS n (id, goal, before, prev, last, hash, state, lane, dir, place)), "
    };
}

/// Their steps and long texts, for the runs of which something was done.
macro_rules! keep {
    () => {
        ", b AS (INSERT INTO bonded.blob (run, hash, bytes) SELECT h.run, t.hash, t.bytes \
            FROM unnest($12::text[], $13::bytea[], $14::bytea[]) AS t (id, hash, bytes) JOIN h USING (id) ON CONFLICT DO NOTHING), \
         s AS (INSERT INTO bonded.step (run, first, last, hash, blobs, body) \
            SELECT h.run, t.first, t.last, t.hash, t.blobs, t.body \
            FROM unnest($15::text[], $16::int[], $17::int[], $18::bytea[], $19::bytea[], $20::bytea[]) \
                AS t (id, first, last, hash, blobs, body) JOIN h USING (id)) \
         SELECT id FROM h"
    };
}

/// Begins runs, in the order in which they began elsewhere: lists are in that order.
const BEGIN: &str = concat!(
    parts!(),
    "h AS (INSERT INTO bonded.run (id, goal) SELECT id, goal FROM n ORDER BY place ON CONFLICT (id) DO NOTHING \
        RETURNING run, id), \
     d AS (INSERT INTO bonded.drive (run, epoch, head, hash, state, lane, dir, at_hand, why) \
        SELECT h.run, 1, n.last, n.hash, n.state, n.lane, n.dir, n.at_hand, \
            CASE WHEN n.state >= 10 THEN $21::text END FROM h JOIN n USING (id))",
    keep!()
);

/// Moves heads, each if it is where the part follows and no living process drives the run.
const CONTINUE: &str = concat!(
    parts!(),
    "h AS (UPDATE bonded.drive d SET head = n.last, hash = n.hash, state = n.state, epoch = d.epoch + 1, worker = NULL, \
        ready = NULL, lane = coalesce(n.lane, d.lane), dir = coalesce(n.dir, d.dir), \
        at_hand = CASE WHEN n.lane IS NULL THEN d.at_hand ELSE n.at_hand END, \
        why = CASE WHEN n.state >= 10 THEN $21::text END \
        FROM n JOIN bonded.run r USING (id) WHERE d.run = r.run AND d.head = n.before AND d.hash = n.prev \
            AND r.goal = n.goal AND (d.worker IS NULL \
                OR EXISTS (SELECT 1 FROM bonded.worker w WHERE w.id = d.worker AND w.dead)) \
        RETURNING d.run, r.id)",
    keep!()
);

const BURY: &str = "UPDATE bonded.worker SET dead = true WHERE id IN (SELECT id FROM bonded.worker \
        WHERE NOT dead AND expires <= clock_timestamp() FOR UPDATE SKIP LOCKED) RETURNING id";

/// The columns of a statement.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<&'a str>,
    goals: Vec<&'a str>,
    before: Vec<i32>,
    prev: Vec<&'a [u8]>,
    last: Vec<i32>,
    hashes: Vec<&'a [u8]>,
    states: Vec<i16>,
    lanes: Vec<Option<i32>>,
    dirs: Vec<Option<&'a str>>,
    at_hand_ids: Vec<&'a str>,
    at_hand: Vec<&'a str>,
    blob_ids: Vec<&'a str>,
    blob_hashes: Vec<&'a [u8]>,
    blobs: Vec<&'a [u8]>,
    step_ids: Vec<&'a str>,
    step_first: Vec<i32>,
    step_last: Vec<i32>,
    step_hashes: Vec<&'a [u8]>,
    step_blobs: Vec<Option<Vec<u8>>>,
    step_bodies: Vec<Vec<u8>>,
    why: String,
}

impl<'a> Columns<'a> {
    fn add(&mut self, part: &'a CopiedPart, lane: Option<i32>) {
        let (first, last) = (&part.steps[0], &part.steps[part.steps.len() - 1]);
        let id = first.run().as_str();
        self.ids.push(id);
        self.goals.push(first.goal().as_str());
        self.before.push(seq(first.expected));
        self.prev.push(bytes(&first.expected.hash));
        self.last.push(seq(last.head));
        self.hashes.push(bytes(&last.head.hash));
        self.states.push(state(part));
        self.lanes.push(lane);
        let submission = part.queued.as_ref().map(|it| &it.submission);
        self.dirs.push(submission.map(|it| it.dir.as_str()));
        for word in submission.iter().flat_map(|it| &it.at_hand) {
            self.at_hand_ids.push(id);
            self.at_hand.push(word);
        }
        let mut kept = BTreeSet::new();
        for step in &part.steps {
            self.add_step(id, step, &mut kept);
        }
        self.why = RunAside::CopyOf(part.from.clone()).to_mark();
    }

    fn add_step(&mut self, id: &'a str, step: &'a Append, kept: &mut BTreeSet<&'a [u8]>) {
        for (reference, content) in &step.blobs {
            let hash = reference.hash.as_bytes().as_slice();
            if kept.insert(hash) {
                self.blob_ids.push(id);
                self.blob_hashes.push(hash);
                self.blobs.push(content.as_bytes());
            }
        }
        self.step_ids.push(id);
        self.step_first.push(seq(step.expected) + 1);
        self.step_last.push(seq(step.head));
        self.step_hashes.push(bytes(&step.head.hash));
        self.step_blobs.push(blobs::referred(step));
        self.step_bodies.push(body::write(&step.entries));
    }
}

/// What a run is in here that is continued elsewhere.
fn state(part: &CopiedPart) -> i16 {
    match &part.queued {
        _ if part.ends_run() => ENDED,
        None => ASIDE + UNQUEUED,
        Some(queued) if queued.awaits_person => ASIDE + WAITING,
        Some(_) => ASIDE + QUEUED,
    }
}

impl Server {
    /// A part whose outcome is unknown is neither repeated nor settled here: who copies looks at the head.
    pub(crate) async fn add_copies(
        self: &Arc<Self>,
        parts: Vec<CopiedPart>,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        if parts
            .iter()
            .any(|it| !it.steps.is_empty() && !it.steps[0].starts_run())
        {
            self.read(BURY, &[]).await?;
        }
        let (mut begins, mut continues) = (Columns::default(), Columns::default());
        for part in parts.iter().filter(|part| !part.steps.is_empty()) {
            let lane = match &part.queued {
                Some(queued) => Some(self.lane(&queued.submission).await?),
                None => None,
            };
            match part.steps[0].starts_run() {
                true => begins.add(part, lane),
                false => continues.add(part, lane),
            }
        }
        let mut done = BTreeSet::new();
        for (sql, columns) in [(BEGIN, &begins), (CONTINUE, &continues)] {
            if !columns.ids.is_empty() {
                let rows = self.send_copies(sql, columns).await?;
                done.extend(rows.iter().map(|row| row.get::<_, String>(0)));
            }
        }
        let mut added = Vec::with_capacity(parts.len());
        for part in &parts {
            let is_done = part.steps.is_empty() || done.contains(part.run().as_str());
            added.push(match is_done {
                true => Ok(()),
                false => Err(self.refusal(part).await?),
            });
            if is_done && !part.steps.is_empty() {
                self.watchers.publish(part.run(), part.after().seq);
            }
        }
        Ok(added)
    }

    async fn send_copies(
        &self,
        sql: &'static str,
        it: &Columns<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let values: SqlValues<'_> = &[
            &it.ids,
            &it.goals,
            &it.before,
            &it.prev,
            &it.last,
            &it.hashes,
            &it.states,
            &it.lanes,
            &it.dirs,
            &it.at_hand_ids,
            &it.at_hand,
            &it.blob_ids,
            &it.blob_hashes,
            &it.blobs,
            &it.step_ids,
            &it.step_first,
            &it.step_last,
            &it.step_hashes,
            &it.step_blobs,
            &it.step_bodies,
            &it.why,
        ];
        self.rows(self.connection().await?, sql, values).await
    }

    /// Why a part was not taken.
    async fn refusal(&self, part: &CopiedPart) -> Result<StoreError, StoreError> {
        let run = part.run().clone();
        let found = self.runs_named(std::slice::from_ref(&run)).await?;
        let Some(found) = found.into_iter().next() else {
            return Ok(StoreError::UnknownRun { run });
        };
        if let Err(conflict) = part.steps[0].check_head(found.head) {
            return Ok(conflict);
        }
        if let Err(other) = part.steps[0].check_goal(found.goal.as_str()) {
            return Ok(other);
        }
        let by = "another process".into();
        Ok(StoreError::Held { run, by })
    }
}
