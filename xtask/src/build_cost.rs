//! What a newcomer pays: CPU time of a release build from nothing, and the size of what comes of it.

use std::fs;

use crate::cpu;
use crate::fault::Fault;
use crate::root;
use crate::stage::{cargo, run, stage};

const CPU_MINUTES_MAX: f64 = 6.0;
const BINARY_MB_MAX: f64 = 32.0;

pub(crate) fn run_fresh() -> Result<(), Fault> {
    let target = root().join("target").join("build-cost");
    remove(&target)?;
    let before = cpu::of_children()?;
    let mut build = cargo(["build", "--release", "--package", "bonded"]);
    build.env("CARGO_TARGET_DIR", &target);
    stage("release build from nothing", || run(build))?;
    let cpu_minutes = (cpu::of_children()? - before).as_secs_f64() / 60.0;
    let binary = target.join("release").join("bonded");
    let bytes = fs::metadata(&binary).map_err(Fault::file(&binary))?.len();
    remove(&target)?;
    judge(cpu_minutes, bytes as f64 / 1e6)
}

fn judge(cpu_minutes: f64, binary_mb: f64) -> Result<(), Fault> {
    let figures = [
        ("CPU minutes", cpu_minutes, CPU_MINUTES_MAX),
        ("binary in MB", binary_mb, BINARY_MB_MAX),
    ];
    for (name, value, max) in figures {
        let verdict = if value <= max { "ok" } else { "MISS" };
        println!("{name:<14} {value:>6.1}   at most {max:>4.0}   {verdict}");
    }
    let missed = figures.iter().filter(|(_, value, max)| value > max);
    let findings: Vec<String> = missed
        .map(|(name, value, max)| format!("{name}: {value:.1}, at most {max:.0}"))
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}

fn remove(dir: &std::path::Path) -> Result<(), Fault> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Fault::file(dir)(error)),
        _ => Ok(()),
    }
}
