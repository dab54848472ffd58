//! Whether the store takes anything in: what the last write came to, and a try of our own where that was long ago.
//!
//! A disk that is full is found out by whoever asks whether the server is ready, and not by the next person who writes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bonded_workspace::store::{WorkspaceError, WorkspaceStore};

use bonded_host::with_causes;

/// So long what was seen last is believed.
const BELIEVED: Duration = Duration::from_secs(10);
/// What fails is tried again sooner.
const FAILURE_BELIEVED: Duration = Duration::from_secs(1);

/// What the last write came to, and when.
#[derive(Debug, Default)]
pub(super) struct Writable(Mutex<Option<(bool, Instant)>>);

impl Writable {
    /// A write was made, or failed.
    pub(super) fn note(&self, works: bool) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((works, Instant::now()));
    }

    /// What is known, unless that is too old to be believed.
    fn known(&self) -> Option<bool> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (works, at) = last?;
        let believed = if works { BELIEVED } else { FAILURE_BELIEVED };
        (at.elapsed() < believed).then_some(works)
    }

    /// Whether something can be written now.
    pub(super) async fn works(&self, store: &WorkspaceStore) -> bool {
        if let Some(known) = self.known() {
            return known;
        }
        let tried = store.try_writing().await;
        self.note(tried.is_ok());
        if let Err(WorkspaceError::Store(error)) = &tried {
            let message = format!("error: nothing can be written: {}", with_causes(error));
            tracing::error!("{message}");
        }
        tried.is_ok()
    }
}
