//! What an item came to in its copy of the tree, before anything is published.
//!
//! It is written when the attempt is over and before anything is published. A process that goes on reads it
//! instead of running the item again, which would cost money and could come to something else.

use std::io;
use std::path::Path;

use bonded_work_rules::{Capsule, EarlierAttempt, TestReport, WorkStatus};
use serde::{Deserialize, Serialize};

use crate::files::{read_json, write_durably};

/// How an item ended. Written when it has, so that a restart does not repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AttemptOutcome {
    /// Success means that it may be published.
    pub(crate) status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) denial_reason: Option<String>,
    /// Absent where no run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) capsule: Option<Box<Capsule>>,
    /// What the run was asked, as one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tests: Option<Box<Tests>>,
    pub(crate) execution_time_ms: u64,
    /// Whether somebody changed the tree after it was frozen for the item.
    #[serde(default)]
    pub(crate) changed_meanwhile: bool,
    /// What came of it before it was begun again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier_attempts: Vec<EarlierAttempt>,
}

/// What came of an item's tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tests {
    pub(crate) report: TestReport,
    /// Of much output the beginning and the end.
    pub(crate) output: String,
}

impl AttemptOutcome {
    /// Also what other outcomes begin from: every field but the status and the error is empty.
    pub(crate) fn failed(error: impl Into<String>) -> Self {
        Self {
            status: WorkStatus::Failure,
            error: Some(error.into()),
            denial_reason: None,
            capsule: None,
            prompt: None,
            tests: None,
            execution_time_ms: 0,
            changed_meanwhile: false,
            earlier_attempts: vec![],
        }
    }

    const FILE: &str = "outcome.json";

    pub(crate) fn read(item_dir: &Path) -> io::Result<Option<Self>> {
        read_json(&item_dir.join(Self::FILE))
    }

    pub(crate) fn write(&self, item_dir: &Path) -> io::Result<()> {
        write_durably(&item_dir.join(Self::FILE), &serde_json::to_vec(self)?)
    }
}
