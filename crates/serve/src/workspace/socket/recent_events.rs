//! The newest events of workspaces, read once for all sockets that follow them.
//!
//! With them the version of what decides who may listen is read: a socket that was let in at that version need not ask
//! again. A socket that is further behind reads on its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bonded_kernel::WorkspaceId;
use bonded_workspace::store::{WorkspaceError, WorkspaceStore};
use bonded_workspace_rules::StoredEvent;
use tokio_websockets::Message;

use super::heard::Subject;
use super::message::SocketMessage;
use crate::sorted_json::sorted_json;

/// So many events of a workspace are kept, with so many bytes of notes.
const EVENTS_MAX: usize = 64;
const BYTES_MAX: usize = 1 << 20;
/// So many workspaces are kept; all are forgotten when there are more.
const WORKSPACES_MAX: usize = 64;

/// An event, and the messages that tell of it, each written once for all sockets.
#[derive(Debug)]
pub(super) struct SharedEvent {
    pub(super) stored: StoredEvent,
    to_workspace: OnceLock<Message>,
    to_note: OnceLock<Message>,
}

impl SharedEvent {
    pub(super) fn new(stored: StoredEvent) -> Self {
        Self {
            stored,
            to_workspace: OnceLock::new(),
            to_note: OnceLock::new(),
        }
    }

    /// For those who follow its workspace, or its note.
    pub(super) fn message(&self, of: Subject) -> Message {
        let written = match of {
            Subject::Workspace(_) => &self.to_workspace,
            Subject::Note(_) => &self.to_note,
        };
        let write = || Message::text(sorted_json(&SocketMessage::event(of, &self.stored)));
        written.get_or_init(write).clone()
    }
}

/// Those of one workspace, in order and without a gap.
#[derive(Debug, Default)]
struct NewestEvents {
    /// Each with the bytes of its text.
    newest: VecDeque<(Arc<SharedEvent>, usize)>,
    bytes: usize,
    /// The version of what decides who may listen, when the last of them was read.
    access: u64,
}

impl NewestEvents {
    fn push(&mut self, mut event: StoredEvent) {
        let bytes = event.event.markdown_mut().map_or(0, |text| text.len());
        self.newest
            .push_back((Arc::new(SharedEvent::new(event)), bytes));
        self.bytes += bytes;
        while self.newest.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let Some((_, bytes)) = self.newest.pop_front() else {
                return;
            };
            self.bytes -= bytes;
        }
    }

    /// Those after one up to another; `None` where some of them are not here.
    fn between(&self, after: u64, last: u64) -> Option<Vec<Arc<SharedEvent>>> {
        let (first, _) = self.newest.front()?;
        let wanted = |event: &&Arc<SharedEvent>| {
            let seq = event.stored.event_seq;
            seq > after && seq <= last
        };
        let events = self.newest.iter().map(|(event, _)| event).filter(wanted);
        (first.stored.event_seq <= after + 1).then(|| events.cloned().collect())
    }
}

/// Shared by all sockets of a server.
#[derive(Debug, Default)]
pub(in crate::workspace) struct RecentEvents {
    workspaces: Mutex<BTreeMap<WorkspaceId, Arc<tokio::sync::Mutex<NewestEvents>>>>,
}

impl RecentEvents {
    /// The events after one up to another, and the version of what decides who may listen, which was read no earlier
    /// than they were; `None` where they are too many or too old. Whoever comes first reads what is missing, and the
    /// others wait for it.
    pub(super) async fn between(
        &self,
        store: &WorkspaceStore,
        workspace: WorkspaceId,
        after: u64,
        last: u64,
    ) -> Result<Option<(Vec<Arc<SharedEvent>>, u64)>, WorkspaceError> {
        if last.saturating_sub(after) > EVENTS_MAX as u64 {
            return Ok(None);
        }
        let events = self.of(workspace);
        let mut events = events.lock().await;
        let newest = events.newest.back();
        let known = newest.map_or(0, |(event, _)| event.stored.event_seq);
        if known < last {
            if known < after {
                *events = NewestEvents::default();
            }
            let (found, access) = store
                .events_and_access(workspace, known.max(after), EVENTS_MAX)
                .await?;
            found.into_iter().for_each(|event| events.push(event));
            events.access = access;
        }
        let access = events.access;
        Ok(events.between(after, last).map(|found| (found, access)))
    }

    fn of(&self, workspace: WorkspaceId) -> Arc<tokio::sync::Mutex<NewestEvents>> {
        let mut workspaces = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if workspaces.len() >= WORKSPACES_MAX && !workspaces.contains_key(&workspace) {
            workspaces.clear();
        }
        workspaces.entry(workspace).or_default().clone()
    }
}
