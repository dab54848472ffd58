//! Tools: what a call costs beyond the tool's own work, a server's tool beside the SDK's bare client, and a command in
//! the sandbox beside the same command without it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::measure as measure_process;
use super::rig::{Rig, numbers};
use crate::fault::Fault;

const RUNS: usize = 100;
/// In one reply, so that as little as possible but calls is between the two runs that are compared.
const CALLS_PER_RUN: usize = 40;

const OVERHEAD_US_MAX: f64 = 100.0;
const SERVER_RATIO_MAX: f64 = 1.5;
const SANDBOX_MS_MAX: f64 = 5.0;

const SERVER_CALLS: usize = 2000;
const COMMANDS: usize = 40;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = vec![overhead(rig)?, server(rig)?];
    figures.extend(sandbox(rig)?);
    Ok(figures)
}

/// The same runs with calls and without, less what the tool takes where it is called as a function.
fn overhead(rig: &Rig) -> Result<Figure, Fault> {
    let with = script(rig, CALLS_PER_RUN)?;
    let without = script(rig, 0)?;
    let mut beyond_us = vec![];
    for _ in 0..rig.rounds {
        let own_us = costs(rig, "read", &[rig.notes().as_path()], RUNS * CALLS_PER_RUN)?.0 / 1e3;
        let cpu_us = |script: &Path| {
            let used = measure_process(scripted(rig, script)?)?.cpu;
            Ok::<f64, Fault>(used.as_secs_f64() * 1e6)
        };
        let calls = (RUNS * CALLS_PER_RUN) as f64;
        beyond_us.push((cpu_us(&with)? - cpu_us(&without)?) / calls - own_us);
    }
    Ok(Figure::new(
        "CPU of a call beyond the tool's own",
        "us",
        median(beyond_us),
        Goal::AtMost(OVERHEAD_US_MAX),
    ))
}

fn server(rig: &Rig) -> Result<Figure, Fault> {
    let program = rig.programs.tool_server.clone();
    let (ours, bare) = medians(rig, "mcp", &[&program], SERVER_CALLS)?;
    Ok(Figure::new(
        "CPU of a call of a stdio server's tool",
        "us",
        ours / 1e3,
        Goal::RatioAtMost(SERVER_RATIO_MAX),
    )
    .beside(bare / 1e3))
}

fn sandbox(rig: &Rig) -> Result<[Figure; 2], Fault> {
    let (launcher, dir) = (rig.programs.bonded.clone(), rig.notes());
    let (inside, outside) = medians(rig, "run", &[&launcher, &dir], COMMANDS)?;
    let (inside_ms, outside_ms) = (inside / 1e6, outside / 1e6);
    Ok([
        Figure::new("a command in the sandbox", "ms", inside_ms, Goal::Nothing).beside(outside_ms),
        Figure::new(
            "the same less the command alone",
            "ms",
            inside_ms - outside_ms,
            Goal::AtMost(SANDBOX_MS_MAX),
        ),
    ])
}

fn medians(rig: &Rig, what: &str, paths: &[&Path], times: usize) -> Result<(f64, f64), Fault> {
    let (mut ours, mut other) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let costs = costs(rig, what, paths, times)?;
        ours.push(costs.0);
        other.push(costs.1);
    }
    Ok((median(ours), median(other)))
}

/// Nanoseconds, ours and the other's.
fn costs(rig: &Rig, what: &str, paths: &[&Path], times: usize) -> Result<(f64, f64), Fault> {
    let mut command = Command::new(&rig.programs.tool_costs);
    command.arg(what).args(paths).arg(times.to_string());
    let [ours, other] = numbers(&measure_process(command)?.stdout)?;
    Ok((ours as f64, other as f64))
}

/// One reply with so many calls, if any, and the one that ends the run.
fn script(rig: &Rig, calls: usize) -> Result<PathBuf, Fault> {
    let path = rig.path(&format!("calls-{calls}.jsonl"));
    let mut text = String::new();
    let written: Vec<String> = (0..calls)
        .map(|number| {
            let file = format!("note-{number}.txt");
            format!("{{\"tool\":\"read\",\"arguments\":{{\"path\":\"{file}\"}}}}")
        })
        .collect();
    if calls > 0 {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{{\"calls\":[{}]}}", written.join(","));
    }
    text.push_str("{\"calls\":[{\"tool\":\"done\",\"arguments\":{\"reason\":\"all read\"}}]}\n");
    fs::write(&path, text).map_err(Fault::file(&path))?;
    Ok(path)
}

fn scripted(rig: &Rig, script: &Path) -> Result<Command, Fault> {
    let store = rig.fresh("tools-store")?;
    let mut command = rig.bonded(&store);
    command
        .args(["run", "--quiet", "--jobs", "1", "--each"])
        .arg(rig.goals(RUNS)?)
        .args(["--max-tool-calls-per-turn", &CALLS_PER_RUN.to_string()])
        .args(["--model", &format!("script:{}", script.display())])
        .arg("--dir")
        .arg(rig.notes());
    Ok(command)
}
