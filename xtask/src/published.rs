//! Servers as they are published on npm and PyPI, started in the sandbox with nothing but a network.

use std::process::Command;

use crate::fault::Fault;
use crate::root;
use crate::stage::{cargo, run, stage};

/// The version of `uv` that starts those from PyPI.
const UV: &str = "uv==0.9.*";

/// Fetches `uv` where it is missing, and has the test fetch and start the servers.
pub(crate) fn start() -> Result<(), Fault> {
    let dir = root().join("target/published");
    stage("install uv", || {
        if dir.join("bin/uvx").exists() {
            return Ok(());
        }
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&dir);
        run(venv)?;
        let mut pip = Command::new(dir.join("bin/pip"));
        pip.args(["install", "--quiet", UV]);
        run(pip)
    })?;
    stage("start published servers", || {
        let words = [
            "test",
            "--package",
            "bonded",
            "--test",
            "agent",
            "published",
        ];
        let mut tests = cargo(words);
        tests.args(["--", "--nocapture"]);
        tests.env("BONDED_PUBLISHED", dir.join("bin"));
        run(tests)
    })
}
