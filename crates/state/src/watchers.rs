//! Tasks that wait in this process for a stream to continue, so that an append wakes only its own stream's
//! waiters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::RunId;
use tokio::sync::watch;

/// The waiters, by what they wait for.
#[derive(Debug)]
pub struct Watchers<K = RunId> {
    streams: Mutex<BTreeMap<K, watch::Sender<u64>>>,
}

/// One waiter. Dropping it ends the wait.
#[derive(Debug)]
pub struct Watcher<K: Ord> {
    watchers: Arc<Watchers<K>>,
    stream: K,
    /// The newest sequence number that was published since the watch began. `None` only while dropping.
    seq: Option<watch::Receiver<u64>>,
}

impl<K> Default for Watchers<K> {
    fn default() -> Self {
        Self {
            streams: Mutex::default(),
        }
    }
}

impl<K: Ord> Watchers<K> {
    fn streams(&self) -> MutexGuard<'_, BTreeMap<K, watch::Sender<u64>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait. What was appended before is not published again: look at the head *after* this.
    pub fn watch(self: &Arc<Self>, stream: &K) -> Watcher<K>
    where
        K: Clone,
    {
        let seq = self
            .streams()
            .entry(stream.clone())
            .or_default()
            .subscribe();
        Watcher {
            watchers: self.clone(),
            stream: stream.clone(),
            seq: Some(seq),
        }
    }

    /// Wakes those who wait for the stream to go beyond an earlier number; whether it was news to anybody.
    pub fn publish(&self, stream: &K, seq: u64) -> bool {
        let streams = self.streams();
        let sender = streams.get(stream);
        sender.is_some_and(|sender| {
            sender.send_if_modified(|published| {
                let is_newer = seq > *published;
                *published = seq.max(*published);
                is_newer
            })
        })
    }

    /// Whether somebody waits for this stream.
    pub fn is_watched(&self, stream: &K) -> bool {
        self.streams().contains_key(stream)
    }

    /// The streams that somebody waits for.
    pub fn watched(&self) -> Vec<K>
    where
        K: Clone,
    {
        self.streams().keys().cloned().collect()
    }

    /// Sends all waiters away, so that they look for themselves what is wrong with the store.
    pub fn dismiss(&self) {
        self.streams().clear();
    }

    /// Whether nobody waits for anything.
    pub fn is_empty(&self) -> bool {
        self.streams().is_empty()
    }
}

impl<K: Ord> Watcher<K> {
    /// Resolves with the newest sequence number once one beyond `seq` was published, and with `None` when the
    /// watchers were dismissed.
    pub async fn beyond(&mut self, seq: u64) -> Option<u64> {
        let published = self.seq.as_mut()?.wait_for(|published| *published > seq);
        published.await.ok().map(|published| *published)
    }
}

impl<K: Ord> Drop for Watcher<K> {
    fn drop(&mut self) {
        let mut streams = self.watchers.streams();
        self.seq = None;
        if streams
            .get(&self.stream)
            .is_some_and(watch::Sender::is_closed)
        {
            streams.remove(&self.stream);
        }
    }
}
