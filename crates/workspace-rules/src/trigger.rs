//! What makes a rule fire, and which events do.

use serde::{Deserialize, Serialize};

/// What makes a rule fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// A note was made, or its text or title changed.
    #[serde(rename = "workspace_event.note_changed")]
    NoteChanged,
    /// A note was made.
    #[serde(rename = "workspace_event.note_created")]
    NoteCreated,
    /// A note was deleted.
    #[serde(rename = "workspace_event.note_deleted")]
    NoteDeleted,
    /// Its schedule is due.
    #[serde(rename = "automation_schedule.cron")]
    Cron,
    /// Another server sends it something.
    #[serde(rename = "webhook")]
    Webhook,
    /// Somebody launches it.
    #[serde(rename = "manual")]
    Manual,
}

pub(super) const TRIGGERS: [(&str, Trigger); 6] = [
    ("workspace_event.note_changed", Trigger::NoteChanged),
    ("workspace_event.note_created", Trigger::NoteCreated),
    ("workspace_event.note_deleted", Trigger::NoteDeleted),
    ("automation_schedule.cron", Trigger::Cron),
    ("webhook", Trigger::Webhook),
    ("manual", Trigger::Manual),
];

/// The type of the event that a message from another server is. It is for one rule alone.
const HOOK_RECEIVED: &str = "hook.received";

impl Trigger {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        let found = TRIGGERS.iter().find(|(_, trigger)| *trigger == self);
        found.map_or("manual", |(word, _)| word)
    }

    /// Whether an event of this type sets such a rule off.
    pub fn answers(self, event_type: &str) -> bool {
        let types: &[&str] = match self {
            Self::NoteChanged => &["note.created", "note.updated", "note.title_changed"],
            Self::NoteCreated => &["note.created"],
            Self::NoteDeleted => &["note.deleted"],
            Self::Webhook => &[HOOK_RECEIVED],
            Self::Cron | Self::Manual => &[],
        };
        types.contains(&event_type)
    }

    /// Whether there is a note that an action can change when such a rule fires.
    pub(super) const fn has_note(self) -> Result<(), &'static str> {
        match self {
            Self::NoteChanged | Self::NoteCreated | Self::Manual => Ok(()),
            Self::NoteDeleted => Err("a note that was deleted cannot be changed"),
            Self::Cron | Self::Webhook => Err("there is no note when such a rule fires"),
        }
    }
}
