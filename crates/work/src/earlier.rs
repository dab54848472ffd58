//! What came of an item before it was begun again, kept so that a process that goes on begins it no more often.

use std::io;
use std::path::Path;

use bonded_kernel::RunId;
use bonded_work_rules::EarlierAttempt;
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_durably};
use super::outcome::Outcome;

/// So much of what went wrong is told to whoever tries again.
const TOLD_LETTERS_MAX: usize = 2000;

/// The attempts that have ended and are not the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Earlier {
    pub(super) attempts: Vec<EarlierAttempt>,
    /// What went wrong in the last of them.
    told: String,
}

impl Earlier {
    const FILE: &str = "earlier.json";

    pub(super) fn read(item_dir: &Path) -> io::Result<Self> {
        Ok(read_json(&item_dir.join(Self::FILE))?.unwrap_or_default())
    }

    pub(super) fn write(&self, item_dir: &Path) -> io::Result<()> {
        write_durably(&item_dir.join(Self::FILE), &serde_json::to_vec(self)?)
    }

    pub(super) fn count(&self) -> u64 {
        self.attempts.len() as u64
    }

    pub(super) fn has(&self, run: &RunId) -> bool {
        let mut attempts = self.attempts.iter();
        attempts.any(|attempt| attempt.run_id.as_ref() == Some(run))
    }

    pub(super) fn add(&mut self, outcome: &Outcome) {
        let error = outcome.error.clone();
        let output = outcome.tests.as_ref().map(|tests| last(&tests.output));
        let said = [error.as_deref(), output].into_iter().flatten();
        self.told = said.collect::<Vec<_>>().join("\n");
        self.attempts.push(EarlierAttempt {
            run_id: outcome.capsule.as_ref().map(|capsule| capsule.run.clone()),
            status: outcome.status,
            error,
            execution_time_ms: outcome.execution_time_ms,
        });
    }

    /// What is said to whoever tries again; nothing to the first.
    pub(super) fn told(&self) -> Option<String> {
        let told = || {
            format!(
                "\n\nThis was tried before, and what came of it is gone. It ended so:\n{}",
                self.told
            )
        };
        (!self.attempts.is_empty()).then(told)
    }
}

/// The end of a text: that is where tests say what failed.
fn last(text: &str) -> &str {
    let mut starts = text.char_indices().rev();
    let start = starts.nth(TOLD_LETTERS_MAX.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}
