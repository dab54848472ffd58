//! The newest events of workspaces, read once for all sockets that follow them.
//!
//! Who may hear of them is asked for each socket, as ever; only the reading is shared. A socket that is further behind
//! reads on its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::WorkspaceId;
use bonded_workspace::store::{WorkspaceError, WorkspaceStore};
use bonded_workspace_rules::StoredEvent;

/// So many events of a workspace are kept, with so many bytes of notes.
const EVENTS_MAX: usize = 64;
const BYTES_MAX: usize = 1 << 20;
/// So many workspaces are kept; all are forgotten when there are more.
const WORKSPACES_MAX: usize = 64;

/// Those of one workspace, in order and without a gap.
#[derive(Debug, Default)]
struct NewestEvents {
    /// Each with the bytes of its text.
    newest: VecDeque<(Arc<StoredEvent>, usize)>,
    bytes: usize,
}

impl NewestEvents {
    fn push(&mut self, mut event: StoredEvent) {
        let bytes = event.event.markdown_mut().map_or(0, |text| text.len());
        self.newest.push_back((Arc::new(event), bytes));
        self.bytes += bytes;
        while self.newest.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let Some((_, bytes)) = self.newest.pop_front() else {
                return;
            };
            self.bytes -= bytes;
        }
    }

    /// Those after one up to another; `None` where some of them are not here.
    fn between(&self, after: u64, last: u64) -> Option<Vec<Arc<StoredEvent>>> {
        let (first, _) = self.newest.front()?;
        let wanted = |event: &&Arc<StoredEvent>| event.event_seq > after && event.event_seq <= last;
        let events = self.newest.iter().map(|(event, _)| event).filter(wanted);
        (first.event_seq <= after + 1).then(|| events.cloned().collect())
    }
}

/// Shared by all sockets of a server.
#[derive(Debug, Default)]
pub(in crate::workspace) struct RecentEvents {
    workspaces: Mutex<BTreeMap<WorkspaceId, Arc<tokio::sync::Mutex<NewestEvents>>>>,
}

impl RecentEvents {
    /// The events after one up to another; `None` where they are too many or too old. Whoever comes first reads what is
    /// missing, and the others wait for it.
    pub(super) async fn between(
        &self,
        store: &WorkspaceStore,
        workspace: WorkspaceId,
        after: u64,
        last: u64,
    ) -> Result<Option<Vec<Arc<StoredEvent>>>, WorkspaceError> {
        match last.saturating_sub(after) {
            0 => return Ok(Some(vec![])),
            missing if missing > EVENTS_MAX as u64 => return Ok(None),
            _ => {}
        }
        let events = self.of(workspace);
        let mut events = events.lock().await;
        let known = events.newest.back().map_or(0, |(event, _)| event.event_seq);
        if known < last {
            if known < after {
                *events = NewestEvents::default();
            }
            let found = store
                .events(workspace, known.max(after), EVENTS_MAX)
                .await?;
            found.into_iter().for_each(|event| events.push(event));
        }
        Ok(events.between(after, last))
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
