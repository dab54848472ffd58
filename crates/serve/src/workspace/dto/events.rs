//! What happened in a workspace.
//!
//! The same body is an entry of a history and a message over a socket. Names within the payload are those of the store,
//! because a client reads events that older builds have written.

use bonded_kernel::{EventId, NoteId, WorkspaceId};
use bonded_workspace_rules::{Actor, StoredEvent};
use serde::Serialize;
use serde_json::{Value, json};

use super::scalars::{Id, Timestamp};

/// What happened: who did what, when. Types may be added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Event"))]
pub(crate) struct EventAnswer {
    event_id: Id<EventId>,
    workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(range(min = 1)))]
    event_seq: u64,
    #[cfg_attr(test, schemars(extend("type" = "string")))]
    event_type: Value,
    note_id: Option<Id<NoteId>>,
    version: Option<u64>,
    actor_type: ActorType,
    actor_id: Option<String>,
    timestamp: Timestamp,
    depth: u32,
    /// As it is stored: stores outlive builds, so the names in it never change.
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    payload: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum ActorType {
    User,
    Agent,
    System,
}

impl ActorType {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::System => "system",
        }
    }
}

/// Who it was; the system has no id.
pub(crate) fn actor(actor: &Actor) -> (ActorType, Option<String>) {
    match actor {
        Actor::User { user_id } => (ActorType::User, Some(user_id.to_string())),
        Actor::Agent { run_id, .. } => (ActorType::Agent, Some(run_id.to_string())),
        Actor::System => (ActorType::System, None),
    }
}

impl From<&StoredEvent> for EventAnswer {
    fn from(stored: &StoredEvent) -> Self {
        let (actor_type, actor_id) = actor(&stored.actor);
        let mut event = json!(stored.event);
        Self {
            event_id: Id(stored.event_id),
            workspace_id: Id(stored.workspace_id),
            event_seq: stored.event_seq,
            event_type: event["event_type"].take(),
            note_id: stored.note_id.map(Id),
            version: stored.version,
            actor_type,
            actor_id,
            timestamp: stored.at.into(),
            depth: stored.chain.depth,
            payload: event["payload"].take(),
        }
    }
}
