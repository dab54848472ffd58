//! Queues: how many tools of a kind run at once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Config, ConfigError, KeyPath};

/// The queue of everything that names none. It is always there.
pub const DEFAULT_QUEUE: &str = "default";
const DEFAULT_CONCURRENT_MAX: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub concurrent: u64,
}

impl Config {
    /// All queues by name. One that does not say how many it lets run at once gets two for each core.
    pub fn queues(&self, cores: usize) -> BTreeMap<String, Queue> {
        let usual = (cores as u64)
            .saturating_mul(2)
            .clamp(1, DEFAULT_CONCURRENT_MAX);
        let names = self.names("queues").into_iter().chain([DEFAULT_QUEUE]);
        names
            .map(|name| {
                let said = self
                    .entry(&["queues", name], &mut Vec::new())
                    .and_then(|entry| entry.whole("concurrent"));
                let concurrent = said.unwrap_or(usual);
                (name.to_owned(), Queue { concurrent })
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
