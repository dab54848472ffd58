//! Queues as people see them: how full they are, what bounds them, and what a run in one waits for.

use bonded_kernel::RunId;
use bonded_state::{StoreError, Submission};

use crate::parameter::SqlValues;
use crate::server::Server;

/// What can be bounded for all workers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// The runs of a queue.
    Queue,
    /// The runs of an agent, in whichever queues they are.
    Agent,
}

/// How a queue stands, or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Its name.
    pub name: String,
    /// How many of its runs wait for a worker.
    pub queued: u64,
    /// How many are driven.
    pub driven: u64,
    /// How many may be driven at once by all workers together.
    pub concurrent: Option<u32>,
}

/// What a queued run waits for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitsFor {
    /// No living worker takes from its queue.
    #[error("a worker of queue {0}")]
    Worker(String),
    /// No living worker of its queue has what it needs.
    #[error("a worker with {}", .0.join(", "))]
    Labels(Vec<String>),
    /// No living worker that could drive it has its directory and all else that it needs: these are what they lack.
    #[error("a worker that has {}", .0.join(", "))]
    AtHand(Vec<String>),
    /// A worker had it and could not drive it.
    #[error("another try: {0}")]
    Retry(String),
    /// The queue is as full as it may be.
    #[error("a place: queue {queue} is limited to {concurrent} at once")]
    Place {
        /// Its name.
        queue: String,
        /// Its bound.
        concurrent: u32,
    },
    /// So many runs of the agent are driven as may be.
    #[error("a place: agent {agent} is limited to {concurrent} at once")]
    AgentPlace {
        /// Its name.
        agent: String,
        /// Its bound.
        concurrent: u32,
    },
    /// Others come first.
    #[error("a free worker")]
    Turn,
}

const LANE: &str = "SELECT lane FROM bonded.lane WHERE queue = $1 AND submitter = $2 AND needs = $3 AND agent = $4";

const NEW_LANE: &str = "INSERT INTO bonded.lane (queue, submitter, needs, agent) VALUES ($1, $2, $3, $4) \
     ON CONFLICT DO NOTHING RETURNING lane";

const BELONGS: &str =
    "SELECT 1 FROM bonded.run JOIN bonded.drive USING (run) WHERE id = $1 AND state < 3";

const BOUND: &str = "INSERT INTO bonded.queue (name, concurrent) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET concurrent = excluded.concurrent RETURNING name";

const UNBOUND: &str = "DELETE FROM bonded.queue WHERE name = $1 RETURNING name";

const QUEUES: &str = "SELECT n.name, q.concurrent, \
        (SELECT count(*) FROM bonded.lane l JOIN bonded.drive d USING (lane) WHERE l.queue = n.name AND d.state = 0), \
        (SELECT count(*) FROM bonded.lane l JOIN bonded.drive d USING (lane) WHERE l.queue = n.name AND d.state = 1) \
     FROM (SELECT name FROM bonded.queue UNION SELECT queue FROM bonded.lane) n (name) \
     LEFT JOIN bonded.queue q USING (name) ORDER BY n.name";

const BOUND_AGENT: &str = "INSERT INTO bonded.agent (name, concurrent) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET concurrent = excluded.concurrent RETURNING name";

const UNBOUND_AGENT: &str = "DELETE FROM bonded.agent WHERE name = $1 RETURNING name";

const AGENTS: &str = "SELECT n.name, a.concurrent, \
        (SELECT count(*) FROM bonded.lane l JOIN bonded.drive d USING (lane) WHERE l.agent = n.name AND d.state = 0), \
        (SELECT count(*) FROM bonded.lane l JOIN bonded.drive d USING (lane) WHERE l.agent = n.name AND d.state = 1) \
     FROM (SELECT name FROM bonded.agent UNION SELECT agent FROM bonded.lane WHERE agent <> '') n (name) \
     LEFT JOIN bonded.agent a USING (name) ORDER BY n.name";

/// Only workers that live count, each question more than the one before.
const WAITS: &str = "SELECT r.id, l.queue, l.needs, \
        (SELECT array_agg(DISTINCT m ORDER BY m) FROM bonded.worker v, unnest(v.missing) m \
            WHERE NOT v.dead AND v.expires > clock_timestamp() AND l.queue = ANY (v.queues) AND l.needs <@ v.labels \
            AND (m = d.dir OR m = ANY (d.at_hand))), \
        CASE WHEN d.ready > clock_timestamp() THEN d.why END, q.concurrent, \
        coalesce(bool_or(true) FILTER (WHERE w.id IS NOT NULL), false), \
        coalesce(bool_or(l.needs <@ w.labels), false), \
        coalesce(bool_or(l.needs <@ w.labels AND NOT (d.dir = ANY (w.missing)) AND NOT (d.at_hand && w.missing)), false), \
        (SELECT count(*) FROM bonded.lane k JOIN bonded.drive t USING (lane) WHERE k.queue = l.queue AND t.state = 1), \
        l.agent, a.concurrent, \
        (SELECT count(*) FROM bonded.lane k JOIN bonded.drive t USING (lane) WHERE k.agent = l.agent AND t.state = 1) \
     FROM bonded.run r JOIN bonded.drive d USING (run) JOIN bonded.lane l USING (lane) \
     LEFT JOIN bonded.queue q ON q.name = l.queue LEFT JOIN bonded.agent a ON a.name = l.agent \
     LEFT JOIN bonded.worker w ON NOT w.dead AND w.expires > clock_timestamp() AND l.queue = ANY (w.queues) \
     WHERE r.id = ANY($1) AND d.state = 0 GROUP BY r.id, l.queue, l.needs, d.dir, d.at_hand, d.why, d.ready, q.concurrent, \
        l.agent, a.concurrent";

impl Server {
    /// The number of the lane of a submission.
    pub(crate) async fn lane(&self, submission: &Submission) -> Result<i32, StoreError> {
        let mut needs = submission.needs.clone();
        needs.sort();
        needs.dedup();
        loop {
            for statement in [LANE, NEW_LANE] {
                let values: SqlValues<'_> = &[
                    &submission.queue,
                    &submission.submitter,
                    &needs,
                    &submission.agent,
                ];
                let rows = self.read(statement, values).await?;
                if let Some(row) = rows.first() {
                    return Ok(row.get(0));
                }
            }
        }
    }

    pub(crate) async fn is_of_a_queue(&self, run: &RunId) -> Result<bool, StoreError> {
        let rows = self.read(BELONGS, &[&run.as_str()]).await?;
        Ok(!rows.is_empty())
    }

    pub(crate) async fn bound(
        &self,
        what: Bounded,
        name: &str,
        concurrent: Option<u32>,
    ) -> Result<(), StoreError> {
        let (bound, unbound) = match what {
            Bounded::Queue => (BOUND, UNBOUND),
            Bounded::Agent => (BOUND_AGENT, UNBOUND_AGENT),
        };
        match concurrent {
            Some(count) => {
                let count = i32::try_from(count).unwrap_or(i32::MAX);
                self.read(bound, &[&name, &count]).await
            }
            None => self.read(unbound, &[&name]).await,
        }
        .map(drop)
    }

    pub(crate) async fn states(&self, of: Bounded) -> Result<Vec<QueueState>, StoreError> {
        let statement = match of {
            Bounded::Queue => QUEUES,
            Bounded::Agent => AGENTS,
        };
        let rows = self.read(statement, &[]).await?;
        let state = |row: &tokio_postgres::Row| QueueState {
            name: row.get(0),
            concurrent: row.get::<_, Option<i32>>(1).map(i32::unsigned_abs),
            queued: row.get::<_, i64>(2).unsigned_abs(),
            driven: row.get::<_, i64>(3).unsigned_abs(),
        };
        Ok(rows.iter().map(state).collect())
    }

    /// What each of these runs waits for, where it is queued.
    pub(crate) async fn waits(&self, runs: &[RunId]) -> Result<Vec<(RunId, WaitsFor)>, StoreError> {
        let ids: Vec<&str> = runs.iter().map(RunId::as_str).collect();
        let rows = self.read(WAITS, &[&ids]).await?;
        let waits =
            |row: &tokio_postgres::Row| Some((RunId::new(row.get(0)).ok()?, waits_for(row)));
        Ok(rows.iter().filter_map(waits).collect())
    }
}

fn waits_for(row: &tokio_postgres::Row) -> WaitsFor {
    let queue: String = row.get(1);
    let (is_served, fits, is_at_hand): (bool, bool, bool) = (row.get(6), row.get(7), row.get(8));
    let why: Option<String> = row.get(4);
    // The bound, where as many are driven.
    let bound = |bound: usize, driven: usize| {
        let bound = row.get::<_, Option<i32>>(bound)?;
        (row.get::<_, i64>(driven) >= i64::from(bound)).then_some(bound.unsigned_abs())
    };
    match (why, bound(5, 9), bound(11, 12)) {
        _ if !is_served => WaitsFor::Worker(queue),
        _ if !fits => WaitsFor::Labels(row.get(2)),
        _ if !is_at_hand => WaitsFor::AtHand(row.get::<_, Option<_>>(3).unwrap_or_default()),
        (Some(why), _, _) => WaitsFor::Retry(why),
        (None, Some(concurrent), _) => WaitsFor::Place { queue, concurrent },
        (None, None, Some(concurrent)) => WaitsFor::AgentPlace {
            agent: row.get(10),
            concurrent,
        },
        (None, None, None) => WaitsFor::Turn,
    }
}
