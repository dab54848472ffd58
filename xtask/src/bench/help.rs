//! How long the help text takes, beside a program that only prints a line.

use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::measure as measure_process;
use super::rig::Rig;
use crate::fault::Fault;

/// Starts are short, so many of them are made in each round.
const STARTS_PER_ROUND: usize = 20;

const MORE_MS_MAX: f64 = 10.0;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..rig.rounds * STARTS_PER_ROUND {
        ours.push(wall_ms(rig.help())?);
        bare.push(wall_ms(rig.bare())?);
    }
    let (ours, bare) = (median(ours), median(bare));
    Ok(vec![
        Figure::new("`--help`, start to end", "ms", ours, Goal::Nothing).beside(bare),
        Figure::new(
            "the same less a bare program",
            "ms",
            ours - bare,
            Goal::AtMost(MORE_MS_MAX),
        ),
    ])
}

fn wall_ms(command: Command) -> Result<f64, Fault> {
    Ok(measure_process(command)?.wall.as_secs_f64() * 1e3)
}
