//! What a condition is asked about.
//!
//! They are gathered by whoever matches events with rules. A condition sees nothing else: no other note, no clock, no
//! file.

use bonded_kernel::{Millis, WorkspaceId};
use serde_json::Value;

use crate::note::Note;

/// What a condition is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The workspace of the rule.
    pub workspace_id: WorkspaceId,
    /// The name of the event; a schedule has none.
    pub event_type: Option<&'a str>,
    /// `user`, `agent` or `system`.
    pub actor_type: Option<&'a str>,
    /// The note that the event is about, as it was after the event.
    pub note: Option<&'a Note>,
    /// What another server sent, where it did. Nothing about it is known but that it is JSON.
    pub body: Option<&'a Value>,
    /// When it happened.
    pub at: Millis,
}
