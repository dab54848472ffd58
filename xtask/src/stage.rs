//! Stages: each has a headline, says how long it took, and stops everything when it fails.

use std::ffi::OsString;
use std::process::Command;
use std::time::Instant;

use crate::fault::Fault;
use crate::root;

pub(crate) fn stage(title: &str, work: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    println!("==> {title}");
    let begun = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "ok" } else { "FAILED" };
    println!(
        "<== {title}: {verdict}, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    result
}

/// Cargo, as it called this program, in the workspace.
pub(crate) fn cargo<'a>(words: impl IntoIterator<Item = &'a str>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(words).current_dir(root());
    // What cargo tells this program about its package would look to some build scripts like a change, and
    // they would build anew what a cargo that was called by hand has built already.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_")
            || name.to_string_lossy().starts_with("CARGO_MANIFEST_")
        {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end, its output on the terminal.
pub(crate) fn run(mut command: Command) -> Result<(), Fault> {
    let status = command.status().map_err(|source| Fault::Missing {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Fault::Failed {
        command: shown(&command),
        status: status.to_string(),
    })
}

pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
