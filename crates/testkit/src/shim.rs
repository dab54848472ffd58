//! Libraries that stand before the system's, so that a clock or a disk does what a test wants.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// The libraries by their sources.
static BUILT: Mutex<BTreeMap<&str, (TempDir, PathBuf)>> = Mutex::new(BTreeMap::new());

/// The library of this source, built once.
pub fn built(source: &'static str) -> PathBuf {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, library) = built.entry(source).or_insert_with(|| {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let (file, library) = (dir.path().join("shim.c"), dir.path().join("shim.so"));
        std::fs::write(&file, source).expect("the source can be written");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file);
        assert!(cc.status().expect("there is a compiler").success());
        (dir, library)
    });
    library.clone()
}
