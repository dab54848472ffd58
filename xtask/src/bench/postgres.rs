//! Stores on a PostgreSQL server: turns beside a bare loop with the same statements, workers, queues, and stores with a
//! million runs.

mod million;
mod queue;
mod server;
mod turns;
mod workers;

use super::figure::Figure;
use super::rig::Rig;
use crate::fault::Fault;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = turns::measure(rig)?;
    figures.extend(workers::measure(rig)?);
    figures.extend(queue::measure(rig)?);
    figures.extend(million::measure(rig)?);
    Ok(figures)
}
