//! What a caller writes to a note: a new one, or what is to be different.
//!
//! These are wishes as they come from a client or an agent: nothing in them is checked, trimmed or bounded yet.
//! `decide` does that and makes events of them.

use bonded_kernel::{NoteId, WorkspaceId};
use serde::{Deserialize, Serialize};

use super::note::{AccessScope, Metadata};
use super::patch::PatchOp;

/// A note that is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewNote {
    /// Drawn by whoever asks; one that is taken is refused.
    pub note_id: NoteId,
    /// Where it is to be.
    pub workspace_id: WorkspaceId,
    /// The clock's date and time where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// At most 4 MiB.
    pub markdown: String,
    /// `note` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    /// Only `workspace` is taken.
    #[serde(default)]
    pub access_scope: AccessScope,
    /// Blanks and repetitions are dropped, not refused.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// May hold none of the names that say what an agent did.
    #[serde(default)]
    pub metadata: Metadata,
}

/// A change of a note, made by somebody who saw it at `base_version`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteWrite {
    /// The note that is meant.
    pub note_id: NoteId,
    /// The version that was seen; any other is a conflict, and nothing is written.
    pub base_version: u64,
    /// What is to be different.
    pub edit: NoteEdit,
}

/// What is to be different; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoteEdit {
    /// Given alone, it is a change of the title and of nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole text, or else `patch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// Applied to the text at the base version; never beside `markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<PatchOp>>,
    /// Another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_kind: Option<String>,
    /// Only `workspace` is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_scope: Option<AccessScope>,
    /// All keywords, in place of those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// What is to be set; the other metadata stays.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}
