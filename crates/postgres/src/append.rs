//! Appending: one statement that holds the head, the epoch and the entries, and what to do when it is unknown whether it
//! was carried out.

use std::sync::Arc;

use bonded_kernel::{Entry, Event, Hash, Head, RunId};
use bonded_state::{Append, StoreError, Submission};
use tokio_postgres::Row;

use crate::aside;
use crate::blobs;
use crate::body;
use crate::keys::{ENDED, HeldRun, QUEUED, RunNumber, UNQUEUED, WAITING};
use crate::parameter::SqlValues;
use crate::server::Server;

/// Begins a run: who makes it holds it.
macro_rules! begin {
    () => {
        "WITH h AS (INSERT INTO bonded.run (id, goal) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING run), \
         d AS (INSERT INTO bonded.drive (run, epoch, worker, head, hash, state) \
            SELECT run, 1, $3::bigint, $4, $5, CASE WHEN $3::bigint IS NULL THEN 3 ELSE 4 END FROM h)"
    };
}

/// Begins a run that a worker shall drive.
macro_rules! submit {
    () => {
        "WITH h AS (INSERT INTO bonded.run (id, goal) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING run), \
         d AS (INSERT INTO bonded.drive (run, epoch, head, hash, state, ready, lane, dir, at_hand) \
            SELECT run, 1, $4, $5, 0, clock_timestamp(), $3, $10, $11 FROM h)"
    };
}

/// Moves the head, if it is where the entries follow and the claim of this process is the last one. Who does not hold the
/// run names no epoch, and continues none that is set aside. A run that ends is free, and one that is given another goal is
/// driven by who gave it and is of no queue any more. What comes of a run in the queue is what the entries say ($3): most say
/// nothing, and change no column that an index has.
macro_rules! advance {
    () => {
        "WITH h AS (UPDATE bonded.drive SET head = $4, hash = $5, \
            worker = CASE WHEN $3::smallint = 3 THEN NULL ELSE worker END, \
            state = CASE WHEN $3 >= 3 OR state < 3 THEN coalesce($3, state) ELSE state END, \
            lane = CASE WHEN $3 = 4 THEN NULL ELSE lane END, \
            ready = CASE WHEN $3 = 2 THEN NULL WHEN $3 = 0 AND state < 3 THEN clock_timestamp() ELSE ready END \
         WHERE run = $1 AND head = $2 AND hash = $8 AND (epoch = $9 OR ($9 IS NULL AND state < 10)) RETURNING run)"
    };
}

/// Keeps the long texts, each once for its run.
macro_rules! keep_blobs {
    ($hashes:literal, $contents:literal) => {
        concat!(
            ", b AS (INSERT INTO bonded.blob (run, hash, bytes) SELECT h.run, t.hash, t.bytes FROM h, unnest(",
            $hashes,
            "::bytea[], ",
            $contents,
            "::bytea[]) AS t (hash, bytes) ON CONFLICT DO NOTHING)"
        )
    };
}

/// Keeps the entries, if what comes before was done.
macro_rules! add_step {
    ($first:literal) => {
        concat!(
            " INSERT INTO bonded.step (run, first, last, hash, blobs, body) SELECT run, ",
            $first,
            ", $4, $5, $6, $7 FROM h RETURNING run"
        )
    };
}

const START: &str = concat!(begin!(), add_step!("1"));
const START_WITH_BLOBS: &str = concat!(begin!(), keep_blobs!("$8", "$9"), add_step!("1"));
const SUBMIT: &str = concat!(submit!(), keep_blobs!("$8", "$9"), add_step!("1"));
const APPEND: &str = concat!(advance!(), add_step!("$2 + 1"));
const APPEND_WITH_BLOBS: &str = concat!(advance!(), keep_blobs!("$10", "$11"), add_step!("$2 + 1"));

const STATE: &str = "SELECT epoch, head, hash, state, why FROM bonded.drive WHERE run = $1";

/// Settles what became of an append whose answer was lost. It is a write, so that it waits until everything before it is
/// as durable as an answer must be; and it makes the claim a new one, so that the lost append cannot be carried out any more.
const SETTLE: &str = "UPDATE bonded.drive SET epoch = epoch + 1 WHERE run = $1 AND (worker = $2 \
     OR (worker IS NULL AND epoch >= $3 AND head = $4 AND hash = $5)) RETURNING epoch, head, hash";

/// The same for who does not hold the run, and so has no claim to renew.
const SETTLE_AS_GUEST: &str =
    "UPDATE bonded.drive SET head = head WHERE run = $1 RETURNING epoch, head, hash";

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appender {
    /// Who drives the run, or has lost it.
    Driver,
    Guest,
}

/// What became of an append whose answer was lost.
enum Settled {
    /// It is in the log.
    Done,
    /// It is not, and may be made under this claim.
    NotDone(Option<HeldRun>),
}

/// What an append makes of a run that is in the queue.
pub(crate) fn state_after(append: &Append) -> Option<i16> {
    let state = |entry: &Entry| {
        let event = &entry.event;
        let is_end = matches!(event, Event::RunEnded(_)).then_some(ENDED);
        let asks = matches!(event, Event::ReviewAsked { .. }).then_some(WAITING);
        let is_answer = matches!(event, Event::CallReviewed(_)).then_some(QUEUED);
        let goes_on = matches!(event, Event::GoalGiven(_)).then_some(UNQUEUED);
        is_end.or(asks).or(is_answer).or(goes_on)
    };
    append.entries.iter().filter_map(state).next_back()
}

pub(crate) fn seq(head: Head) -> i32 {
    // `Append` lets no log grow beyond it.
    i32::try_from(head.seq).unwrap_or(i32::MAX)
}

pub(crate) fn bytes(hash: &Hash) -> &[u8] {
    hash.as_bytes()
}

/// The head that a row tells.
pub(crate) fn head_of(row: &Row, seq: &str, hash: &str) -> Head {
    let bytes: &[u8] = row.get(hash);
    Head {
        seq: row.get::<_, i32>(seq).unsigned_abs().into(),
        hash: bytes.try_into().map_or(Hash::ZERO, Hash::from_bytes),
    }
}

impl Server {
    pub(crate) async fn append(
        self: &Arc<Self>,
        append: &Arc<Append>,
        by: Appender,
    ) -> Result<Head, StoreError> {
        match append.starts_run() {
            true => {
                let heard_since = self.news.hears_since();
                self.start(append).await?;
                self.news.begin_run(append.run(), heard_since);
            }
            false => {
                let done = self.go_on_in_turn(append, by).await;
                self.doubts.note(append, None, done)?;
            }
        }
        let is_held = self.held.get(append.run()).is_some();
        if append.ends_run() {
            self.held.forget(append.run());
        }
        self.watchers.publish(append.run(), append.head.seq);
        self.news
            .tell_moved(append.run(), is_held || append.starts_run());
        if append.ends_run() {
            self.news.leave_run(append.run());
        }
        if state_after(append) == Some(QUEUED) {
            self.news.tell_queued();
        }
        Ok(append.head)
    }

    /// Begins a run, and holds it unless it ends at once.
    async fn start(self: &Arc<Self>, append: &Append) -> Result<(), StoreError> {
        let worker = match append.ends_run() {
            true => None,
            false => Some(self.patience().with(|| self.as_worker()).await?),
        };
        let done = self.begin(append, worker).await;
        if done.as_ref().is_err_and(StoreError::may_pass) {
            self.strays.doubt();
        }
        self.doubts.note(append, worker, done)
    }

    /// Where the answer is lost it is begun again, which is refused if it was begun the first time.
    async fn begin(
        self: &Arc<Self>,
        append: &Append,
        worker: Option<i64>,
    ) -> Result<(), StoreError> {
        let run = append.run();
        let patience = self.patience();
        let mut is_in_doubt = false;
        loop {
            match self.send_start(append, worker).await {
                Ok(Some(key)) => return self.hold_new(append, key, worker),
                Ok(None) if is_in_doubt => {
                    let (key, _) = self.get(run).await?;
                    let claim = self.new_claim(append, key, worker);
                    return match self.settle(append, key, Some(&claim)).await {
                        Ok(Settled::Done) => Ok(()),
                        // Another process has begun a run of this id.
                        Ok(Settled::NotDone(_)) | Err(StoreError::TakenOver { .. }) => {
                            self.refuse(append, key, None).await
                        }
                        Err(error) => Err(error),
                    };
                }
                Ok(None) => {
                    let (key, _) = self.get(run).await?;
                    return self.refuse(append, key, None).await;
                }
                Err(error) if patience.bears(&error).await => is_in_doubt = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins a run that nobody drives yet; whether there was none of this id. Where the answer is lost it is begun again,
    /// and a write tells whether it was begun the first time.
    pub(crate) async fn submit(
        &self,
        append: &Append,
        lane: i32,
        submission: &Submission,
    ) -> Result<bool, StoreError> {
        let patience = self.patience();
        let mut is_in_doubt = false;
        loop {
            match self.send_submitted(append, lane, submission).await {
                Ok(true) => break,
                Ok(false) if is_in_doubt => {
                    let (key, _) = self.get(append.run()).await?;
                    match self.settle(append, key, None).await? {
                        Settled::Done => break,
                        Settled::NotDone(_) => return Ok(false),
                    }
                }
                Ok(false) => return Ok(false),
                Err(error) if patience.bears(&error).await => is_in_doubt = true,
                Err(error) => return Err(error),
            }
        }
        self.watchers.publish(append.run(), append.head.seq);
        self.news.tell_queued();
        Ok(true)
    }

    async fn send_submitted(
        &self,
        append: &Append,
        lane: i32,
        submission: &Submission,
    ) -> Result<bool, StoreError> {
        let (id, goal) = (append.run().as_str(), append.goal().as_str());
        let (last, hash) = (seq(append.head), bytes(&append.head.hash));
        let (named, body) = (blobs::referred(append), body::write(&append.entries));
        let (hashes, contents) = blobs::columns(append);
        let values: SqlValues<'_> = &[
            &id,
            &goal,
            &lane,
            &last,
            &hash,
            &named,
            &body,
            &hashes,
            &contents,
            &submission.dir,
            &submission.at_hand,
        ];
        let rows = self.rows(self.connection().await?, SUBMIT, values).await?;
        Ok(!rows.is_empty())
    }

    fn new_claim(&self, append: &Append, key: RunNumber, worker: Option<i64>) -> HeldRun {
        HeldRun {
            key,
            goal: append.goal().clone(),
            // No worker has this number.
            worker: worker.unwrap_or(0),
            epoch: 1,
            turn: Arc::default(),
            has_ended: Arc::default(),
        }
    }

    fn hold_new(
        &self,
        append: &Append,
        key: RunNumber,
        worker: Option<i64>,
    ) -> Result<(), StoreError> {
        let run = append.run();
        let claim = self.new_claim(append, key, worker);
        match worker.is_none() || self.hold(run, claim) {
            true => Ok(()),
            false => Err(self.taken_over(run, None)),
        }
    }

    async fn send_start(
        &self,
        append: &Append,
        worker: Option<i64>,
    ) -> Result<Option<RunNumber>, StoreError> {
        let (id, goal) = (append.run().as_str(), append.goal().as_str());
        let (last, hash) = (seq(append.head), bytes(&append.head.hash));
        let (named, body) = (blobs::referred(append), body::write(&append.entries));
        let connection = self.connection().await?;
        let rows = match named {
            None => {
                self.rows(
                    connection,
                    START,
                    &[&id, &goal, &worker, &last, &hash, &named, &body],
                )
                .await
            }
            Some(_) => {
                let (hashes, contents) = blobs::columns(append);
                self.rows(
                    connection,
                    START_WITH_BLOBS,
                    &[
                        &id, &goal, &worker, &last, &hash, &named, &body, &hashes, &contents,
                    ],
                )
                .await
            }
        };
        Ok(rows?.first().map(|row| row.get(0)))
    }

    /// Appends to a run that has begun. What this process appends to a run that it holds is appended in the order in which it
    /// was asked to, also where the outcome of an append is unknown.
    async fn go_on_in_turn(
        self: &Arc<Self>,
        append: &Arc<Append>,
        by: Appender,
    ) -> Result<(), StoreError> {
        let Some(held) = self.held.get(append.run()) else {
            return match by {
                Appender::Driver => self.refuse_driver(append).await,
                Appender::Guest => self.go_on(append, None).await,
            };
        };
        let _turn = held.turn.lock().await;
        // The append before may have been settled under a claim of its own.
        let held = self.held.get(append.run()).unwrap_or_else(|| held.clone());
        self.go_on(append, Some(held)).await
    }

    /// Says why somebody who does not hold a run cannot drive it on.
    async fn refuse_driver(&self, append: &Append) -> Result<(), StoreError> {
        let run = append.run();
        let (key, _) = self.get(run).await?;
        let refused = self.refuse(append, key, None).await;
        match refused {
            Err(StoreError::Elsewhere { .. }) => refused,
            _ => Err(self.taken_over(run, None)),
        }
    }

    async fn go_on(
        self: &Arc<Self>,
        append: &Arc<Append>,
        mut held: Option<HeldRun>,
    ) -> Result<(), StoreError> {
        let run = append.run();
        let (key, goal) = match &held {
            Some(held) => (held.key, held.goal.clone()),
            None => self.get(run).await?,
        };
        append.check_goal(goal.as_str())?;
        let patience = self.patience();
        loop {
            let sent = match &held {
                Some(held) => self.send_held(append, held).await,
                None => self.send(append, key, None).await,
            };
            match sent {
                Ok(true) => return Ok(()),
                Ok(false) => return self.refuse(append, key, held.as_ref()).await,
                Err(error) if patience.bears(&error).await => {
                    match self.settle(append, key, held.as_ref()).await? {
                        Settled::Done => return Ok(()),
                        Settled::NotDone(claim) => held = claim,
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends one append by itself; whether it was carried out.
    pub(crate) async fn send(
        &self,
        append: &Append,
        key: RunNumber,
        held: Option<&HeldRun>,
    ) -> Result<bool, StoreError> {
        let (before, after) = (append.expected, append.head);
        let epoch = held.map(|held| held.epoch);
        let (named, body) = (blobs::referred(append), body::write(&append.entries));
        let connection = self.connection().await?;
        let (first, last) = (seq(before), seq(after));
        let (prev, hash) = (bytes(&before.hash), bytes(&after.hash));
        let state = state_after(append);
        let rows = match named {
            None => {
                self.rows(
                    connection,
                    APPEND,
                    &[
                        &key, &first, &state, &last, &hash, &named, &body, &prev, &epoch,
                    ],
                )
                .await
            }
            Some(_) => {
                let (hashes, contents) = blobs::columns(append);
                self.rows(
                    connection,
                    APPEND_WITH_BLOBS,
                    &[
                        &key, &first, &state, &last, &hash, &named, &body, &prev, &epoch, &hashes,
                        &contents,
                    ],
                )
                .await
            }
        };
        Ok(!rows?.is_empty())
    }

    /// Says why an append was not carried out.
    async fn refuse(
        &self,
        append: &Append,
        key: RunNumber,
        held: Option<&HeldRun>,
    ) -> Result<(), StoreError> {
        let run = append.run();
        let rows = self.read(STATE, &[&key]).await?;
        let Some(row) = rows.first() else {
            return Err(StoreError::UnknownRun { run: run.clone() });
        };
        if let Some(held) = held.filter(|held| held.epoch != row.get::<_, i64>("epoch")) {
            return Err(self.taken_over(run, Some(held)));
        }
        let found = head_of(row, "head", "hash");
        append.check_head(found)?;
        if let Some(elsewhere) = aside::elsewhere(run, row.get("state"), row.get("why")) {
            return Err(elsewhere);
        }
        // It was elsewhere a moment ago.
        Err(conflict(run, append.expected, found))
    }

    async fn settle(
        &self,
        append: &Append,
        key: RunNumber,
        held: Option<&HeldRun>,
    ) -> Result<Settled, StoreError> {
        let (found, claim) = self.settle_at(append.run(), append.head, key, held).await?;
        Ok(match found == append.head {
            true => Settled::Done,
            false => Settled::NotDone(claim),
        })
    }

    /// Where the log stands after an append that may have brought it to `after`, and the claim that counts from now on.
    pub(crate) async fn settle_at(
        &self,
        run: &RunId,
        after: Head,
        key: RunNumber,
        held: Option<&HeldRun>,
    ) -> Result<(Head, Option<HeldRun>), StoreError> {
        let (last, hash) = (seq(after), bytes(&after.hash));
        let rows = match held {
            Some(held) => {
                let values: SqlValues<'_> = &[&key, &held.worker, &held.epoch, &last, &hash];
                self.read(SETTLE, values).await?
            }
            None => self.read(SETTLE_AS_GUEST, &[&key]).await?,
        };
        let Some(row) = rows.first() else {
            return Err(self.taken_over(run, held));
        };
        let claim = held.map(|held| HeldRun {
            epoch: row.get("epoch"),
            ..held.clone()
        });
        if let Some(claim) = claim.as_ref().filter(|it| !self.hold(run, (*it).clone())) {
            return Err(self.taken_over(run, Some(claim)));
        }
        Ok((head_of(row, "head", "hash"), claim))
    }
}

impl Server {
    /// What was held is lost, and only that.
    fn taken_over(&self, run: &RunId, held: Option<&HeldRun>) -> StoreError {
        if let Some(held) = held {
            self.lose_claim(run, held);
        }
        StoreError::TakenOver { run: run.clone() }
    }

    /// Where the log of a run stands, if an append of this process is in doubt.
    pub(crate) async fn settle_doubt(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        if self.doubts.get(run).is_none() {
            return Ok(None);
        }
        let _settling = self.doubts.settling.lock().await;
        let turn = self.held.get(run).map(|held| held.turn).unwrap_or_default();
        let _turn = turn.lock().await;
        // It may have been settled while this waited.
        let Some(doubt) = self.doubts.get(run) else {
            return Ok(None);
        };
        let (key, goal) = match self.get(run).await {
            Ok(known) => known,
            // It did not begin, and may be begun again.
            Err(StoreError::UnknownRun { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let began = doubt.worker.map(|worker| HeldRun {
            key,
            goal,
            worker,
            epoch: 1,
            turn: Arc::default(),
            has_ended: Arc::default(),
        });
        let held = self.held.get(run).or(began);
        let settled = self.settle_at(run, doubt.after, key, held.as_ref()).await;
        let head = match settled {
            Ok((head, _)) => Some(head),
            // Who took the run over did so by a write that came after it: what is read now is as durable.
            Err(StoreError::TakenOver { .. }) => None,
            Err(error) => return Err(error),
        };
        self.doubts.end(run);
        Ok(head)
    }
}

fn conflict(run: &RunId, expected: Head, found: Head) -> StoreError {
    StoreError::Conflict {
        run: run.clone(),
        expected: expected.seq,
        found: found.seq,
    }
}
