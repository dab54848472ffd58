//! The table of listed prices and windows, written from two lists that others keep, at the versions that are pinned or at
//! the newest; and what differs in the table that is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::installation::Installation;
use crate::root;
use crate::stage::{run, stage};

/// The lists that the table is from.
const LISTS: [&str; 2] = ["genai-prices", "litellm"];

pub(crate) fn table(words: &[String]) -> Result<(), Fault> {
    let (mut newest, mut check) = (false, false);
    for word in words {
        match word.as_str() {
            "--newest" => newest = true,
            "--check" => check = true,
            _ => {
                let why = "prices takes --newest and --check; `cargo xtask help` lists them".into();
                return Err(Fault::Usage { why });
            }
        }
    }
    let python = if newest { newest_lists()? } else { pinned()? };
    let programs = root().join("xtask/prices");
    stage("what enters the table", || {
        let mut tests = Command::new(&python);
        tests.args(["-B", "-m", "unittest", "-q", "test_merge"]);
        tests.current_dir(&programs);
        run(tests)
    })?;
    let file = root().join("crates/transport/src/models/listed.tsv");
    let title = if check {
        "what differs"
    } else {
        "write the table"
    };
    stage(title, || {
        let mut table = Command::new(&python);
        table
            .arg("-B")
            .arg(programs.join("table.py"))
            .arg(if check { "check" } else { "write" })
            .arg(&file);
        if check && newest {
            table.arg("newest");
        }
        run(table)
    })
}

fn pinned() -> Result<PathBuf, Fault> {
    let lists = Installation::named("prices");
    stage("install the lists", || lists.install_python_alone())?;
    Ok(lists.python())
}

/// The newest of both, beside those that are pinned, with what the first needs to be read. The second is read as a file.
fn newest_lists() -> Result<PathBuf, Fault> {
    let dir = root().join("target/prices-newest");
    stage("install the newest lists", || {
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(Fault::file(&dir))?;
        }
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&dir);
        run(venv)?;
        let [first, second] = LISTS;
        run(pip(&dir, &[first]))?;
        run(pip(&dir, &["--no-deps", second]))
    })?;
    Ok(dir.join("bin/python"))
}

fn pip(dir: &Path, words: &[&str]) -> Command {
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"]).args(words);
    pip
}
