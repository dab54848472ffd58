//! Everything that must hold before a change is good: the one command that a person and CI run.

use std::process::{Command, Stdio};

use crate::bubblewrap;
use crate::dependencies;
use crate::docs;
use crate::fault::Fault;
use crate::mcp_servers;
use crate::sdk;
use crate::stage::{cargo, run, stage};

pub(crate) fn run_all() -> Result<(), Fault> {
    stage("what the tests need", || {
        prerequisites()?;
        bubblewrap::install()
    })?;
    stage("format", || run(cargo(["fmt", "--all", "--check"])))?;
    stage("lints", || {
        let words = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ];
        run(cargo(words))
    })?;
    stage("dependencies", dependencies::check)?;
    let mut tests = cargo(["test", "--workspace"]);
    stage("client SDKs and MCP servers", || {
        let sdks = sdk::install()?;
        sdks.tell(&mut tests);
        mcp_servers::install(&sdks)?.tell(&mut tests);
        Ok(())
    })?;
    stage("tests", || run(tests))?;
    stage("docs", docs::check)
}

/// The tests need the toolchain, git, a POSIX shell, Python and bubblewrap, and once the network, for the SDKs; all
/// that is missing and cannot be installed is named at once.
fn prerequisites() -> Result<(), Fault> {
    let needed: [(&str, &[&str], &str); 5] = [
        (
            "python3",
            &["-c", "import tomllib, venv"],
            "the client SDKs are installed with it: 3.11 or later, with venv",
        ),
        (
            "git",
            &["--version"],
            "the demo makes its scratch repository with it",
        ),
        (
            "sh",
            &["-c", "exit 0"],
            "the `run` tool starts its commands with it",
        ),
        (
            "cargo",
            &["fmt", "--version"],
            "`rustup component add rustfmt` installs it",
        ),
        (
            "cargo",
            &["clippy", "--version"],
            "`rustup component add clippy` installs it",
        ),
    ];
    let findings: Vec<String> = needed
        .iter()
        .filter(|(program, words, _)| !answers(program, words))
        .map(|(program, words, why)| {
            format!("`{program} {}` does not work: {why}", words.join(" "))
        })
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}

fn answers(program: &str, words: &[&str]) -> bool {
    let silent = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}
