//! What came of an item before it was begun again, kept so that a process that goes on begins it no more often.
//!
//! Without it a process that dies and is started again would grant an item all of its retries once more. The
//! same record carries what went wrong into the goal of the next attempt and all attempts into the receipt.

use std::io;
use std::path::Path;

use bonded_kernel::RunId;
use bonded_work_rules::EarlierAttempt;
use serde::{Deserialize, Serialize};

use super::outcome::AttemptOutcome;
use crate::files::{read_json, write_durably};

/// So much of what went wrong reaches whoever tries again.
///
/// Of the output of tests. It becomes a part of a prompt, and is paid for there.
const MESSAGE_LETTERS_MAX: usize = 2000;

/// The attempts that have ended and are not the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EarlierAttempts {
    pub(crate) attempts: Vec<EarlierAttempt>,
    /// What went wrong in the last of them.
    #[serde(rename = "told")]
    message: String,
}

impl EarlierAttempts {
    const FILE: &str = "earlier.json";

    /// Nothing was tried before where there is no file.
    pub(crate) fn read(item_dir: &Path) -> io::Result<Self> {
        Ok(read_json(&item_dir.join(Self::FILE))?.unwrap_or_default())
    }

    pub(crate) fn write(&self, item_dir: &Path) -> io::Result<()> {
        write_durably(&item_dir.join(Self::FILE), &serde_json::to_vec(self)?)
    }

    /// Held against the retries of the item.
    pub(crate) fn count(&self) -> u64 {
        self.attempts.len() as u64
    }

    /// A run whose attempt has ended is never taken up again.
    pub(crate) fn has(&self, run: &RunId) -> bool {
        let mut attempts = self.attempts.iter();
        attempts.any(|attempt| attempt.run_id.as_ref() == Some(run))
    }

    /// An attempt whose outcome has no capsule never had a run, and has no id here.
    pub(crate) fn add(&mut self, outcome: &AttemptOutcome) {
        let error = outcome.error.clone();
        let output = outcome.tests.as_ref().map(|tests| last(&tests.output));
        let lines = [error.as_deref(), output].into_iter().flatten();
        self.message = lines.collect::<Vec<_>>().join("\n");
        self.attempts.push(EarlierAttempt {
            run_id: outcome.capsule.as_ref().map(|capsule| capsule.run.clone()),
            status: outcome.status,
            error,
            execution_time_ms: outcome.execution_time_ms,
        });
    }

    /// What is added to the goal of whoever tries again; nothing for the first.
    pub(crate) fn message(&self) -> Option<String> {
        let message = || {
            format!(
                "\n\nThis was tried before, and what came of it is gone. It ended so:\n{}",
                self.message
            )
        };
        (!self.attempts.is_empty()).then(message)
    }
}

/// The end of a text: that is where tests say what failed.
fn last(text: &str) -> &str {
    let mut starts = text.char_indices().rev();
    let start = starts.nth(MESSAGE_LETTERS_MAX.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}
