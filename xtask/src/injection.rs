//! Prompt injection on a public set of cases: agentdojo's tasks, injections and attacks, played through the
//! real program by a model that follows every injection.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run, stage};

const REQUIREMENTS: &str = "requirements.txt";
/// Holds the versions that were installed whole.
const MARKER: &str = "installed.txt";

/// Plays each so-manieth case, and fails where an injected call was executed without an approval.
pub(crate) fn play(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--every"])?;
    let every: u32 = options.number("--every")?.unwrap_or(1).max(1);
    let dir = root().join("target/injection");
    stage("install agentdojo", || install(&dir))?;
    let (cases, tools) = (dir.join("cases.jsonl"), dir.join("tools.json"));
    if !tools.exists() {
        stage("export its cases", || {
            run(python(&dir, "export.py", &[&cases, &tools]))
        })?;
    }
    stage("build", || run(cargo(["build", "--package", "bonded"])))?;
    stage("play the cases", || {
        let program = target_dir().join("debug/bonded");
        let mut drive = python(&dir, "drive.py", &[&program, &cases, &tools]);
        drive.arg(every.to_string());
        run(drive)
    })
}

fn source(name: &str) -> PathBuf {
    root().join("xtask/injection").join(name)
}

fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => dir.into(),
        None => root().join("target"),
    }
}

fn python(dir: &Path, script: &str, files: &[&Path]) -> Command {
    let mut command = Command::new(dir.join("python/bin/python"));
    command.arg(source(script)).args(files);
    command
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
fn install(dir: &Path) -> Result<(), Fault> {
    let requirements = source(REQUIREMENTS);
    let versions = fs::read_to_string(&requirements).map_err(Fault::file(&requirements))?;
    // What is installed names its own place, so a moved tree needs another installation.
    let versions = format!("{}\n{versions}", dir.display());
    let marker = dir.join(MARKER);
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == versions) {
        return Ok(());
    }
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(Fault::file(dir))?;
    }
    fs::create_dir_all(dir).map_err(Fault::file(dir))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(dir.join("python"));
    run(venv)?;
    let mut pip = Command::new(dir.join("python/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"])
        .arg(&requirements);
    run(pip)?;
    // Last, so that an installation that broke off is made again.
    fs::write(&marker, versions).map_err(Fault::file(&marker))
}
