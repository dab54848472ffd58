//! How many tests ran, by how they ended.

use serde::{Deserialize, Serialize};

/// Tests by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Those that ended well.
    pub passed: u64,
    /// Those that did not, errors among them.
    pub failed: u64,
    /// Those that were not run.
    pub skipped: u64,
}

impl TestCounts {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}
