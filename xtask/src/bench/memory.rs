//! Memory of a run that waits for its model.

use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::rig::Rig;
use crate::fault::Fault;

const RUNS: usize = 256;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let (mut ours, mut floor) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        ours.push(per_run_kb(rig, |runs| {
            let store = rig.fresh("memory-ours")?;
            rig.ours_each(&store, runs, runs, "hang")
        })?);
        floor.push(per_run_kb(rig, |runs| {
            let db = rig.fresh("memory-floor")?;
            Ok(rig.floor(&db, runs, runs, "hang"))
        })?);
    }
    let figure = Figure::new(
        "memory of a waiting run",
        "KB",
        median(ours),
        Goal::AtMost(64.0),
    );
    Ok(vec![figure.beside(median(floor))])
}

/// What one more waiting run adds to a process that has one.
fn per_run_kb(rig: &Rig, command: impl Fn(usize) -> Result<Command, Fault>) -> Result<f64, Fault> {
    let resident_kb = |runs: usize| {
        let running = rig.hanging(command(runs)?, runs as u64)?;
        running.resident_kb()
    };
    Ok((resident_kb(RUNS)? - resident_kb(1)?) / (RUNS - 1) as f64)
}
