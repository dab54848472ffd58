//! What drawing costs while a model says a hundred tokens a second at a terminal.

use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::measure as measure_process;
use super::rig::{Rig, numbers};
use crate::fault::Fault;

const CPU_PERCENT_MAX: f64 = 2.0;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut percents = vec![];
    for _ in 0..rig.rounds {
        let mut command = Command::new(&rig.programs.draw_cost);
        command.arg(&rig.programs.bonded);
        let [cpu_us, wall_us] = numbers(&measure_process(command)?.stdout)?;
        percents.push(cpu_us as f64 / wall_us as f64 * 100.0);
    }
    Ok(vec![Figure::new(
        "drawing 100 tokens a second, CPU",
        "%",
        median(percents),
        Goal::AtMost(CPU_PERCENT_MAX),
    )])
}
