//! Rules that wait: what they cost a server that has nothing to do.

use std::thread;
use std::time::Duration;

use super::served::Served;
use super::{Rig, data_dir, fill};
use crate::bench::figure::{Figure, Goal};
use crate::fault::Fault;

const RULES: u64 = 10_000;
const NOTES: u64 = 100;

/// The engine looks at its clock twice in this time at least.
const WATCHED: Duration = Duration::from_secs(60);
const CPU_PERCENT_MAX: f64 = 0.1;

/// Two servers at the same time, one with rules and one without: what else happens on the machine happens to both.
pub(super) fn measure(rig: &Rig) -> Result<Figure, Fault> {
    let server = |name: &str, rules: u64| {
        let data = data_dir(rig, name)?;
        fill(rig, &data, "notes", &[NOTES, 1])?;
        fill(rig, &data, "rules", &[rules])?;
        Served::ours(rig, &data)
    };
    let (with, without) = (server("rules", RULES)?, server("no-rules", 0)?);
    let before = (with.cpu()?, without.cpu()?);
    thread::sleep(WATCHED);
    let percent = |now: Duration, before: Duration| {
        (now - before).as_secs_f64() / WATCHED.as_secs_f64() * 100.0
    };
    let with_percent = percent(with.cpu()?, before.0);
    let without_percent = percent(without.cpu()?, before.1);
    Ok(Figure::new(
        "CPU of 10,000 idle rules",
        "%",
        with_percent - without_percent,
        Goal::AtMost(CPU_PERCENT_MAX),
    ))
}
