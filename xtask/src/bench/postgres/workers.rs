//! Workers: how many runs a second several of them drive, how soon a claimed run asks its model, and how soon another takes
//! over from one that was killed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::super::figure::{Figure, Goal, median};
use super::super::process::Running;
use super::super::rig::Rig;
use super::super::server::now_us;
use super::server::PostgresServer;
use crate::cpu;
use crate::fault::Fault;

const RUNS: usize = 240;
/// Of each worker. They wait for their models most of the time, so that the cores are not what limits a few workers.
const CONCURRENT: &str = "8";
const TURNS: usize = 5;
const MODEL_MS: u64 = 60;
/// The part of linear that is asked for.
const LINEAR: f64 = 0.8;
/// The part of all cores that is taken for all of them.
const FULL: f64 = 0.9;

const CLAIMS: usize = 40;
const CLAIM_MS_MAX: f64 = 50.0;

const LEASE_MS: u64 = 2_000;
const TAKEOVER_MS_MAX: f64 = 3_000.0;

const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(5);

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = together(rig)?;
    figures.push(claim(rig)?);
    figures.push(takeover(rig)?);
    Ok(figures)
}

fn wait_until(what: &str, holds: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > PATIENCE {
            return Err(Fault::unmeasured(format!("waited in vain until {what}")));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn worker(rig: &Rig, server: &PostgresServer) -> Command {
    let mut worker = server.bonded(rig);
    worker.args(["worker", "--concurrent", CONCURRENT]);
    worker
}

/// A model that takes its time before every answer.
fn slow_model(rig: &Rig) -> Result<PathBuf, Fault> {
    let read = "{\"tool\":\"read\",\"arguments\":{\"path\":\"note-1.txt\"}}";
    let done = "{\"tool\":\"done\",\"arguments\":{\"reason\":\"read\"}}";
    let line = |call: &str| format!("{{\"calls\":[{call}],\"delay_ms\":{MODEL_MS}}}\n");
    let text = line(read).repeat(TURNS - 1) + &line(done);
    let path = rig.path("slow.jsonl");
    fs::write(&path, text).map_err(Fault::file(&path))?;
    Ok(path)
}

/// What several workers reached together.
struct Together {
    per_second: f64,
    server_cpus: f64,
    all_cpus: f64,
}

fn together(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let cores = thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let (mut figures, mut alone) = (vec![], 0.0);
    for count in [1, 2, 4] {
        let rounds = (0..rig.rounds).map(|_| drive(rig, count));
        let rounds: Vec<Together> = rounds.collect::<Result<_, _>>()?;
        let of = |part: fn(&Together) -> f64| median(rounds.iter().map(part).collect());
        let per_second = of(|it| it.per_second);
        if count == 1 {
            alone = per_second;
        }
        let is_full = of(|it| it.all_cpus) > FULL * cores;
        let goal = match is_full {
            true => Goal::Nothing,
            false => Goal::RatioAtLeast(LINEAR),
        };
        let name = format!("runs a second, {count} workers, beside {count} times one");
        let figure = Figure::new(name, "1/s", per_second, goal);
        figures.push(figure.beside(alone * f64::from(count)));
        let name = format!("cores that {count} workers and the server use, beside those there are");
        let used = Figure::new(name, "cores", of(|it| it.all_cpus), Goal::Nothing);
        figures.push(used.beside(cores));
        let name = format!("cores that the server uses for {count} workers");
        figures.push(Figure::new(
            name,
            "cores",
            of(|it| it.server_cpus),
            Goal::Nothing,
        ));
    }
    Ok(figures)
}

fn drive(rig: &Rig, count: u32) -> Result<Together, Fault> {
    let server = PostgresServer::start(rig, &[])?;
    let model = format!("script:{}", slow_model(rig)?.display());
    let runs = RUNS * count as usize;
    server.queue(rig, "together", runs, |command| {
        command.args(["--model", &model, "--dir"]).arg(rig.notes());
    })?;
    let began = Instant::now();
    let (theirs, all) = (server.cpu()?, cpu::of_machine()?);
    let workers: Vec<Running> = (0..count)
        .map(|_| Running::spawn(worker(rig, &server)))
        .collect::<Result<_, _>>()?;
    let open = "SELECT count(*) FROM bonded.drive WHERE state <> 3";
    wait_until("all runs have ended", || Ok(server.sql(open)? == "0"))?;
    let took = began.elapsed().as_secs_f64();
    let cpus = |after: Duration, before| (after - before).as_secs_f64() / took;
    let (server_cpus, all_cpus) = (cpus(server.cpu()?, theirs), cpus(cpu::of_machine()?, all));
    drop(workers);
    Ok(Together {
        per_second: runs as f64 / took,
        server_cpus,
        all_cpus,
    })
}

/// From the moment that a run is taken to the one when its first request has arrived.
fn claim(rig: &Rig) -> Result<Figure, Fault> {
    let server = PostgresServer::start(rig, &[])?;
    let _worker = Running::spawn(worker(rig, &server))?;
    let mut took_ms = vec![];
    for n in 0..CLAIMS {
        let before = rig.server.seen()?.requests;
        let prefix = format!("claim-{n}");
        server.queue(rig, &prefix, 1, |command| {
            rig.run_options(command, "turns-0");
        })?;
        let asked_us = rig.server.wait_for(before + 1)?.last_at_us;
        let taken = format!(
            "SELECT (extract(epoch FROM taken) * 1000000)::bigint FROM bonded.drive \
             JOIN bonded.run USING (run) WHERE id = '{prefix}-0'"
        );
        let taken_us: u64 = server.sql(&taken)?.parse().map_err(Fault::unmeasured)?;
        took_ms.push(asked_us.saturating_sub(taken_us) as f64 / 1e3);
    }
    took_ms.sort_by(f64::total_cmp);
    let p95 = took_ms[CLAIMS * 95 / 100];
    let name = "claim to first request, 95th percentile";
    Ok(Figure::new(name, "ms", p95, Goal::AtMost(CLAIM_MS_MAX)))
}

/// From the end of a worker to the first request of the one that takes over.
fn takeover(rig: &Rig) -> Result<Figure, Fault> {
    let server = PostgresServer::start(rig, &[])?;
    let address = format!("{}&bonded_lease_ms={LEASE_MS}", server.address("app"));
    let worker = || {
        let mut worker = rig.bonded(address.as_ref());
        worker.args(["worker", "--concurrent", CONCURRENT]);
        Running::spawn(worker)
    };
    let mut took_ms = vec![];
    for n in 0..rig.rounds {
        let before = rig.server.seen()?.requests;
        server.queue(rig, &format!("takeover-{n}"), 1, |command| {
            rig.run_options(command, "hang");
        })?;
        let first = worker()?;
        rig.server.wait_for(before + 1)?;
        let second = worker()?;
        // It looks for runs when it has said who it is.
        let both = "SELECT count(*) FROM bonded.worker WHERE NOT dead AND expires > now()";
        wait_until("both are there", || Ok(server.sql(both)? == "2"))?;
        let killed_us = now_us();
        drop(first);
        let asked_us = rig.server.wait_for(before + 2)?.last_at_us;
        took_ms.push(asked_us.saturating_sub(killed_us) as f64 / 1e3);
        drop(second);
        rig.server.release()?;
        server.sql("UPDATE bonded.drive SET state = 3, worker = NULL; UPDATE bonded.worker SET dead = true")?;
    }
    let name = format!("takeover after a kill, leases of {LEASE_MS} ms, the slowest");
    let slowest = took_ms.into_iter().fold(0.0, f64::max);
    Ok(Figure::new(
        name,
        "ms",
        slowest,
        Goal::AtMost(TAKEOVER_MS_MAX),
    ))
}
