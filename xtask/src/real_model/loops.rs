//! The workspace's agent with a real model: its loops through the real server, and what must hold of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::listener::Listener;
use super::model::Model;
use crate::fault::Fault;
use crate::root;
use crate::stage::run as run_command;

const SCRIPT: &str = "xtask/real-model/loops.py";

/// What the script lets a reply have at most.
const OUTPUT_TOKENS_MAX: u64 = 256;

/// Makes so many runs, and tells everything that does not hold.
pub(super) fn drive(
    dir: &Path,
    program: &Path,
    model: &Model,
    listener: &Listener,
    runs: usize,
) -> Result<Vec<String>, Fault> {
    let scratch = dir.join("loops");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(Fault::file(&scratch))?;
    }
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(root().join(SCRIPT))
        .args([program, &scratch])
        .args([&listener.base_url(), model.name, &runs.to_string()]);
    run_command(python)?;
    let told = scratch.join("findings.txt");
    let told = fs::read_to_string(&told).map_err(Fault::file(&told))?;
    let mut findings: Vec<String> = told.lines().map(str::to_owned).collect();
    let most = listener.heard().output_tokens_most;
    if most > OUTPUT_TOKENS_MAX {
        findings.push(format!(
            "{most} tokens of a reply, at most {OUTPUT_TOKENS_MAX} are allowed"
        ));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_of_loops_find_what_they_are_for() {
        let mut python = Command::new("python3");
        python
            .args(["-B", "-m", "unittest", "-q", "test_loop_checks"])
            .current_dir(root().join("xtask/real-model"));
        let said = python.output().expect("python3 is there");
        let said_text = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{said_text}");
    }
}
