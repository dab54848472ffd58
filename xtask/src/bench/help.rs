//! How long the help texts take, beside a program that only prints a line.

use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::measure as measure_process;
use super::rig::Rig;
use crate::fault::Fault;

/// Starts are short, so many of them are made in each round.
const STARTS_PER_ROUND: usize = 20;

/// What a person does not notice.
const MS_MAX: f64 = 10.0;

/// What is asked for.
const TEXTS: [&[&str]; 3] = [&["-h"], &["run", "-h"], &["--help"]];

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut ours: [Vec<f64>; TEXTS.len()] = Default::default();
    let mut bare = vec![];
    for _ in 0..rig.rounds * STARTS_PER_ROUND {
        for (times, words) in ours.iter_mut().zip(TEXTS) {
            times.push(wall_ms(rig.help(words))?);
        }
        bare.push(wall_ms(rig.bare())?);
    }
    let bare = median(bare);
    let figures = ours.into_iter().zip(TEXTS).map(|(times, words)| {
        let name = format!("`{}`, start to end", words.join(" "));
        Figure::new(name, "ms", median(times), Goal::AtMost(MS_MAX)).beside(bare)
    });
    Ok(figures.collect())
}

fn wall_ms(command: Command) -> Result<f64, Fault> {
    Ok(measure_process(command)?.wall.as_secs_f64() * 1e3)
}
