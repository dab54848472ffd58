//! Those who wait in this process for a run to go on, so that an append wakes only its own run's waiters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::RunId;
use tokio::sync::watch;

#[derive(Debug, Default)]
pub(crate) struct Watchers {
    runs: Mutex<BTreeMap<RunId, watch::Sender<u64>>>,
}

/// One waiter. Dropping it ends the wait.
#[derive(Debug)]
pub(crate) struct Watcher {
    watchers: Arc<Watchers>,
    run: RunId,
    /// The newest sequence number that was published since the watch began. `None` only while dropping.
    seq: Option<watch::Receiver<u64>>,
}

impl Watchers {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, watch::Sender<u64>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait. What was appended before is not published again: look at the head *after* this.
    pub(crate) fn watch(self: &Arc<Self>, run: &RunId) -> Watcher {
        let seq = self.runs().entry(run.clone()).or_default().subscribe();
        Watcher {
            watchers: self.clone(),
            run: run.clone(),
            seq: Some(seq),
        }
    }

    pub(crate) fn publish(&self, run: &RunId, seq: u64) {
        if let Some(sender) = self.runs().get(run) {
            sender.send_if_modified(|published| {
                let is_newer = seq > *published;
                *published = seq.max(*published);
                is_newer
            });
        }
    }

    pub(crate) fn watched(&self) -> Vec<RunId> {
        self.runs().keys().cloned().collect()
    }

    /// Sends all waiters away, so that they look for themselves what is wrong with the store.
    pub(crate) fn dismiss(&self) {
        self.runs().clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs().is_empty()
    }
}

impl Watcher {
    /// Resolves with true when a sequence number beyond `seq` was published, with false when the watchers
    /// were dismissed.
    pub(crate) async fn beyond(&mut self, seq: u64) -> bool {
        match &mut self.seq {
            Some(receiver) => receiver
                .wait_for(|published| *published > seq)
                .await
                .is_ok(),
            None => false,
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut runs = self.watchers.runs();
        self.seq = None;
        if runs.get(&self.run).is_some_and(watch::Sender::is_closed) {
            runs.remove(&self.run);
        }
    }
}
