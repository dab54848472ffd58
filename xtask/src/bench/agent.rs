//! Agents: one turn with its report, and four hundred turns with a tool's result each.
//!
//! There is no floor here: the goals follow from what another program was seen to take for the same work.

use std::process::Command;

use super::desk::{Desk, Encoding};
use super::figure::{Figure, Goal, median};
use super::process::{measure as measure_process, peak_mb};
use super::rig::Rig;
use crate::cpu;
use crate::fault::Fault;

/// One turn is short, so many of them are timed together: the system counts CPU time in steps of 10 ms.
const PROCESSES_PER_ROUND: usize = 10;

/// The other program: 2.0 s and 334 MB.
const ONE_CPU_MS_MAX: f64 = 2000.0 / 50.0;
const ONE_PEAK_MB_MAX: f64 = 334.0 / 10.0;

const TURNS: usize = 400;
const NOTE_BYTES: usize = 3200;

/// The other program: 38 s and 3,030 MB.
const MANY_CPU_S_MAX: f64 = 2.0;
const MANY_PEAK_MB_MAX: f64 = 80.0;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let desk = Desk::set_up(rig, "agent", TURNS, |number| prose(number, NOTE_BYTES))?;
    let mut figures = vec![];
    for encoding in [Encoding::XmlFinal, Encoding::Native] {
        figures.extend(one_turn(rig, &desk, encoding)?);
        figures.extend(many_turns(rig, &desk, encoding)?);
    }
    Ok(figures)
}

fn one_turn(rig: &Rig, desk: &Desk<'_>, encoding: Encoding) -> Result<Vec<Figure>, Fault> {
    let (mut cpu_ms, mut peaks_mb) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let before = cpu::of_children()?;
        for _ in 0..PROCESSES_PER_ROUND {
            must_report(desk.run(0, encoding)?)?;
        }
        let took = cpu::of_children()? - before;
        cpu_ms.push(took.as_secs_f64() * 1e3 / PROCESSES_PER_ROUND as f64);
        peaks_mb.push(peak_mb(desk.run(0, encoding)?)?);
    }
    Ok(vec![
        Figure::new(
            format!("CPU of an agent's one turn, {encoding}"),
            "ms",
            median(cpu_ms),
            Goal::AtMost(ONE_CPU_MS_MAX),
        ),
        Figure::new(
            format!("peak memory of it, {encoding}"),
            "MB",
            median(peaks_mb),
            Goal::AtMost(ONE_PEAK_MB_MAX),
        ),
    ])
}

fn many_turns(rig: &Rig, desk: &Desk<'_>, encoding: Encoding) -> Result<Vec<Figure>, Fault> {
    let (mut cpu_s, mut peaks_mb) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let before = cpu::of_children()?;
        must_report(desk.run(TURNS, encoding)?)?;
        cpu_s.push((cpu::of_children()? - before).as_secs_f64());
        peaks_mb.push(peak_mb(desk.run(TURNS, encoding)?)?);
    }
    Ok(vec![
        Figure::new(
            format!("CPU of an agent's {TURNS} turns, {encoding}"),
            "s",
            median(cpu_s),
            Goal::AtMost(MANY_CPU_S_MAX),
        ),
        Figure::new(
            format!("peak memory of them, {encoding}"),
            "MB",
            median(peaks_mb),
            Goal::AtMost(MANY_PEAK_MB_MAX),
        ),
    ])
}

/// An agent that did something else than its work has not been measured.
fn must_report(command: Command) -> Result<(), Fault> {
    let said = measure_process(command)?.stdout;
    if said.contains(Desk::REPORT) {
        return Ok(());
    }
    let why = format!("the agent reported something else: {said}");
    Err(Fault::unmeasured(why))
}

/// A note of words, as long as is asked for.
pub(crate) fn prose(number: usize, bytes: usize) -> String {
    let words = format!("note {number}: the tide is out and the boats lie on the sand\n");
    let mut text = words.repeat(bytes / words.len() + 1);
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_the_length_that_is_asked_for() {
        for bytes in [0, 1, NOTE_BYTES] {
            assert_eq!(prose(7, bytes).len(), bytes);
        }
        assert_ne!(prose(1, NOTE_BYTES), prose(2, NOTE_BYTES));
    }
}
