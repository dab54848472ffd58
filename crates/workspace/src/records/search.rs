//! Finding and reading notes: a bounded answer with the versions that the run has seen then.
//!
//! What is shown whole counts as read; of what is only shown as a snippet, the agent cannot change anything. Notes of
//! other workspaces are as good as missing.

use crate::store::{Page, SearchQuery, SearchSort};
use bonded_kernel::NoteId;
use bonded_tools::ToolFault;
use bonded_workspace_rules::Note;
use serde_json::{Value, json};

use super::{Records, fault};

/// Notes in one answer, and how much of the text of one that is read by its id.
const HITS_MAX: u64 = 10;
/// In bytes; the length of the whole text is told beside it.
const MARKDOWN_BYTES_MAX: usize = 4_096;

/// Texts up to here are shown whole among the notes that a query finds.
const SHORT_MARKDOWN_BYTES_MAX: usize = 600;

/// Longer queries are cut: more words find nothing more.
const QUERY_CHARS_MAX: usize = 500;

impl Records {
    /// Ids, where they are given, in place of words.
    pub(super) async fn search(&self, arguments: &Value, turn: u32) -> Result<Value, ToolFault> {
        match arguments["ids"].as_array() {
            Some(ids) => self.by_ids(ids, turn).await,
            None => {
                let query = arguments["query"].as_str().unwrap_or_default();
                self.by_words(query, turn).await
            }
        }
    }

    /// By words alone, without embeddings.
    async fn by_words(&self, query: &str, turn: u32) -> Result<Value, ToolFault> {
        let query = SearchQuery {
            workspace: self.scope.workspace_id,
            query: query.chars().take(QUERY_CHARS_MAX).collect(),
            note_kind: None,
            sort: SearchSort::Relevance,
            page: Page {
                limit: HITS_MAX,
                offset: 0,
            },
        };
        let found = self.store.search_text(query).await.map_err(fault)?;
        let mut hits = vec![];
        for hit in &found.hits {
            let mut shown = json!({
                "note_id": hit.note.note_id,
                "title": hit.note.title,
                "version": hit.note.version,
                "kind": hit.note.note_kind,
            });
            // A short note is read with the search; of a long one the agent has seen a part.
            match self.short(hit.note.note_id, hit.note.version).await? {
                Some(note) => {
                    self.seen.shows(&note, turn);
                    shown["markdown"] = note.markdown.as_str().into();
                }
                None => shown["snippet"] = hit.snippet.clone().into(),
            }
            hits.push(shown);
        }
        Ok(json!({ "results": hits, "total": found.total }))
    }

    /// The note in this version, where its text is short.
    async fn short(&self, note: NoteId, version: u64) -> Result<Option<Note>, ToolFault> {
        let note = self.store.note(note).await.map_err(fault)?;
        let is_short =
            |it: &Note| it.version == version && it.markdown.len() <= SHORT_MARKDOWN_BYTES_MAX;
        Ok(note.filter(is_short))
    }

    /// Ids beyond the bound are counted, not dropped silently.
    async fn by_ids(&self, ids: &[Value], turn: u32) -> Result<Value, ToolFault> {
        let mut notes = vec![];
        let mut missing = vec![];
        for written in ids.iter().filter_map(Value::as_str).take(HITS_MAX as usize) {
            match self.one(written, turn).await? {
                Some(note) => notes.push(note),
                None => missing.push(written),
            }
        }
        let left_out = ids.len().saturating_sub(HITS_MAX as usize);
        Ok(json!({ "results": notes, "missing": missing, "not_looked_up": left_out }))
    }

    /// A note of the workspace; those of others are as good as missing.
    async fn one(&self, written: &str, turn: u32) -> Result<Option<Value>, ToolFault> {
        let Ok(id) = written.parse::<NoteId>() else {
            return Ok(None);
        };
        let note = self.store.note(id).await.map_err(fault)?;
        let is_here =
            |it: &Note| it.workspace_id == self.scope.workspace_id && it.deleted_at.is_none();
        let Some(note) = note.filter(is_here) else {
            return Ok(None);
        };
        self.seen.shows(&note, turn);
        let end = note.markdown.floor_char_boundary(MARKDOWN_BYTES_MAX);
        Ok(Some(json!({
            "note_id": note.note_id,
            "title": note.title,
            "version": note.version,
            "kind": note.note_kind,
            "markdown": &note.markdown[..end],
            "markdown_bytes": note.markdown.len(),
        })))
    }
}
