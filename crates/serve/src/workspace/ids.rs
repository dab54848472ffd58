//! Ids of what is new: random UUIDs.
//!
//! They are drawn here and not in the store, so that a decision about a change depends on nothing but the change.

use bonded_kernel::{NoteId, RuleId, UserId, WorkspaceId};

/// 122 random bits: two that are alike are not to be expected.
fn drawn() -> [u8; 16] {
    uuid::Uuid::new_v4().into_bytes()
}

/// For a new note.
pub fn note() -> NoteId {
    NoteId::from_bytes(drawn())
}

/// For a new workspace.
pub fn workspace() -> WorkspaceId {
    WorkspaceId::from_bytes(drawn())
}

/// For a new rule.
pub fn rule() -> RuleId {
    RuleId::from_bytes(drawn())
}

/// For a new person.
pub fn user() -> UserId {
    UserId::from_bytes(drawn())
}
