//! A log in parts, so that a long one is never in memory as a whole. While a part is looked at, the next one is read.

use std::sync::Arc;

use bonded_kernel::{Entry, RunId};
use bonded_state::{Store, StoreError};
use tokio::task::JoinHandle;

/// How many entries are read at a time.
const PART_ENTRIES: usize = 256;

/// The entries of a run from its first one on.
pub(super) struct LogParts {
    store: Arc<dyn Store>,
    run: RunId,
    /// What is being read; `None` after the last part.
    next: Option<JoinHandle<Result<Vec<Entry>, StoreError>>>,
}

impl LogParts {
    pub(super) fn new(store: Arc<dyn Store>, run: RunId) -> Self {
        let mut parts = Self {
            store,
            run,
            next: None,
        };
        parts.begin(0);
        parts
    }

    fn begin(&mut self, after: u64) {
        let (store, run) = (self.store.clone(), self.run.clone());
        let read = async move { store.load_part(&run, after, PART_ENTRIES).await };
        self.next = Some(tokio::spawn(read));
    }

    /// The next entries; `None` after the last ones.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Entry>>, StoreError> {
        let Some(reading) = self.next.take() else {
            return Ok(None);
        };
        let closed = |_| StoreError::Closed {
            file: self.store.files().into_iter().next().unwrap_or_default(),
        };
        let part = reading.await.map_err(closed)??;
        if let Some(last) = part.last()
            && part.len() >= PART_ENTRIES
        {
            self.begin(last.seq);
        }
        Ok(Some(part))
    }
}

impl Drop for LogParts {
    fn drop(&mut self) {
        if let Some(reading) = &self.next {
            reading.abort();
        }
    }
}
