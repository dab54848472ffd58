//! The contents of plans, which machines exchange through the store, and the states of copies.
//!
//! A content is put and fetched by statements that may be repeated: what is there stays. The state of a copy is taken only
//! from who drives its run, under the same epoch as an append.

use std::sync::Arc;

use bonded_kernel::{Hash, RunId};
use bonded_state::{HeldPlan, ObjectPiece, PlanObjects, ServerProblem, StoreError};
use futures_util::future::BoxFuture;
use tokio_postgres::Row;

use crate::parameter::SqlValues;
use crate::run_layout::RUNS;
use crate::schema;
use crate::server::Server;
use crate::store::PostgresStore;

/// Pieces are put in their order, so that who has the last one has all.
const ABSENT: &str = "SELECT w.hash FROM unnest($2::bytea[]) AS w (hash) WHERE NOT EXISTS \
     (SELECT 1 FROM bonded.object o WHERE o.plan = $1 AND o.hash = w.hash AND o.number = o.count - 1)";

const PUT: &str = "INSERT INTO bonded.object (plan, hash, number, count, bytes) \
     SELECT $1, t.* FROM unnest($2::bytea[], $3::int[], $4::int[], $5::bytea[]) AS t ON CONFLICT DO NOTHING RETURNING number";

const GET: &str = "SELECT hash, number, count, bytes FROM bonded.object WHERE plan = $1 AND hash = ANY($2) AND number = $3";

/// Who takes the run over waits until this is committed, or has committed before: then the epoch is another.
const LEAVE: &str = "WITH h AS (SELECT run FROM bonded.drive WHERE run = $1 AND epoch = $2 AND worker = $3 FOR SHARE) \
     INSERT INTO bonded.copy_state (run, number, hash) SELECT h.run, (SELECT coalesce(max(s.number), 0) + 1 \
        FROM bonded.copy_state s WHERE s.run = $1), $4 FROM h RETURNING number";

const LEFT: &str = "SELECT s.hash FROM bonded.run r JOIN bonded.copy_state s USING (run) WHERE r.id = $1 \
     ORDER BY s.number DESC LIMIT 1";

const HELD: &str = "SELECT plan, count(DISTINCT hash), coalesce(sum(length(bytes)), 0)::bigint FROM bonded.object \
     GROUP BY plan ORDER BY plan";

const REMOVE: &str = "SELECT bonded.remove_objects($1)";

impl Server {
    /// A store that can be used, and is of a version before there was a place for contents, says so.
    async fn ask_place(
        &self,
        sql: &'static str,
        values: SqlValues<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let asked = self.read(sql, values).await;
        asked.map_err(|error| match error {
            StoreError::Server {
                at,
                problem: ServerProblem::NoStore,
            } => {
                let (found, known) = (RUNS.usable_from, schema::known(RUNS));
                let problem = ServerProblem::OlderFormat { found, known };
                StoreError::Server { at, problem }
            }
            other => other,
        })
    }

    async fn put_pieces(&self, plan: &str, pieces: &[ObjectPiece]) -> Result<(), StoreError> {
        let hashes: Vec<&[u8]> = pieces.iter().map(|it| &it.hash.as_bytes()[..]).collect();
        let numbers: Vec<i32> = pieces.iter().map(|it| it.number as i32).collect();
        let counts: Vec<i32> = pieces.iter().map(|it| it.count as i32).collect();
        let bytes: Vec<&[u8]> = pieces.iter().map(|it| &it.bytes[..]).collect();
        let values: SqlValues<'_> = &[&plan, &hashes, &numbers, &counts, &bytes];
        self.ask_place(PUT, values).await.map(drop)
    }

    /// A claim of this process that is made anew meanwhile, because the answer to an append was lost, is still its own.
    async fn leave(&self, run: &RunId, state: &Hash) -> Result<(), StoreError> {
        loop {
            let taken_over = || StoreError::TakenOver { run: run.clone() };
            let held = self.held.get(run).ok_or_else(taken_over)?;
            let hash = &state.as_bytes()[..];
            let values: SqlValues<'_> = &[&held.key, &held.epoch, &held.worker, &hash];
            if !self.ask_place(LEAVE, values).await?.is_empty() {
                return Ok(());
            }
            let now = self.held.get(run).map(|it| it.epoch);
            if now == Some(held.epoch) {
                return Err(taken_over());
            }
        }
    }
}

/// What is no hash is none that anybody asked for.
fn hash_of(row: &Row) -> Hash {
    let bytes: &[u8] = row.get(0);
    bytes.try_into().map_or(Hash::ZERO, Hash::from_bytes)
}

fn piece_of(row: &Row) -> ObjectPiece {
    ObjectPiece {
        hash: hash_of(row),
        number: row.get::<_, i32>(1).unsigned_abs(),
        count: row.get::<_, i32>(2).unsigned_abs(),
        bytes: row.get(3),
    }
}

fn bytes_of(hashes: &[Hash]) -> Vec<Vec<u8>> {
    hashes.iter().map(|it| it.as_bytes().to_vec()).collect()
}

impl PlanObjects for PostgresStore {
    fn missing<'a>(
        &'a self,
        plan: &'a str,
        contents: Vec<Hash>,
    ) -> BoxFuture<'a, Result<Vec<Hash>, StoreError>> {
        let (server, plan) = (Arc::clone(&self.server), plan.to_owned());
        Box::pin(self.ask(async move {
            let rows = server
                .ask_place(ABSENT, &[&plan, &bytes_of(&contents)])
                .await?;
            Ok(rows.iter().map(hash_of).collect())
        }))
    }

    fn put<'a>(
        &'a self,
        plan: &'a str,
        pieces: Vec<ObjectPiece>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (server, plan) = (Arc::clone(&self.server), plan.to_owned());
        Box::pin(self.ask(async move { server.put_pieces(&plan, &pieces).await }))
    }

    fn get<'a>(
        &'a self,
        plan: &'a str,
        contents: Vec<Hash>,
        number: u32,
    ) -> BoxFuture<'a, Result<Vec<ObjectPiece>, StoreError>> {
        let (server, plan) = (Arc::clone(&self.server), plan.to_owned());
        Box::pin(self.ask(async move {
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            let values: SqlValues<'_> = &[&plan, &bytes_of(&contents), &number];
            let rows = server.ask_place(GET, values).await?;
            Ok(rows.iter().map(piece_of).collect())
        }))
    }

    fn leave<'a>(&'a self, run: &'a RunId, state: Hash) -> BoxFuture<'a, Result<(), StoreError>> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        Box::pin(self.ask(async move { server.leave(&run, &state).await }))
    }

    fn left<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Hash>, StoreError>> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        Box::pin(self.ask(async move {
            let rows = server.ask_place(LEFT, &[&run.as_str()]).await?;
            Ok(rows.first().map(hash_of))
        }))
    }

    fn held_plans(&self) -> BoxFuture<'_, Result<Vec<HeldPlan>, StoreError>> {
        let server = Arc::clone(&self.server);
        Box::pin(self.ask(async move {
            let rows = server.ask_place(HELD, &[]).await?;
            let held = |row: &Row| HeldPlan {
                plan: row.get(0),
                contents: row.get::<_, i64>(1).unsigned_abs(),
                bytes: row.get::<_, i64>(2).unsigned_abs(),
            };
            Ok(rows.iter().map(held).collect())
        }))
    }

    fn remove<'a>(&'a self, plan: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (server, plan) = (Arc::clone(&self.server), plan.to_owned());
        Box::pin(self.ask(async move {
            // Where there is no place, there is no such function either.
            let none: &[Vec<u8>] = &[];
            server.ask_place(ABSENT, &[&plan, &none]).await?;
            let rows = server.read(REMOVE, &[&plan]).await?;
            Ok(rows.first().is_some_and(|row| row.get(0)))
        }))
    }
}
