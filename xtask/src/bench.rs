//! The benchmark: what the program costs, beside a bare loop that makes the same requests and appends the
//! same bytes, measured in the same minutes on the same machine.
//!
//! Ratios to that floor are what counts; the goals in absolute numbers are for figures that have no floor
//! or are noticed by a person. Each measurement is made several times, ours and the floor's in turn, and
//! the middle one is taken.

mod agent;
mod callgrind;
mod counting;
mod cpu_per_turn;
mod desk;
mod disk;
mod draw;
mod faults;
mod figure;
mod freeze;
mod help;
mod import;
mod long;
mod memory;
mod pages;
mod postgres;
mod process;
mod rig;
mod served;
mod server;
mod start;
mod tools;
mod wave;
mod workspace;

use crate::fault::Fault;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run as run_command, stage};
use figure::Figure;
use rig::Rig;

const ROUNDS_DEFAULT: usize = 5;

type Section = fn(&Rig) -> Result<Vec<Figure>, Fault>;

const SECTIONS: [(&str, Section); 17] = [
    ("cpu", cpu_per_turn::measure_all),
    ("faults", faults::measure_all),
    ("start", start::measure),
    ("memory", memory::measure),
    ("disk", disk::measure),
    ("long", long::measure),
    ("agent", agent::measure),
    ("help", help::measure),
    ("draw", draw::measure),
    ("counting", counting::measure),
    ("tools", tools::measure),
    ("freeze", freeze::measure),
    ("wave", wave::measure),
    ("import", import::measure),
    ("workspace", workspace::measure),
    ("pages", pages::measure),
    ("postgres", postgres::measure),
];

pub(crate) fn run(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--only", "--rounds"])?;
    let rounds = options.number("--rounds")?.unwrap_or(ROUNDS_DEFAULT).max(1);
    let sections = chosen(options.text("--only"))?;
    build()?;
    let rig = Rig::set_up(rounds)?;
    let mut figures = vec![];
    for (name, measure) in sections {
        stage(&format!("measuring: {name}"), || {
            figures.extend(measure(&rig)?);
            Ok(())
        })?;
    }
    println!("\n{}", figure::table(&figures));
    let file = root().join("target/bench.json");
    std::fs::write(&file, figure::json(&figures)).map_err(Fault::file(&file))?;
    println!("written to {}", file.display());
    judge(&figures)
}

fn chosen(only: Option<&str>) -> Result<Vec<(&'static str, Section)>, Fault> {
    let Some(only) = only else {
        return Ok(SECTIONS.to_vec());
    };
    let names = SECTIONS.map(|(name, _)| name);
    let section = |named: &str| {
        let found = SECTIONS.iter().find(|(name, _)| *name == named);
        found.copied().ok_or_else(|| Fault::Usage {
            why: format!("--only {named}: the sections are {}", names.join(", ")),
        })
    };
    only.split(',').map(section).collect()
}

/// In two builds: one for both would give the program features that only the test kit asks for.
fn build() -> Result<(), Fault> {
    stage("release builds", || {
        run_command(cargo(["build", "--release", "--package", "bonded"]))?;
        run_command(cargo([
            "build",
            "--release",
            "--package",
            "bonded-testkit",
            "--bins",
        ]))
    })
}

fn judge(figures: &[Figure]) -> Result<(), Fault> {
    let missed = figures.iter().filter(|figure| !figure.is_met());
    let findings: Vec<String> = missed
        .map(|figure| format!("{} misses its goal: {}", figure.name, figure.goal))
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}
