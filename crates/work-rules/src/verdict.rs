//! What the tests of an item said, and whether that is a pass.

use bonded_kernel::Hash;
use serde::{Deserialize, Serialize};

use super::counts::TestCounts;
use super::item::WorkItem;

/// What came of a test command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// As the item has it.
    pub command: String,
    /// Absent where a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What its output says, where that is the output of a known runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    /// How long it ran.
    pub duration_ms: u64,
    /// Over what is kept of its output, without secrets.
    pub output_hash: Hash,
    /// How long its output was before anything was cut.
    pub output_bytes: u64,
}

/// Why tests are not passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestFault {
    /// It exited with another code than 0.
    #[error("Tests failed: {command} exited with {exit_code}{}", figures(.counts))]
    Failed {
        command: String,
        exit_code: i32,
        counts: Option<TestCounts>,
    },
    /// It did not come to its end.
    #[error("Tests failed: {command} was ended by a signal")]
    Killed { command: String },
    /// It exited with 0, but ran too few tests, or some failed.
    #[error("Tests failed: {expected} expected, {} passed and {} failed", .found.passed, .found.failed)]
    TooFew { expected: u64, found: TestCounts },
    /// It exited with 0, and nobody can tell what it ran.
    #[error(
        "Tests failed: {expected} expected, and the output of {command} does not say how many ran"
    )]
    Uncounted { expected: u64, command: String },
}

fn figures(counts: &Option<TestCounts>) -> String {
    match counts {
        Some(counts) => format!(" ({} passed, {} failed)", counts.passed, counts.failed),
        None => String::new(),
    }
}

impl TestReport {
    /// The exit code decides. Where the item expects a number of tests, so many must have passed and none failed:
    /// a command that runs none, or hides how it ended, is no pass then.
    pub fn judge(&self, item: &WorkItem) -> Result<(), TestFault> {
        let command = self.command.clone();
        match self.exit_code {
            None => return Err(TestFault::Killed { command }),
            Some(0) => {}
            Some(exit_code) => {
                return Err(TestFault::Failed {
                    command,
                    exit_code,
                    counts: self.counts,
                });
            }
        }
        match (item.tests_expected, self.counts) {
            (None, _) => Ok(()),
            (Some(expected), None) => Err(TestFault::Uncounted { expected, command }),
            (Some(expected), Some(found)) => match found.passed >= expected && found.failed == 0 {
                true => Ok(()),
                false => Err(TestFault::TooFew { expected, found }),
            },
        }
    }
}
