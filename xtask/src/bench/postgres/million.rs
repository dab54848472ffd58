//! A store with a million runs that have ended: its newest are listed, and a worker starts.

use std::process::{Command, Stdio};

use super::super::figure::{Figure, Goal, median};
use super::super::process::measure as measure_process;
use super::super::rig::Rig;
use super::server::PostgresServer;
use crate::fault::Fault;

const RUNS: &str = "1000000";
const LIST_MS_MAX: f64 = 100.0;
const START_MS_MAX: f64 = 1_000.0;

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let server = PostgresServer::start(rig, &["max_wal_size=4GB"])?;
    fill(rig, &server)?;
    let took_ms = |words: &[&str]| {
        let rounds = (0..rig.rounds).map(|_| {
            let mut command = server.bonded(rig);
            command.args(words);
            Ok(measure_process(command)?.wall.as_secs_f64() * 1e3)
        });
        rounds.collect::<Result<Vec<f64>, Fault>>().map(median)
    };
    let list = took_ms(&["runs"])?;
    let start = took_ms(&["worker", "--once"])?;
    let listed = "`bonded runs`, a million runs";
    let started = "a worker starts, finds nothing and ends, a million runs";
    Ok(vec![
        Figure::new(listed, "ms", list, Goal::AtMost(LIST_MS_MAX)),
        Figure::new(started, "ms", start, Goal::AtMost(START_MS_MAX)),
    ])
}

fn fill(rig: &Rig, server: &PostgresServer) -> Result<(), Fault> {
    let program = &rig.programs.postgres_fill;
    let mut rows = Command::new(program);
    rows.arg(RUNS).stdout(Stdio::piped());
    let mut rows = rows.spawn().map_err(Fault::file(program))?;
    let mut psql = server.psql();
    psql.stdin(rows.stdout.take().map_or(Stdio::null(), Stdio::from));
    crate::stage::run(psql)?;
    let filled = rows.wait().map_err(Fault::unmeasured)?;
    if !filled.success() {
        return Err(Fault::unmeasured(format!("the rows ended with {filled}")));
    }
    server.sql("VACUUM ANALYZE")?;
    let there = server.sql("SELECT count(*) FROM bonded.run")?;
    match there == RUNS {
        true => Ok(()),
        false => Err(Fault::unmeasured(format!("there are {there} runs"))),
    }
}
