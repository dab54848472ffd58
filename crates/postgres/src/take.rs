//! Taking runs from queues: one at a time, so that each submitter comes in turn.
//!
//! A run is taken in one statement that locks nothing but its row, and passes over the rows that others are taking. Where a
//! queue or an agent is bounded, its row is locked first and the runs are counted after that: a statement sees what was
//! committed before it began, and not what was committed while it waited for a lock. All lock the queue before the agent.

use std::sync::Arc;
use std::time::SystemTime;

use bonded_kernel::RunId;
use bonded_state::StoreError;
use deadpool_postgres::Transaction;
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row};

use crate::asking;
use crate::claim::held_as;
use crate::offer::WorkerOffer;
use crate::parameter::SqlValues;
use crate::server::Server;

/// A run that this process has taken, and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenRun {
    /// Its id.
    pub run: RunId,
    /// The directory that it works in.
    pub dir: String,
    /// What else a machine must have to drive it, in words.
    pub at_hand: Vec<String>,
}

/// The lanes in turn: the submitter with the fewest runs under way, then the one who was served longest ago. The first lane
/// that has a run gives it. A worker that was found dead takes nothing.
macro_rules! take {
    ($lanes:literal) => {
        concat!(
            "WITH o AS (SELECT l.lane, coalesce(m.mark, '-infinity'::timestamptz) AS mark, \
                (SELECT count(*) FROM bonded.lane k JOIN bonded.drive d USING (lane) \
                    WHERE k.queue = l.queue AND k.submitter = l.submitter AND d.state = 1) AS driven, \
                (SELECT max(t.taken) FROM bonded.lane k, LATERAL (SELECT d.taken FROM bonded.drive d \
                    WHERE d.lane = k.lane AND d.taken IS NOT NULL ORDER BY d.taken DESC LIMIT 1) t \
                    WHERE k.queue = l.queue AND k.submitter = l.submitter) AS served \
                FROM bonded.lane l LEFT JOIN unnest($5::int[], $6::timestamptz[]) AS m (lane, mark) USING (lane) \
                WHERE l.queue = ANY($2) AND l.needs <@ $3 AND ",
            $lanes,
            " AND EXISTS (SELECT 1 FROM bonded.worker w WHERE w.id = $1 AND NOT w.dead) \
                ORDER BY driven, served NULLS FIRST, l.lane), \
             n AS (SELECT c.run, c.ready FROM o, LATERAL (SELECT d.run, d.ready FROM bonded.drive d \
                WHERE d.lane = o.lane AND d.state = 0 AND d.ready >= o.mark AND d.ready <= clock_timestamp() \
                    AND d.worker IS NULL AND NOT (d.dir = ANY($4)) AND NOT (d.at_hand && $4) \
                ORDER BY d.ready LIMIT 1 FOR UPDATE SKIP LOCKED) c LIMIT 1) \
             UPDATE bonded.drive d SET epoch = d.epoch + 1, worker = $1, state = 1, taken = clock_timestamp(), why = NULL \
             FROM n, bonded.run r WHERE d.run = n.run AND r.run = n.run \
             RETURNING d.run, d.epoch, r.goal, r.id, d.dir, d.lane, n.ready, d.at_hand"
        )
    };
}

const TAKE: &str = take!(
    "NOT EXISTS (SELECT 1 FROM bonded.queue q WHERE q.name = l.queue) \
     AND NOT EXISTS (SELECT 1 FROM bonded.agent a WHERE a.name = l.agent)"
);

/// The lanes with exactly these bounds, of a queue ($7, $8) and of an agent ($9, $10).
const TAKE_BOUNDED: &str = take!(
    "(SELECT q.name FROM bonded.queue q WHERE q.name = l.queue) IS NOT DISTINCT FROM $7::text \
     AND (SELECT a.name FROM bonded.agent a WHERE a.name = l.agent) IS NOT DISTINCT FROM $9::text \
     AND ($8::bigint IS NULL OR $8 > (SELECT count(*) FROM bonded.lane k JOIN bonded.drive d USING (lane) \
        WHERE k.queue = $7 AND d.state = 1)) \
     AND ($10::bigint IS NULL OR $10 > (SELECT count(*) FROM bonded.lane k JOIN bonded.drive d USING (lane) \
        WHERE k.agent = $9 AND d.state = 1))"
);

/// The bounds of the lanes that have something to give.
const BOUNDED: &str = "SELECT b.queue, b.agent FROM (SELECT DISTINCT q.name AS queue, a.name AS agent FROM bonded.lane l \
     LEFT JOIN bonded.queue q ON q.name = l.queue LEFT JOIN bonded.agent a ON a.name = l.agent \
     WHERE l.queue = ANY($1) AND (q.name IS NOT NULL OR a.name IS NOT NULL) \
        AND EXISTS (SELECT 1 FROM bonded.drive d WHERE d.lane = l.lane AND d.state = 0)) b ORDER BY random()";

const LOCK_QUEUE: &str = "SELECT concurrent FROM bonded.queue WHERE name = $1 FOR UPDATE";

const LOCK_AGENT: &str = "SELECT concurrent FROM bonded.agent WHERE name = $1 FOR UPDATE";

impl Server {
    /// Takes the next run that this worker can drive. `missing` are directories and other things that it does not have.
    pub(crate) async fn take(
        self: &Arc<Self>,
        missing: &[String],
    ) -> Result<Option<TakenRun>, StoreError> {
        let patience = self.patience();
        loop {
            match self.take_once(missing).await {
                Ok(taken) => return Ok(taken),
                Err(error) => {
                    self.strays.doubt();
                    if !patience.bears(&error).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn take_once(
        self: &Arc<Self>,
        missing: &[String],
    ) -> Result<Option<TakenRun>, StoreError> {
        let Some(offer) = self.offer.get() else {
            return Ok(None);
        };
        let worker = self.as_worker().await?;
        let (lanes, marks) = self.taking.columns();
        let connection = self.connection().await?;
        let values: SqlValues<'_> = &[
            &worker,
            &offer.queues,
            &offer.labels,
            &missing,
            &lanes,
            &marks,
        ];
        let rows = self.rows(connection, TAKE, values).await?;
        match rows.first() {
            Some(row) => self.hold_taken(row, worker),
            None => self.take_bounded(offer, worker, missing).await,
        }
    }

    /// One after the other, as this process has them.
    async fn take_bounded(
        &self,
        offer: &WorkerOffer,
        worker: i64,
        missing: &[String],
    ) -> Result<Option<TakenRun>, StoreError> {
        let connection = self.connection().await?;
        let bounded = self.rows(connection, BOUNDED, &[&offer.queues]).await?;
        for bounds in bounded {
            let bounds = (bounds.get(0), bounds.get(1));
            let row = self.take_locked(offer, worker, missing, bounds).await?;
            if let Some(row) = row {
                return self.hold_taken(&row, worker);
            }
        }
        Ok(None)
    }

    async fn take_locked(
        &self,
        offer: &WorkerOffer,
        worker: i64,
        missing: &[String],
        (queue, agent): (Option<&str>, Option<&str>),
    ) -> Result<Option<Row>, StoreError> {
        let fault = |error| self.fault(&error);
        let mut connection = self.connection().await?;
        let transaction = connection
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .read_only(false)
            .start()
            .await
            .map_err(fault)?;
        if self.address.pooling.is_found() {
            let settings = asking::settings(&self.address);
            transaction.batch_execute(&settings).await.map_err(fault)?;
        }
        let mut limits = [None, None];
        let locks = [(LOCK_QUEUE, queue), (LOCK_AGENT, agent)];
        for ((lock, name), limit) in locks.into_iter().zip(&mut limits) {
            let Some(name) = name else {
                continue;
            };
            let rows = self.ask_within(&transaction, lock, &[&name]).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            *limit = Some(i64::from(row.get::<_, i32>(0)));
        }
        let (lanes, marks) = self.taking.columns();
        let values: SqlValues<'_> = &[
            &worker,
            &offer.queues,
            &offer.labels,
            &missing,
            &lanes,
            &marks,
            &queue,
            &limits[0],
            &agent,
            &limits[1],
        ];
        let rows = self.ask_within(&transaction, TAKE_BOUNDED, values).await?;
        transaction.commit().await.map_err(fault)?;
        Ok(rows.into_iter().next())
    }

    async fn ask_within(
        &self,
        transaction: &Transaction<'_>,
        sql: &'static str,
        values: SqlValues<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let pooling = &self.address.pooling;
        let rows = match pooling.is_found() {
            true => asking::ask_typed(transaction.client(), sql, values).await,
            false => match transaction.prepare_cached(sql).await {
                Ok(statement) => {
                    let values = values.iter().map(|it| it.as_sql());
                    let values: Vec<&(dyn ToSql + Sync)> = values.collect();
                    transaction.query(&statement, &values).await
                }
                Err(error) => Err(error),
            },
        };
        rows.map_err(|error| {
            pooling.learn(&error);
            self.fault(&error)
        })
    }

    /// Nothing where the run was given back before the answer came.
    fn hold_taken(&self, row: &Row, worker: i64) -> Result<Option<TakenRun>, StoreError> {
        let run = run_of(row.get(3), self)?;
        if !self.hold(&run, held_as(row, worker)) {
            return Ok(None);
        }
        if let Some(ready) = row.get::<_, Option<SystemTime>>(6) {
            self.taking.mark(row.get(5), ready);
        }
        let dir = row.get::<_, Option<String>>(4).unwrap_or_default();
        let at_hand = row.get(7);
        Ok(Some(TakenRun { run, dir, at_hand }))
    }
}

/// The id that a row names.
pub(crate) fn run_of(id: &str, server: &Server) -> Result<RunId, StoreError> {
    RunId::new(id).map_err(|_| StoreError::Corrupt {
        file: server.address.label().into(),
        why: format!("{id:?} names a run"),
    })
}
