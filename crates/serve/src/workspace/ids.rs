//! Ids of what is new: random UUIDs.

use bonded_kernel::{NoteId, RuleId, UserId, WorkspaceId};

fn drawn() -> [u8; 16] {
    uuid::Uuid::new_v4().into_bytes()
}

pub fn note() -> NoteId {
    NoteId::from_bytes(drawn())
}

pub fn workspace() -> WorkspaceId {
    WorkspaceId::from_bytes(drawn())
}

pub fn rule() -> RuleId {
    RuleId::from_bytes(drawn())
}

pub fn user() -> UserId {
    UserId::from_bytes(drawn())
}
