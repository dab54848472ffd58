//! Tests that need a process of their own: with its own mounts, or of another user.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the process that does the test.
const INSIDE: &str = "BONDED_TEST_INSIDE";
/// How the launcher says that the machine does not allow it.
const NOT_HERE: i32 = 77;
/// Somebody who owns nothing.
const NOBODY: &str = "65534";

pub(crate) fn launcher() -> PathBuf {
    env!("CARGO_BIN_EXE_work_launcher").into()
}

/// Runs the test of this name in a process with its own mounts: as root, where root runs the tests, and as a user
/// without rights. A machine that allows no namespaces has nothing to be tested with.
pub(crate) fn with_own_mounts(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    again(test, &[]);
    if rustix::process::geteuid().is_root() {
        again(test, &["--user", NOBODY]);
    }
}

/// Runs the test of this name as a user without rights.
pub(crate) fn without_rights(test: &str, body: impl FnOnce()) {
    let is_root = rustix::process::geteuid().is_root();
    if std::env::var_os(INSIDE).is_some() || !is_root {
        return body();
    }
    again(test, &["--user", NOBODY, "--bare"]);
}

/// Says that the machine does not allow what a test needs.
pub(crate) fn not_tested(why: &str) {
    // There is nobody to tell if stderr is closed.
    let _ = writeln!(std::io::stderr(), "not tested here: {why}");
}

fn again(test: &str, how: &[&str]) {
    let tests = std::env::current_exe().expect("this program has a file");
    let mut command = Command::new(launcher());
    command
        .args(how)
        .arg(tests)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        // A directory that another user may be in.
        .current_dir(Path::new("/"));
    let output = command.output().expect("the launcher can be started");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    match output.status.code() {
        Some(NOT_HERE) => not_tested(&said),
        Some(0) => assert!(said.contains("1 passed"), "there is no test {test}: {said}"),
        _ => panic!("{how:?}: {said}"),
    }
}
