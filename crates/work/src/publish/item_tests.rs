//! The tests of an item.
//!
//! They are commands of the plan that run code which a model wrote, so that they run in the sandbox that
//! commands of the run have, with a limit of time and of output. What they print goes into receipts and
//! prompts, and is masked before anything else is done with it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Hash, Mask};
use bonded_tools::Sandbox;
use bonded_tools::shell::shell;
use bonded_work_rules::{TestReport, WorkItem, test_counts};

use crate::plan::Tests;

/// What is kept of the tests' output.
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// How a test command ended.
pub(crate) enum TestEnd {
    Passed(Box<Tests>),
    Failed(Box<Tests>, String),
    OutOfTime(Box<Tests>),
    NotStarted(String),
}

/// Runs an item's tests in its copy of the tree, within the time that is left to it. What they print is kept without
/// the secrets that we know.
///
/// A command that has no status was stopped for its time. The report judges the exit code and the counts by
/// what the item demands.
pub(crate) async fn run_tests(
    item: &WorkItem,
    command: &str,
    sandbox: &Arc<Sandbox>,
    dir: &Path,
    left_ms: u64,
    mask: &Mask,
) -> TestEnd {
    let started = Instant::now();
    let left = Duration::from_millis(left_ms);
    let end = match shell(sandbox, command, dir, left, OUTPUT_BYTES_MAX).await {
        Ok(end) => end,
        Err(error) => return TestEnd::NotStarted(format!("Tests could not be started: {error}")),
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
        return TestEnd::OutOfTime(tests);
    }
    match tests.report.judge(item) {
        Ok(()) => TestEnd::Passed(tests),
        Err(fault) => TestEnd::Failed(tests, fault.to_string()),
    }
}
