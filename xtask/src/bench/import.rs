//! `bonded import` of a large directory of another program, beside the least that it takes to make its files findable.

use std::fs;
use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::{Measured, measure as measure_process};
use super::rig::Rig;
use crate::fault::Fault;

const FILES: usize = 100_000;

const SECONDS_MAX: f64 = 30.0;
const CPU_RATIO_MAX: f64 = 3.0;

/// A round takes about a minute, so there are not as many as of other measurements.
const ROUNDS_MAX: usize = 3;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let vault = rig.path("vault");
    let mut fill = Command::new(&rig.programs.workspace_fill);
    fill.arg("files").arg(&vault).arg(FILES.to_string());
    measure_process(fill)?;
    let (mut ours, mut floor) = (vec![], vec![]);
    for round in 0..rig.rounds.min(ROUNDS_MAX) {
        let data = rig.path(&format!("import-{round}"));
        let mut init = Command::new(&rig.programs.bonded);
        init.arg("init").arg(&data);
        measure_process(init)?;
        let mut import = Command::new(&rig.programs.bonded);
        import.arg("import").arg("--data").args([&data, &vault]);
        ours.push(measure_process(import)?);
        fs::remove_dir_all(&data).map_err(Fault::file(&data))?;
        let mut bare = Command::new(&rig.programs.import_floor);
        bare.args([&vault, &rig.fresh("import-floor")?]);
        floor.push(measure_process(bare)?);
    }
    let wall = |of: &[Measured]| median(of.iter().map(|it| it.wall.as_secs_f64()).collect());
    let cpu = |of: &[Measured]| median(of.iter().map(|it| it.cpu.as_secs_f64()).collect());
    let taking = Figure::new(
        "import of 100,000 files",
        "s",
        wall(&ours),
        Goal::AtMost(SECONDS_MAX),
    );
    let using = Figure::new(
        "CPU of it",
        "s",
        cpu(&ours),
        Goal::RatioAtMost(CPU_RATIO_MAX),
    );
    Ok(vec![taking.beside(wall(&floor)), using.beside(cpu(&floor))])
}
