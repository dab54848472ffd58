//! CPU time of a turn, with one run at a time and with many, and how many runs a second come through.

use super::figure::{Figure, Goal, median};
use super::process::{Measured, measure};
use super::rig::{PLAIN, Rig, TURNS};
use crate::fault::Fault;

/// Runs at a time, and runs in all: enough for a second or so of CPU time.
const LOADS: [(usize, usize); 3] = [(1, 128), (32, 512), (256, 1024)];

pub(crate) fn measure_all(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = vec![];
    for (jobs, runs) in LOADS {
        let (mut ours, mut floor) = (vec![], vec![]);
        for _ in 0..rig.rounds {
            let store = rig.fresh("cpu-ours")?;
            ours.push(measure(rig.ours_each(&store, runs, jobs, PLAIN)?)?);
            let db = rig.fresh("cpu-floor")?;
            floor.push(measure(rig.floor(&db, runs, jobs, PLAIN))?);
        }
        let name = format!("CPU of a turn, {jobs} runs at a time");
        let goal = Goal::RatioAtMost(2.0);
        figures.push(
            Figure::new(name, "ms", cpu_per_turn_ms(&ours, runs), goal)
                .beside(cpu_per_turn_ms(&floor, runs)),
        );
        let goal = match jobs {
            256 => Goal::RatioAtLeast(0.5),
            _ => Goal::Nothing,
        };
        let name = format!("runs a second, {jobs} at a time");
        figures.push(
            Figure::new(name, "1/s", runs_per_second(&ours, runs), goal)
                .beside(runs_per_second(&floor, runs)),
        );
    }
    Ok(figures)
}

fn cpu_per_turn_ms(rounds: &[Measured], runs: usize) -> f64 {
    let turns = (runs * TURNS) as f64;
    let each = rounds
        .iter()
        .map(|round| round.cpu.as_secs_f64() * 1e3 / turns);
    median(each.collect())
}

fn runs_per_second(rounds: &[Measured], runs: usize) -> f64 {
    let each = rounds
        .iter()
        .map(|round| runs as f64 / round.wall.as_secs_f64());
    median(each.collect())
}
