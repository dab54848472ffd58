//! Notes as they are read and written.
//!
//! What may be left out of a request is always there in an answer, therefore each direction has types of its own.
//! Unknown fields of requests are refused: a misspelt one would else change nothing, silently.

use std::collections::BTreeMap;

use bonded_kernel::{NoteId, Text, WorkspaceId};
use bonded_workspace::store::ListedNote;
use bonded_workspace_rules::FOLDER_KEY;
#[cfg(test)]
use bonded_workspace_rules::{KEYWORD_CHARS_MAX, KEYWORDS_MAX, METADATA_KEYS_MAX, TITLE_CHARS_MAX};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::events::EventAnswer;
use super::scalars::{Id, Timestamp};
use super::words::AccessScope;

/// What kinds of notes are called.
#[cfg(test)]
pub(super) const NOTE_KIND: &str = "^[a-z][a-z0-9_]{0,63}$";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Note {
    note_id: Id<NoteId>,
    workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(length(max = TITLE_CHARS_MAX)))]
    title: String,
    #[serde(serialize_with = "content")]
    #[cfg_attr(test, schemars(with = "String"))]
    markdown: Text,
    #[cfg_attr(test, schemars(regex(pattern = NOTE_KIND)))]
    note_kind: String,
    access_scope: AccessScope,
    #[cfg_attr(test, schemars(length(max = KEYWORDS_MAX), inner(length(max = KEYWORD_CHARS_MAX))))]
    keywords: Vec<String>,
    #[cfg_attr(test, schemars(extend("maxProperties" = METADATA_KEYS_MAX)))]
    metadata: BTreeMap<String, Value>,
    #[cfg_attr(test, schemars(range(min = 1)))]
    version: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    deleted_at: Option<Timestamp>,
}

/// The text itself, wherever it lies.
fn content<S: Serializer>(text: &Text, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_str())
}

impl From<&bonded_workspace_rules::Note> for Note {
    fn from(note: &bonded_workspace_rules::Note) -> Self {
        Self {
            note_id: Id(note.note_id),
            workspace_id: Id(note.workspace_id),
            title: note.title.clone(),
            markdown: note.markdown.clone(),
            note_kind: note.note_kind.clone(),
            access_scope: note.access_scope.into(),
            keywords: note.keywords.clone(),
            metadata: note.metadata.clone(),
            version: note.version,
            created_at: note.created_at.into(),
            updated_at: note.updated_at.into(),
            deleted_at: note.deleted_at.map(Timestamp::from),
        }
    }
}

/// A note in a list: all but its text.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NoteSummary {
    note_id: Id<NoteId>,
    workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(length(max = TITLE_CHARS_MAX)))]
    title: String,
    #[cfg_attr(test, schemars(regex(pattern = NOTE_KIND)))]
    note_kind: String,
    access_scope: AccessScope,
    #[cfg_attr(test, schemars(length(max = KEYWORDS_MAX), inner(length(max = KEYWORD_CHARS_MAX))))]
    keywords: Vec<String>,
    /// The metadata key of this name, where it is a text.
    folder: Option<String>,
    #[cfg_attr(test, schemars(range(min = 1)))]
    version: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    deleted_at: Option<Timestamp>,
}

impl From<&ListedNote> for NoteSummary {
    fn from(note: &ListedNote) -> Self {
        Self {
            note_id: Id(note.note_id),
            workspace_id: Id(note.workspace_id),
            title: note.title.clone(),
            note_kind: note.note_kind.clone(),
            access_scope: note.access_scope.into(),
            keywords: note.keywords.clone(),
            folder: note
                .metadata
                .get(FOLDER_KEY)
                .and_then(Value::as_str)
                .map(str::to_owned),
            version: note.version,
            created_at: note.created_at.into(),
            updated_at: note.updated_at.into(),
            deleted_at: note.deleted_at.map(Timestamp::from),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Notes {
    pub(crate) notes: Vec<NoteSummary>,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "History"))]
pub(crate) struct NoteHistory {
    pub(crate) note_id: Id<NoteId>,
    pub(crate) versions: Vec<EventAnswer>,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Backlinks {
    pub(crate) note_id: Id<NoteId>,
    pub(crate) backlinks: Vec<NoteSummary>,
}

/// Without a title it is named after the date and time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewNote {
    pub(crate) workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(length(max = TITLE_CHARS_MAX)))]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) markdown: String,
    #[cfg_attr(test, schemars(regex(pattern = NOTE_KIND)))]
    pub(crate) note_kind: Option<String>,
    /// All members of the workspace read the note, and nobody else.
    #[cfg_attr(test, schemars(extend("enum" = ["workspace", null])))]
    pub(crate) access_scope: Option<AccessScope>,
    #[cfg_attr(test, schemars(length(max = KEYWORDS_MAX), inner(length(max = KEYWORD_CHARS_MAX))))]
    pub(crate) keywords: Option<Vec<String>>,
    #[cfg_attr(test, schemars(extend("maxProperties" = METADATA_KEYS_MAX)))]
    pub(crate) metadata: Option<BTreeMap<String, Value>>,
}

/// What is absent stays. The text is given whole or as a patch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minProperties" = 2)))]
pub(crate) struct NoteEdit {
    /// The version that the change was made for.
    pub(crate) base_version: u64,
    #[cfg_attr(test, schemars(length(max = TITLE_CHARS_MAX)))]
    pub(crate) title: Option<String>,
    pub(crate) markdown: Option<String>,
    /// What is kept, put in and taken away, counted in characters, from the beginning of the text; the rest is kept.
    pub(crate) patch_ops: Option<Vec<PatchOp>>,
    #[cfg_attr(test, schemars(regex(pattern = NOTE_KIND)))]
    pub(crate) note_kind: Option<String>,
    #[cfg_attr(test, schemars(extend("enum" = ["workspace", null])))]
    pub(crate) access_scope: Option<AccessScope>,
    #[cfg_attr(test, schemars(length(max = KEYWORDS_MAX), inner(length(max = KEYWORD_CHARS_MAX))))]
    pub(crate) keywords: Option<Vec<String>>,
    #[cfg_attr(test, schemars(extend("maxProperties" = METADATA_KEYS_MAX)))]
    pub(crate) metadata: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum PatchOp {
    Retain(u64),
    Insert(String),
    Delete(u64),
}

impl From<PatchOp> for bonded_workspace_rules::PatchOp {
    fn from(op: PatchOp) -> Self {
        match op {
            PatchOp::Retain(count) => Self::Retain(count),
            PatchOp::Insert(text) => Self::Insert(text),
            PatchOp::Delete(count) => Self::Delete(count),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TitleEdit {
    /// The version that the change was made for.
    pub(crate) base_version: u64,
    #[cfg_attr(test, schemars(length(min = 1, max = TITLE_CHARS_MAX)))]
    pub(crate) title: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Undelete {
    pub(crate) base_version: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MetadataValue {
    /// Any JSON, null too.
    pub(crate) value: Value,
}
