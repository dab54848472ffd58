//! Checks that the docs are true: the contract, the scenarios and the threats name tests that exist, every error code has
//! its page, the map of modules is that of the sources, every path that a page names is there, and the picture of a run
//! shows what the program draws.

mod contract;
mod errors;
pub(crate) mod modules;
mod named_test;
mod paths;
mod scenarios;
mod threats;

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::{picture, root};

pub(crate) fn check() -> Result<(), Fault> {
    let mut findings = contract::check(root())?;
    findings.extend(scenarios::check(root())?);
    findings.extend(threats::check(root())?);
    findings.extend(errors::check(root())?);
    findings.extend(modules::check(root())?);
    findings.extend(paths::check(root())?);
    findings.extend(picture::check(root())?);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}

fn read(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).map_err(Fault::file(path))
}

/// Every file below a directory whose name ends so, in order.
fn files_below(dir: &Path, ending: &str) -> Result<Vec<PathBuf>, Fault> {
    let mut files = vec![];
    for entry in fs::read_dir(dir).map_err(Fault::file(dir))? {
        let path = entry.map_err(Fault::file(dir))?.path();
        if path.is_dir() {
            files.extend(files_below(&path, ending)?);
        } else if path.to_string_lossy().ends_with(ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
