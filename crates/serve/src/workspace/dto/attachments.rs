//! Files of notes.

use bonded_kernel::{EventId, NoteId};
use bonded_workspace::store::ListedAttachment;
use serde::Serialize;

use super::events::actor;
use super::scalars::{Id, Timestamp};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Attachment"))]
pub(crate) struct AttachmentAnswer {
    attachment_id: Id<EventId>,
    note_id: Id<NoteId>,
    name: String,
    /// By the first bytes of the content; it is served as a download in any case.
    content_type: String,
    bytes: u64,
    hash: String,
    added_at: Timestamp,
    added_by: Option<String>,
    removed_at: Option<Timestamp>,
}

impl AttachmentAnswer {
    /// None where the event added no file.
    pub(crate) fn of(listed: &ListedAttachment) -> Option<Self> {
        let event = &listed.event;
        let attachment = event.event.attachment()?;
        Some(Self {
            attachment_id: Id(event.event_id),
            note_id: Id(attachment.note_id),
            name: attachment.name.clone(),
            content_type: attachment.content_type.clone(),
            bytes: attachment.bytes,
            hash: attachment.hash.to_string(),
            added_at: event.at.into(),
            added_by: actor(&event.actor).1,
            removed_at: listed.removed_at.map(Timestamp::from),
        })
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Attachments {
    pub(crate) attachments: Vec<AttachmentAnswer>,
}
