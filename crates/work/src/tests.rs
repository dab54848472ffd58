//! The tests of an item.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Hash, Mask};
use bonded_tools::Sandbox;
use bonded_tools::shell::shell;
use bonded_work_rules::{TestReport, WorkItem, test_counts};

use super::outcome::Tests;

/// What is kept of the tests' output.
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// How a test command ended.
pub(super) enum Tested {
    Passed(Box<Tests>),
    Failed(Box<Tests>, String),
    OutOfTime(Box<Tests>),
    NotStarted(String),
}

/// Runs an item's tests in its copy of the tree, within the time that is left to it. What they print is kept without
/// the secrets that we know.
pub(super) async fn run_tests(
    item: &WorkItem,
    command: &str,
    sandbox: &Arc<Sandbox>,
    dir: &Path,
    left_ms: u64,
    mask: &Mask,
) -> Tested {
    let started = Instant::now();
    let left = Duration::from_millis(left_ms);
    let end = match shell(sandbox, command, dir, left, OUTPUT_BYTES_MAX).await {
        Ok(end) => end,
        Err(error) => return Tested::NotStarted(format!("Tests could not be started: {error}")),
    };
    let output = mask.owned(end.output);
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let tests = Box::new(Tests {
        report: TestReport {
            command: command.to_owned(),
            exit_code: end.status.and_then(|status| status.code()),
            counts: test_counts(&output),
            duration_ms,
            output_hash: Hash::of(output.as_bytes()),
            output_bytes: end.output_bytes,
        },
        output,
    });
    if end.status.is_none() {
        return Tested::OutOfTime(tests);
    }
    match tests.report.judge(item) {
        Ok(()) => Tested::Passed(tests),
        Err(fault) => Tested::Failed(tests, fault.to_string()),
    }
}
