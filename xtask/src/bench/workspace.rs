//! The workspace server: what requests cost beside a bare handler on the same rows, and what it takes when nobody asks.

mod idle;
mod load;
mod loops;
mod requests;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::figure::Figure;
use super::process::measure as measure_process;
use super::rig::Rig;
use super::served;
use crate::fault::Fault;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = requests::measure(rig)?;
    figures.push(idle::measure(rig)?);
    figures.push(loops::measure(rig)?);
    Ok(figures)
}

/// A new data directory, as a person makes one.
pub(super) fn data_dir(rig: &Rig, name: &str) -> Result<PathBuf, Fault> {
    let dir = rig.path(name);
    let mut init = Command::new(&rig.programs.bonded);
    init.arg("init").arg(&dir);
    measure_process(init)?;
    Ok(dir)
}

fn store_of(data: &Path) -> PathBuf {
    data.join("workspace.db")
}

/// Puts notes or rules into a data directory.
fn fill(rig: &Rig, data: &Path, what: &str, numbers: &[u64]) -> Result<(), Fault> {
    let mut fill = Command::new(&rig.programs.workspace_fill);
    fill.arg(what).arg(store_of(data));
    fill.args(numbers.iter().map(u64::to_string));
    measure_process(fill).map(drop)
}
