//! Prompt injection on a public set of cases: agentdojo's tasks, injections and attacks, played through the
//! real program by a model that follows every injection.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::installation::Installation;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run, stage};

/// Plays each so-manieth case, and fails where an injected call was executed without an approval.
pub(crate) fn play(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--every"])?;
    let every: u32 = options.number("--every")?.unwrap_or(1).max(1);
    let agentdojo = Installation::named("injection");
    stage("install agentdojo", || agentdojo.install_python_alone())?;
    let dir = &agentdojo.dir;
    let (cases, tools) = (dir.join("cases.jsonl"), dir.join("tools.json"));
    if !tools.exists() {
        stage("export its cases", || {
            run(python(dir, "export.py", &[&cases, &tools]))
        })?;
    }
    stage("build", || run(cargo(["build", "--package", "bonded"])))?;
    stage("play the cases", || {
        let program = target_dir().join("debug/bonded");
        let mut drive = python(dir, "drive.py", &[&program, &cases, &tools]);
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
