//! Faults at every turn: each run must come to its answer all the same.

use super::figure::{Figure, Goal};
use super::process::measure;
use super::rig::{PLAIN, Rig};
use crate::fault::Fault;

const RUNS: usize = 16;
/// As it stands in the result of a run that succeeded.
const ANSWER: &str = "\"answer\":\"all 10 notes are read\"";

const FAULTS: [&str; 8] = [
    "429x2",
    "500x2",
    "not-json",
    "empty",
    "cut",
    "bad-args",
    "unknown-tool",
    "all",
];

pub(crate) fn measure_all(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = vec![];
    for stream in [false, true] {
        for model in std::iter::once(PLAIN).chain(FAULTS) {
            let store = rig.fresh("faults")?;
            let mut command = rig.ours_each(&store, RUNS, RUNS, model)?;
            if stream {
                command.arg("--stream");
            }
            let answered = match measure(command) {
                Ok(measured) => measured.stdout.matches(ANSWER).count(),
                Err(fault @ Fault::Failed { .. }) => {
                    println!("{fault}");
                    0
                }
                Err(fault) => return Err(fault),
            };
            let how = if stream { "streamed" } else { "whole" };
            let name = format!("answers of {RUNS}, replies {how}, {model}");
            let goal = Goal::Exactly(RUNS as f64);
            figures.push(Figure::new(name, "runs", answered as f64, goal));
        }
    }
    Ok(figures)
}
