//! A stream that a client follows: where it stands, and what comes next, read from the store and from nowhere else.
//!
//! With the events comes the version of what decides who may hear of them: who was let in at an earlier one is looked at
//! again before they are told.

use std::sync::Arc;

use bonded_kernel::{NoteId, UserId, WorkspaceId};
use bonded_workspace::store::{FollowedStream, Page, WorkspaceError};
use bonded_workspace_rules::{Code, Permission, StoredEvent};

use super::heard::Subject;
use super::recent_events::SharedEvent;
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
    /// How far that goes.
    workspace: FollowedStream,
    /// The last event that the client was told, or that it knew already.
    pub(super) cursor: u64,
    /// Up to where the workspace's events were looked at; those of a note are few among them.
    looked_until: u64,
    /// The version of the note that `cursor` stands for.
    version: u64,
}

/// What a client is told next.
#[derive(Debug)]
pub(super) struct NextEvents {
    pub(super) events: Vec<Arc<SharedEvent>>,
    /// The version of what decides who may listen, in a state of the file that has all of these events.
    pub(super) access: u64,
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
            workspace: FollowedStream::of_workspace(workspace_id),
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
        self.of.stream_id()
    }

    /// Resolves with how far the workspace goes when there may be more to tell.
    pub(super) async fn changed(&mut self, site: &Site) -> Result<u64, WorkspaceError> {
        self.workspace.beyond(&site.store, self.looked_until).await
    }

    /// Whether a person may follow it.
    pub(super) async fn check_role(&self, site: &Site, user: UserId) -> Result<(), ApiRefusal> {
        access::role(site, user, self.workspace_id, Permission::ReadNotes).await?;
        Ok(())
    }

    /// The next events up to one, as many as may be read at once. Who may hear of them is found out by the caller.
    pub(super) async fn next(&mut self, site: &Site, last: u64) -> Result<NextEvents, ApiRefusal> {
        let recent = site
            .recent
            .between(&site.store, self.workspace_id, self.looked_until, last)
            .await?;
        let (events, access, is_whole) = match recent {
            Some((recent, access)) => {
                let events = recent.into_iter().filter(|it| self.is_of(&it.stored));
                (events.collect(), access, true)
            }
            None => self.read_store(site).await?,
        };
        if let Some(SharedEvent { stored, .. }) = events.last().map(|event| &**event) {
            self.cursor = stored.event_seq;
            self.version = stored.version.unwrap_or(self.version);
        }
        self.looked_until = match is_whole {
            true => last.max(self.cursor),
            false => self.cursor,
        };
        Ok(NextEvents { events, access })
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

    /// The next events of a client that is far behind, the version of what decides who may hear of them, and whether
    /// they are all that there are.
    async fn read_store(
        &self,
        site: &Site,
    ) -> Result<(Vec<Arc<SharedEvent>>, u64, bool), ApiRefusal> {
        let limit = site.settings.replay_batch;
        let store = &site.store;
        let events = match self.of {
            Subject::Workspace(workspace_id) => {
                store.events(workspace_id, self.cursor, limit).await?
            }
            Subject::Note(note_id) => store.events_of_note(note_id, self.version, limit).await?,
        };
        let access = store.access_version().await?;
        let is_whole = events.len() < limit;
        let events = events.into_iter().map(SharedEvent::new).map(Arc::new);
        Ok((events.collect(), access, is_whole))
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
