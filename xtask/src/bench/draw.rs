//! What drawing costs while a model says a hundred tokens a second at a terminal.

use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::measure as measure_process;
use super::rig::{Rig, numbers};
use crate::fault::Fault;

const CPU_PERCENT_MAX: f64 = 2.0;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let (mut drawing, mut reading) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let mut command = Command::new(&rig.programs.draw_cost);
        command.arg(&rig.programs.bonded);
        let [drawn_us, drawn_wall_us, read_us, read_wall_us] =
            numbers(&measure_process(command)?.stdout)?;
        let read = read_us as f64 / read_wall_us as f64 * 100.0;
        drawing.push(drawn_us as f64 / drawn_wall_us as f64 * 100.0 - read);
        reading.push(read);
    }
    let max = Goal::AtMost(CPU_PERCENT_MAX);
    let draws = Figure::new(
        "drawing 100 tokens a second, CPU",
        "%",
        median(drawing),
        max,
    );
    let name = "reading them without drawing, CPU";
    let reads = Figure::new(name, "%", median(reading), Goal::Nothing);
    Ok(vec![draws, reads])
}
