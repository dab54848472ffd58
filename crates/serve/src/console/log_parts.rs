//! A log in parts, so that a long one is never in memory as a whole. While a part is looked at, the next ones are read, at
//! the same time: most of the work is to decode them.

use std::collections::VecDeque;
use std::sync::Arc;

use bonded_kernel::{Entry, RunId};
use bonded_state::{Store, StoreError};
use tokio::task::JoinHandle;

/// How many entries are read at a time.
const PART_ENTRIES: usize = 512;
/// How many parts are read ahead of a log that has more than one.
const AHEAD: usize = 2;

type ReadPart = JoinHandle<Result<Vec<Entry>, StoreError>>;

/// The entries of a run from its first one on.
pub(super) struct LogParts {
    store: Arc<dyn Store>,
    run: RunId,
    /// The next parts, in order, each with the entry after which it begins.
    reading: VecDeque<(u64, ReadPart)>,
    /// After which entry the part begins that is not being read yet.
    after: u64,
    /// The last entry that was given.
    last: u64,
}

impl LogParts {
    pub(super) fn new(store: Arc<dyn Store>, run: RunId) -> Self {
        Self {
            store,
            run,
            reading: VecDeque::new(),
            after: 0,
            last: 0,
        }
    }

    /// The next entries; none after the last ones.
    pub(super) async fn next(&mut self) -> Result<Vec<Entry>, StoreError> {
        loop {
            if self.reading.is_empty() {
                self.begin();
            }
            let Some((after, reading)) = self.reading.pop_front() else {
                return Ok(vec![]);
            };
            let closed = |_| StoreError::Closed {
                file: self.store.files().into_iter().next().unwrap_or_default(),
            };
            let mut part = reading.await.map_err(closed)??;
            let is_whole = part.len() >= PART_ENTRIES;
            // A part ends with a whole append: it may go further than to where the next one begins, or not as far.
            let is_next =
                after == self.last || part.first().is_some_and(|entry| entry.seq <= self.last + 1);
            part.retain(|entry| entry.seq > self.last);
            let Some(last) = part.last().filter(|_| is_next) else {
                if after == self.last {
                    return Ok(part);
                }
                self.stop();
                continue;
            };
            self.last = last.seq;
            if !is_whole || self.last >= self.after {
                self.stop();
            }
            while is_whole && self.reading.len() < AHEAD {
                self.begin();
            }
            return Ok(part);
        }
    }

    /// Begins to read another part; the first one behind what was given, the others where it should end.
    fn begin(&mut self) {
        if self.reading.is_empty() {
            self.after = self.last;
        }
        let (store, run, after) = (self.store.clone(), self.run.clone(), self.after);
        let read = async move { store.load_part(&run, after, PART_ENTRIES).await };
        self.reading.push_back((after, tokio::spawn(read)));
        self.after += PART_ENTRIES as u64;
    }

    fn stop(&mut self) {
        self.reading
            .drain(..)
            .for_each(|(_, reading)| reading.abort());
    }
}

impl Drop for LogParts {
    fn drop(&mut self) {
        self.stop();
    }
}
