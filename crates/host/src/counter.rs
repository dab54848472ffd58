//! Counts tokens where a model's vocabulary is known; else the kernel estimates.
//!
//! The largest count of all vocabularies is taken, because the run may go on with any of its targets: a
//! request must fit whichever is asked.

use bonded_kernel::{Catalog, RunConfig, RunStarted, SeedTokens, Vocabulary};

/// The vocabularies of a run's targets.
///
/// Empty where no window is known; nothing is counted then.
#[derive(Clone)]
pub(crate) struct Counter(Vec<Vocabulary>);

impl Counter {
    pub(crate) fn of(config: &RunConfig) -> Self {
        let windows = config.targets.iter().filter_map(|target| target.window);
        Self(windows.map(|window| window.vocabulary).collect())
    }

    /// The largest count, or `None` where one of the vocabularies is not known.
    pub(crate) fn count(&self, text: &str) -> Option<u64> {
        let mut largest = None;
        for vocabulary in &self.0 {
            largest = largest.max(Some(bonded_transport::tokens::count(*vocabulary, text)?));
        }
        largest
    }

    /// What a run begins with.
    ///
    /// `None` where something cannot be counted; the kernel estimates all of it then.
    pub(crate) fn seed(&self, started: &RunStarted, catalog: &Catalog) -> Option<SeedTokens> {
        let message = |text: &str| Some(self.count(text)? + MESSAGE_TOKENS);
        Some(SeedTokens {
            conversation: message(&started.system)? + message(&started.goal)?,
            schema: self.count(&catalog.sent_at_first())?,
        })
    }
}

/// What a message costs besides its text.
const MESSAGE_TOKENS: u64 = 4;
