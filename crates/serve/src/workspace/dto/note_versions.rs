//! Versions of a note held against each other, and what keywords there are.

use bonded_kernel::NoteId;
use bonded_workspace_rules::StoredEvent;
use serde::{Deserialize, Serialize};

use super::events::{ActorType, actor};
use super::scalars::{Id, Timestamp};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NoteDiff {
    pub(crate) note_id: Id<NoteId>,
    pub(crate) from: DiffSide,
    pub(crate) to: DiffSide,
    /// What differs of the text, with a few lines around it.
    pub(crate) hunks: Vec<DiffHunk>,
    /// Whether there was time to find the smallest difference.
    pub(crate) is_exact: bool,
}

/// One of the two versions, without its text.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffSide {
    version: u64,
    title: String,
    note_kind: String,
    keywords: Vec<String>,
    updated_at: Timestamp,
    /// Who made this version.
    actor_type: Option<ActorType>,
    actor_id: Option<String>,
}

impl DiffSide {
    pub(crate) fn of(note: &bonded_workspace_rules::Note, event: Option<&StoredEvent>) -> Self {
        let by = event.map(|event| actor(&event.actor));
        let (actor_type, actor_id) = by.map_or((None, None), |(kind, id)| (Some(kind), id));
        Self {
            version: note.version,
            title: note.title.clone(),
            note_kind: note.note_kind.clone(),
            keywords: note.keywords.clone(),
            updated_at: note.updated_at.into(),
            actor_type,
            actor_id,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffHunk {
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) from_line: u64,
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) to_line: u64,
    pub(crate) lines: Vec<DiffLine>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum LineKind {
    Same,
    Removed,
    Added,
}

/// Title, text, kind and keywords become those of an earlier version; metadata stays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Rollback {
    /// The version that is taken up again.
    pub(crate) version: u64,
    /// The version that the change was made for.
    pub(crate) base_version: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Keywords {
    pub(crate) keywords: Vec<KeywordCount>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct KeywordCount {
    pub(crate) keyword: String,
    pub(crate) count: u64,
}
