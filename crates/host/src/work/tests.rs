//! The tests of an item.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::work::{WorkItem, test_counts};
use bonded_tools::Sandbox;
use bonded_tools::shell::shell;

use super::outcome::Tests;

/// What is kept of the tests' output.
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// How a test command ended.
pub(super) enum Tested {
    Passed(Tests),
    Failed(Tests, String),
    OutOfTime(Tests),
    NotStarted(String),
}

/// Runs an item's tests in its copy of the tree, within the time that is left to it.
pub(super) async fn run_tests(
    item: &WorkItem,
    command: &str,
    sandbox: &Arc<Sandbox>,
    dir: &Path,
    left_ms: u64,
) -> Tested {
    let left = Duration::from_millis(left_ms);
    let end = match shell(sandbox, command, dir, left, OUTPUT_BYTES_MAX).await {
        Ok(end) => end,
        Err(error) => return Tested::NotStarted(format!("Tests could not be started: {error}")),
    };
    let counts = test_counts(&end.output);
    let tests = Tests {
        exit: end.status.and_then(|status| status.code()),
        counts,
        output: end.output,
        output_bytes: end.output_bytes,
    };
    let Some(status) = end.status else {
        return Tested::OutOfTime(tests);
    };
    if !status.success() {
        return Tested::Failed(tests, format!("Tests failed: {status}"));
    }
    let (expected, passed) = (item.tests_expected, counts.map_or(0, |counts| counts.passed));
    match expected.filter(|expected| passed < *expected) {
        None => Tested::Passed(tests),
        Some(expected) => {
            let why = format!("Tests failed: {passed} tests passed, and {expected} are expected");
            Tested::Failed(tests, why)
        }
    }
}
