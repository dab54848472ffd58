//! What taking a run from a queue costs the server, with a thousand runs in it and with a hundred thousand.

use super::super::figure::{Figure, Goal};
use super::super::process::Running;
use super::super::rig::Rig;
use super::server::PostgresServer;
use crate::fault::Fault;

const QUEUED: [usize; 2] = [1_000, 100_000];
const FLAT: f64 = 1.2;

/// Of each size: taken while it is measured.
const TAKEN: u64 = 300;

/// Counts what each statement costs.
const SETTINGS: [&str; 2] = [
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track=all",
];

/// The statement that takes a run.
const TAKES: &str = "FROM pg_stat_statements WHERE query LIKE '%FOR UPDATE SKIP LOCKED%' \
     AND query LIKE '%UPDATE bonded.drive d SET epoch%'";

/// What one take costs.
struct TakeCost {
    buffers: f64,
    us: f64,
}

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let [few, many] = QUEUED;
    let (few, many) = (take_cost(rig, few)?, take_cost(rig, many)?);
    let goal = Goal::RatioAtMost(FLAT);
    let buffers = "buffers of a take, 100,000 queued beside 1,000";
    let us = "time of a take in the server, 100,000 queued beside 1,000";
    Ok(vec![
        Figure::new(buffers, "buffers", many.buffers, goal).beside(few.buffers),
        Figure::new(us, "us", many.us, goal).beside(few.us),
    ])
}

fn take_cost(rig: &Rig, queued: usize) -> Result<TakeCost, Fault> {
    let server = PostgresServer::start(rig, &SETTINGS)?;
    server.sql("CREATE EXTENSION pg_stat_statements")?;
    server.queue(rig, "queued", queued, |command| {
        rig.run_options(command, "turns-0");
    })?;
    server.sql("VACUUM ANALYZE; ")?;
    server.sql("SELECT pg_stat_statements_reset()")?;
    let before = rig.server.seen()?.requests;
    let mut worker = server.bonded(rig);
    worker.args(["worker", "--concurrent", "4"]);
    let worker = Running::spawn(worker)?;
    rig.server.wait_for(before + TAKEN)?;
    drop(worker);
    let columns = "sum(shared_blks_hit + shared_blks_read) / sum(calls), 1000 * sum(total_exec_time) / sum(calls)";
    let found = server.sql(&format!("SELECT {columns} {TAKES}"))?;
    let numbers: Option<Vec<f64>> = found.split('|').map(|it| it.parse().ok()).collect();
    match numbers.as_deref() {
        Some([buffers, us]) => Ok(TakeCost {
            buffers: *buffers,
            us: *us,
        }),
        _ => Err(Fault::unmeasured(format!("nothing was taken: {found:?}"))),
    }
}
