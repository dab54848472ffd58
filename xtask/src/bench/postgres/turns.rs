//! CPU time of a turn, beside a loop that has the same statements carried out over the same pool.

use std::path::Path;
use std::time::Duration;

use super::super::figure::{Figure, Goal, median};
use super::super::process::measure as measure_process;
use super::super::rig::{PLAIN, Rig, TURNS};
use super::server::PostgresServer;
use crate::fault::Fault;

/// Runs at a time, and runs in all.
const LOADS: [(usize, usize); 2] = [(1, 32), (32, 256)];

/// What one of both cost: its own CPU, and that of the server.
#[derive(Default)]
struct Costs {
    own: Vec<f64>,
    server: Vec<f64>,
}

impl Costs {
    fn add(&mut self, runs: usize, own: Duration, server: Duration) {
        let turns = (runs * TURNS) as f64;
        self.own.push(own.as_secs_f64() * 1e3 / turns);
        self.server.push(server.as_secs_f64() * 1e3 / turns);
    }
}

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = vec![];
    for (jobs, runs) in LOADS {
        let server = PostgresServer::start(rig, &[])?;
        let (mut ours, mut floor) = (Costs::default(), Costs::default());
        for round in 0..rig.rounds {
            let goals = server.goals(rig, &format!("turns-{jobs}-{round}"), runs)?;
            let mut command = server.bonded(rig);
            command.args(["run", "--jobs", &jobs.to_string(), "--each"]);
            command.arg(goals);
            rig.run_options(&mut command, PLAIN);
            let before = server.cpu()?;
            let measured = measure_process(command)?;
            ours.add(runs, measured.cpu, server.cpu()? - before);
            let address = server.address("owner");
            let before = server.cpu()?;
            let measured = measure_process(rig.floor(Path::new(&address), runs, jobs, PLAIN))?;
            floor.add(runs, measured.cpu, server.cpu()? - before);
        }
        let name = format!("CPU of a turn on a server, {jobs} runs at a time");
        let own = Figure::new(name, "ms", median(ours.own), Goal::RatioAtMost(2.0));
        figures.push(own.beside(median(floor.own)));
        let name = format!("the server's CPU of a turn, {jobs} runs at a time");
        let theirs = Figure::new(name, "ms", median(ours.server), Goal::Nothing);
        figures.push(theirs.beside(median(floor.server)));
    }
    Ok(figures)
}
