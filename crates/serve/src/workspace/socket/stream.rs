//! A stream that a client follows: where it stands, and what comes next, read from the store and from nowhere else.
//!
//! The role is looked at with every read, so that nobody goes on hearing of a workspace that they were taken out of.

use std::sync::Arc;

use bonded_kernel::{NoteId, UserId, WorkspaceId};
use bonded_workspace::store::Page;
use bonded_workspace_rules::{Code, Permission, StoredEvent};

use super::heard::Subject;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::access;
use crate::workspace::api::notes::no_note;
use crate::workspace::dto::{Recovery, StaleDetails};
use crate::workspace::site::Site;

/// One thing that a client follows.
#[derive(Debug)]
pub(super) struct Subscription {
    /// What it is.
    pub(super) of: Subject,
    /// Where it is.
    workspace_id: WorkspaceId,
    /// The last event that the client was told, or that it knew already.
    pub(super) cursor: u64,
    /// Up to where the workspace's events were looked at; those of a note are few among them.
    looked_until: u64,
    /// The version of the note that `cursor` stands for.
    version: u64,
}

impl Subscription {
    /// Begins to follow. Without a cursor only what happens from now on is told.
    pub(super) async fn begin(
        site: &Site,
        user: UserId,
        of: Subject,
        cursor: Option<u64>,
    ) -> Result<(Self, u64), ApiRefusal> {
        let (workspace_id, version) = match of {
            Subject::Workspace(workspace_id) => (workspace_id, None),
            Subject::Note(note_id) => {
                let note = site
                    .store
                    .note(note_id)
                    .await?
                    .ok_or_else(|| no_note(note_id))?;
                (note.workspace_id, Some(note.version))
            }
        };
        access::role(site, user, workspace_id, Permission::ReadNotes).await?;
        let last = site.store.last_event_seq(workspace_id).await?;
        let first = site.store.min_event_seq(workspace_id).await?;
        let is_live = cursor.is_none();
        let cursor = cursor.unwrap_or(last);
        let mut stream = Self {
            of,
            workspace_id,
            cursor,
            looked_until: cursor,
            version: version.unwrap_or(0),
        };
        // One before the first event is the beginning; a cursor beyond the end is one of another stream.
        if cursor > last || cursor.saturating_add(1) < first {
            return Err(stale(stream.id(), cursor, first));
        }
        if let (Subject::Note(note_id), false) = (of, is_live) {
            stream.version = version_at(site, note_id, cursor).await?;
        }
        Ok((stream, version.unwrap_or(last)))
    }

    /// As the client names it.
    pub(super) fn id(&self) -> String {
        match self.of {
            Subject::Note(note_id) => format!("note:{note_id}"),
            Subject::Workspace(workspace_id) => format!("workspace:{workspace_id}"),
        }
    }

    /// Resolves when there may be more to tell.
    pub(super) async fn changed(&self, site: &Site) {
        // A store that fails says so again when the events are read.
        let _failed = site
            .store
            .changed(self.workspace_id, self.looked_until)
            .await;
    }

    /// The next events, as many as may be read at once; whoever lost their role gets none.
    pub(super) async fn next(
        &mut self,
        site: &Site,
        user: UserId,
    ) -> Result<Vec<Arc<StoredEvent>>, ApiRefusal> {
        access::role(site, user, self.workspace_id, Permission::ReadNotes).await?;
        // The end is read before the events: what comes between the two is looked at again, never missed.
        let last = site.store.last_event_seq(self.workspace_id).await?;
        let recent = site
            .recent
            .between(&site.store, self.workspace_id, self.looked_until, last)
            .await?;
        let (events, is_whole) = match recent {
            Some(recent) => (
                recent.into_iter().filter(|it| self.is_of(it)).collect(),
                true,
            ),
            None => self.read_store(site).await?,
        };
        if let Some(event) = events.last() {
            self.cursor = event.event_seq;
            self.version = event.version.unwrap_or(self.version);
        }
        self.looked_until = match is_whole {
            true => last.max(self.cursor),
            false => self.cursor,
        };
        Ok(events)
    }

    /// Whether an event is one that the client has not been told.
    fn is_of(&self, event: &StoredEvent) -> bool {
        match self.of {
            Subject::Workspace(_) => event.event_seq > self.cursor,
            Subject::Note(note_id) => {
                let is_later = event.version.is_some_and(|version| version > self.version);
                event.note_id == Some(note_id) && is_later
            }
        }
    }

    /// The next events of a client that is far behind, and whether they are all that there are.
    async fn read_store(&self, site: &Site) -> Result<(Vec<Arc<StoredEvent>>, bool), ApiRefusal> {
        let limit = site.settings.replay_batch;
        let events = match self.of {
            Subject::Workspace(workspace_id) => {
                site.store.events(workspace_id, self.cursor, limit).await?
            }
            Subject::Note(note_id) => {
                site.store
                    .events_of_note(note_id, self.version, limit)
                    .await?
            }
        };
        let is_whole = events.len() < limit;
        Ok((events.into_iter().map(Arc::new).collect(), is_whole))
    }
}

/// The version that a note had at a place of its workspace's stream; looked for from the end, where cursors are.
async fn version_at(site: &Site, note_id: NoteId, cursor: u64) -> Result<u64, ApiRefusal> {
    let mut page = Page {
        limit: site.settings.replay_batch as u64,
        offset: 0,
    };
    loop {
        let events = site.store.history(note_id, page).await?;
        if let Some(known) = events.iter().find(|event| event.event_seq <= cursor) {
            return Ok(known.version.unwrap_or(0));
        }
        if (events.len() as u64) < page.limit {
            return Ok(0);
        }
        page.offset += page.limit;
    }
}

/// Says from where on events are kept.
fn stale(stream_id: String, requested: u64, min_available: u64) -> ApiRefusal {
    let message = "the cursor lies outside what is kept; read the present state and subscribe without a cursor";
    ApiRefusal::new(Code::StaleCursor, message).details(StaleDetails {
        stream_id,
        requested_cursor: requested,
        min_available_cursor: min_available.saturating_sub(1),
        recovery: Recovery::ResubscribeFull,
    })
}
