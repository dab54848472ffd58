//! Appending: one statement that holds the head, the epoch and the entries, and what to do when it is unknown whether it
//! was carried out.

use std::sync::Arc;

use bonded_kernel::{Hash, Head, RunId};
use bonded_state::{Append, StoreError};
use tokio_postgres::Row;

use crate::blobs;
use crate::body;
use crate::keys::{HeldRun, RunNumber};
use crate::server::Server;

/// Begins a run: who makes it holds it.
macro_rules! begin {
    () => {
        "WITH h AS (INSERT INTO bonded.run (id, goal) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING run), \
         d AS (INSERT INTO bonded.drive (run, epoch, worker, head, hash) SELECT run, 1, $3, $4, $5 FROM h)"
    };
}

/// Moves the head, if it is where the entries follow and the claim of this process is the last one. Who does not hold the
/// run names no epoch. A run that ends is free.
macro_rules! advance {
    () => {
        "WITH h AS (UPDATE bonded.drive SET head = $4, hash = $5, worker = CASE WHEN $3 THEN NULL ELSE worker END \
         WHERE run = $1 AND head = $2 AND hash = $8 AND epoch = coalesce($9, epoch) RETURNING run)"
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
const APPEND: &str = concat!(advance!(), add_step!("$2 + 1"));
const APPEND_WITH_BLOBS: &str = concat!(advance!(), keep_blobs!("$10", "$11"), add_step!("$2 + 1"));

const STATE: &str = "SELECT epoch, head, hash FROM bonded.drive WHERE run = $1";

/// Settles what became of an append whose answer was lost. It is a write, so that it waits until everything before it is
/// as durable as an answer must be; and it makes the claim a new one, so that the lost append cannot be carried out any more.
const SETTLE: &str = "UPDATE bonded.drive SET epoch = epoch + 1 WHERE run = $1 AND (worker = $2 \
     OR (worker IS NULL AND epoch >= $3 AND head = $4 AND hash = $5)) RETURNING epoch, head, hash";

/// The same for who does not hold the run, and so has no claim to renew.
const SETTLE_AS_GUEST: &str =
    "UPDATE bonded.drive SET head = head WHERE run = $1 RETURNING epoch, head, hash";

/// What became of an append whose answer was lost.
enum Settled {
    /// It is in the log.
    Done,
    /// It is not, and may be made under this claim.
    NotDone(Option<HeldRun>),
}

fn seq(head: Head) -> i32 {
    // `Append` lets no log grow beyond it.
    i32::try_from(head.seq).unwrap_or(i32::MAX)
}

fn bytes(hash: &Hash) -> &[u8] {
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
    pub(crate) async fn append(self: &Arc<Self>, append: &Append) -> Result<Head, StoreError> {
        match append.starts_run() {
            true => self.start(append).await?,
            false => self.go_on(append).await?,
        }
        if append.ends_run() {
            self.held.forget(append.run());
        }
        self.watchers.publish(append.run(), append.head.seq);
        Ok(append.head)
    }

    /// Begins a run. Where the answer is lost it is begun again, which is refused if it was begun the first time.
    async fn start(self: &Arc<Self>, append: &Append) -> Result<(), StoreError> {
        let run = append.run();
        let worker = match append.ends_run() {
            true => None,
            false => Some(self.patience().with(|| self.as_worker()).await?),
        };
        let patience = self.patience();
        let mut is_in_doubt = false;
        loop {
            match self.send_start(append, worker).await {
                Ok(Some(key)) => {
                    self.hold_new(append, key, worker);
                    return Ok(());
                }
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

    fn new_claim(&self, append: &Append, key: RunNumber, worker: Option<i64>) -> HeldRun {
        HeldRun {
            key,
            goal: append.goal().clone(),
            // No worker has this number.
            worker: worker.unwrap_or(0),
            epoch: 1,
        }
    }

    fn hold_new(&self, append: &Append, key: RunNumber, worker: Option<i64>) {
        if worker.is_some() {
            let held = self.new_claim(append, key, worker);
            self.held.hold(append.run(), held);
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

    /// Appends to a run that has begun.
    async fn go_on(&self, append: &Append) -> Result<(), StoreError> {
        let run = append.run();
        let mut held = self.held.get(run);
        let (key, goal) = match &held {
            Some(held) => (held.key, held.goal.clone()),
            None => self.get(run).await?,
        };
        append.check_goal(goal.as_str())?;
        let patience = self.patience();
        loop {
            match self.send(append, key, held.as_ref()).await {
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

    async fn send(
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
        let is_end = append.ends_run();
        let rows = match named {
            None => {
                self.rows(
                    connection,
                    APPEND,
                    &[
                        &key, &first, &is_end, &last, &hash, &named, &body, &prev, &epoch,
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
                        &key, &first, &is_end, &last, &hash, &named, &body, &prev, &epoch, &hashes,
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
        if held.is_some_and(|held| held.epoch != row.get::<_, i64>("epoch")) {
            return Err(StoreError::TakenOver { run: run.clone() });
        }
        let found = head_of(row, "head", "hash");
        append.check_head(found)?;
        // It was elsewhere a moment ago.
        Err(conflict(run, append.expected, found))
    }

    async fn settle(
        &self,
        append: &Append,
        key: RunNumber,
        held: Option<&HeldRun>,
    ) -> Result<Settled, StoreError> {
        let (last, hash) = (seq(append.head), bytes(&append.head.hash));
        let rows = match held {
            Some(held) => {
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                    [&key, &held.worker, &held.epoch, &last, &hash];
                self.read(SETTLE, &values).await?
            }
            None => self.read(SETTLE_AS_GUEST, &[&key]).await?,
        };
        let Some(row) = rows.first() else {
            let run = append.run().clone();
            return Err(StoreError::TakenOver { run });
        };
        let claim = held.map(|held| HeldRun {
            epoch: row.get("epoch"),
            ..held.clone()
        });
        if let Some(claim) = &claim {
            self.held.hold(append.run(), claim.clone());
        }
        match head_of(row, "head", "hash") {
            found if found == append.head => Ok(Settled::Done),
            _ => Ok(Settled::NotDone(claim)),
        }
    }
}

fn conflict(run: &RunId, expected: Head, found: Head) -> StoreError {
    StoreError::Conflict {
        run: run.clone(),
        expected: expected.seq,
        found: found.seq,
    }
}
