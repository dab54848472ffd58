//! Notes as a writer knows them.

use serde_json::Value;

use crate::rules::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) version: u64,
    pub(crate) title: String,
    pub(crate) markdown: String,
    pub(crate) is_deleted: bool,
}

impl Kept {
    /// A note as the server shows it.
    pub(crate) fn shown(note: &Value) -> Self {
        Self {
            id: text(&note["note_id"]),
            version: note["version"].as_u64().expect("a version is a number"),
            title: text(&note["title"]),
            markdown: text(&note["markdown"]),
            is_deleted: !note["deleted_at"].is_null(),
        }
    }
}

/// What a writer was told has happened.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The key of each write, and the note that it left.
    pub(crate) writes: Vec<(String, Kept)>,
    /// The runs that were launched, by key.
    pub(crate) launches: Vec<(String, String)>,
    /// The runs that were launched to be cancelled, by key.
    pub(crate) given_up: Vec<(String, String)>,
    /// The keys of writes that were refused.
    pub(crate) refused: Vec<String>,
}
