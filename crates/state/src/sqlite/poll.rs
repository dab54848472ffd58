//! How a thread that writes waits: for what is queued, and, while somebody waits for a stream to go on, for what other
//! processes write.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::watchers::Watchers;

/// How often to look for what other processes wrote. A look takes some microseconds; a page shows a step of another process
/// within a tenth of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// When the file was looked at, and what it was then.
#[derive(Debug)]
pub struct Poll {
    /// What SQLite said at the last look; it says something else after another process has written.
    data_version: Option<i64>,
    looked_at: Instant,
}

impl Default for Poll {
    fn default() -> Self {
        Self::new()
    }
}

impl Poll {
    /// The first look is due after one interval.
    pub fn new() -> Self {
        Self {
            data_version: None,
            looked_at: Instant::now(),
        }
    }

    /// What is queued, at least one unless it is time to look; `None` when nobody can queue anything any more.
    pub fn next_group<T, K: Ord>(
        queued: &Receiver<T>,
        watchers: &Watchers<K>,
        group_max: usize,
    ) -> Option<Vec<T>> {
        let first = if watchers.is_empty() {
            Some(queued.recv().ok()?)
        } else {
            match queued.recv_timeout(POLL_INTERVAL) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let group = first.into_iter().chain(queued.try_iter());
        Some(group.take(group_max).collect())
    }

    /// Wakes those who wait for a stream that another process has written to. `head` says how far a stream goes.
    pub fn look<K: Ord + Clone, E: From<rusqlite::Error>>(
        &mut self,
        connection: &Connection,
        watchers: &Watchers<K>,
        head: impl Fn(&Connection, &K) -> Result<Option<u64>, E>,
    ) {
        if watchers.is_empty() || self.looked_at.elapsed() < POLL_INTERVAL {
            return;
        }
        self.looked_at = Instant::now();
        if self.publish_foreign(connection, watchers, head).is_err() {
            watchers.dismiss();
        }
    }

    fn publish_foreign<K: Ord + Clone, E: From<rusqlite::Error>>(
        &mut self,
        connection: &Connection,
        watchers: &Watchers<K>,
        head: impl Fn(&Connection, &K) -> Result<Option<u64>, E>,
    ) -> Result<(), E> {
        let data_version = connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if self.data_version != Some(data_version) {
            for stream in watchers.watched() {
                if let Some(seq) = head(connection, &stream)? {
                    watchers.publish(&stream, seq);
                }
            }
            self.data_version = Some(data_version);
        }
        Ok(())
    }
}
