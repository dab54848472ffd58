//! Waiting for one stream again and again.
//!
//! The file is looked at once: from then on the writer says how far the stream goes, whichever process wrote to it.

use bonded_kernel::WorkspaceId;
use bonded_state::Watcher;

use super::error::WorkspaceError;
use super::watched_stream::WatchedStream;
use super::workspace_store::WorkspaceStore;

/// What somebody follows, for as long as they do.
#[derive(Debug)]
pub struct FollowedStream {
    stream: WatchedStream,
    /// `None` before the first wait, and after the writer sent all away.
    watch: Option<Watcher<WatchedStream>>,
    /// How far the stream is known to go.
    head: u64,
}

impl FollowedStream {
    pub(super) fn new(stream: WatchedStream) -> Self {
        Self {
            stream,
            watch: None,
            head: 0,
        }
    }

    /// The events of a workspace, by their numbers.
    pub fn of_workspace(id: WorkspaceId) -> Self {
        Self::new(WatchedStream::Workspace(id))
    }

    /// What decides who may listen, by its version.
    pub fn of_access() -> Self {
        Self::new(WatchedStream::Access)
    }

    /// Resolves with how far the stream goes, once that is beyond `after`. It may be given up at any time.
    pub async fn beyond(
        &mut self,
        store: &WorkspaceStore,
        after: u64,
    ) -> Result<u64, WorkspaceError> {
        loop {
            let Some(watch) = &mut self.watch else {
                (self.watch, self.head) = self.begin(store).await?;
                continue;
            };
            if self.head > after {
                return Ok(self.head);
            }
            match watch.beyond(after).await {
                Some(head) => self.head = head,
                None => self.watch = None,
            }
        }
    }

    /// The watcher is made before the file is looked at: an event that comes in between wakes it. Otherwise it could be
    /// missed, and waited for in vain.
    async fn begin(
        &self,
        store: &WorkspaceStore,
    ) -> Result<(Option<Watcher<WatchedStream>>, u64), WorkspaceError> {
        let is_first = store.watchers.is_empty();
        let watch = store.watchers.watch(&self.stream);
        if is_first {
            // The writer looks for what other processes wrote only while somebody waits, so it must hear of it.
            store.change(|_| Ok(())).await?;
        }
        let head = store.head(self.stream).await?;
        Ok((Some(watch), head))
    }
}
