//! What a search asks for.
//!
//! It is what callers hand over; how it becomes an expression of the index is in `expression`.

use bonded_kernel::WorkspaceId;

use crate::store::notes::Page;

/// What to search for. No text in it is taken for an operator, but for a star at the end of a word: it stands for all
/// words that begin like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// Notes of this workspace only.
    pub workspace: WorkspaceId,
    /// Words with blanks between; all of them have to stand in a note.
    pub query: String,
    /// Only notes of this kind; None means any.
    pub note_kind: Option<String>,
    /// Which come first.
    pub sort: SearchSort,
    /// Which part of what was found.
    pub page: Page,
}

/// The order of what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchSort {
    /// By how much the words weigh in each note, equal ones by the time of their last change, then by id. Where many
    /// match: those with all words in the title, then those with all in headings, then the rest, each by `Updated`.
    #[default]
    Relevance,
    /// By the time of the last change, then by id; many in the order in which they were written, the last first.
    Updated,
}
