//! Ids of what is new: random UUIDs.

use bonded_kernel::{NoteId, RuleId, UserId, WorkspaceId};

fn drawn() -> [u8; 16] {
    uuid::Uuid::new_v4().into_bytes()
}

pub(crate) fn note() -> NoteId {
    NoteId::from_bytes(drawn())
}

pub(crate) fn workspace() -> WorkspaceId {
    WorkspaceId::from_bytes(drawn())
}

pub(crate) fn rule() -> RuleId {
    RuleId::from_bytes(drawn())
}

pub(crate) fn user() -> UserId {
    UserId::from_bytes(drawn())
}
