//! Queues: how many tools of a kind run at once.
//!
//! A queue is a number of places. Tools that are bound to the same one share them, over all runs of the
//! process.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_tools::{DEFAULT_QUEUE, default_places};

use super::{Config, ConfigError, KeyPath};

/// What the configuration says of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// How many calls run at the same time.
    pub concurrent: u64,
}

impl Config {
    /// All queues by name. One that does not say how many it lets run at once gets its usual places.
    pub fn queues(&self, cores: usize) -> BTreeMap<String, QueueEntry> {
        let default = default_places(cores) as u64;
        let names = self.names("queues").into_iter().chain([DEFAULT_QUEUE]);
        names
            .map(|name| {
                let configured = self
                    .entry(&["queues", name], &mut Vec::new())
                    .and_then(|entry| entry.whole("concurrent"));
                let concurrent = configured.unwrap_or(default);
                (name.to_owned(), QueueEntry { concurrent })
            })
            .collect()
    }

    /// The problem with a binding, if the queue is not there.
    pub(super) fn unknown_queue(
        &self,
        queue: &str,
        key_path: KeyPath,
        file: PathBuf,
    ) -> Option<ConfigError> {
        let mut known = self.names("queues");
        known.push(DEFAULT_QUEUE);
        known.sort_unstable();
        known.dedup();
        let is_known = known.contains(&queue);
        (!is_known).then(|| ConfigError::UnknownQueue {
            file,
            key_path,
            queue: queue.into(),
            known: known.join(", "),
        })
    }
}
