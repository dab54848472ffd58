//! What a note's file holds, and where its fields end.

use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{AccessScope, Metadata};
use serde::Deserialize;

/// Opens and closes the fields.
pub(super) const FENCE: &str = "---\n";

/// What a file says of its note. Everything but the text may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteFields {
    /// The note that the file is of, as an export writes it.
    pub id: Option<NoteId>,
    /// One line; absent in files that were written by hand.
    pub title: Option<String>,
    /// A slug; absent is the usual kind.
    pub kind: Option<String>,
    /// Only `workspace` is taken by the store.
    pub access: Option<AccessScope>,
    /// None by default.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// None by default.
    #[serde(default)]
    pub metadata: Metadata,
    pub(super) created: Option<String>,
    pub(super) updated: Option<String>,
}

/// A file, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteFile {
    /// What stood before the text.
    pub fields: NoteFields,
    /// Read from the field of that name, or from a date of another program.
    pub created: Option<Millis>,
    /// Read from the field of that name; foreign files have none.
    pub updated: Option<Millis>,
    /// Of a foreign file all of it, its own fields included.
    pub markdown: String,
}

/// The fields and the text, after the line that opens the fields.
/// None where the fields are never closed.
pub(super) fn split_head(rest: &str) -> Option<(&str, &str)> {
    if let Some(after) = rest.strip_prefix(FENCE) {
        return Some(("", after));
    }
    let end = rest.find("\n---\n").map(|at| (at + 1, at + 5));
    let end = end.or_else(|| {
        rest.ends_with("\n---")
            .then(|| (rest.len() - 3, rest.len()))
    });
    let (head, after) = end?;
    Some((&rest[..head], &rest[after..]))
}
