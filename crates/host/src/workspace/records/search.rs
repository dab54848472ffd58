//! Finding and reading notes: a bounded answer with the versions that the run has seen then.

use bonded_kernel::workspace::NoteId;
use bonded_state::workspace::{Page, SearchQuery, SearchSort};
use bonded_tools::ToolFault;
use serde_json::{Value, json};

use super::{Records, fault};

/// Notes in one answer, and how much of the text of one that is read by its id.
const HITS_MAX: u64 = 10;
const MARKDOWN_BYTES_MAX: usize = 4_096;

/// Longer queries are cut: more words find nothing more.
const QUERY_CHARS_MAX: usize = 500;

impl Records {
    pub(super) async fn search(&self, arguments: &Value) -> Result<Value, ToolFault> {
        match arguments["ids"].as_array() {
            Some(ids) => self.by_ids(ids).await,
            None => {
                self.by_words(arguments["query"].as_str().unwrap_or_default())
                    .await
            }
        }
    }

    async fn by_words(&self, query: &str) -> Result<Value, ToolFault> {
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
        let hits: Vec<Value> = found
            .hits
            .iter()
            .map(|hit| {
                let note = &hit.note;
                self.saw(note.note_id, note.version);
                json!({
                    "note_id": note.note_id,
                    "title": note.title,
                    "version": note.version,
                    "kind": note.note_kind,
                    "snippet": hit.snippet,
                })
            })
            .collect();
        Ok(json!({ "results": hits, "total": found.total }))
    }

    async fn by_ids(&self, ids: &[Value]) -> Result<Value, ToolFault> {
        let mut notes = vec![];
        let mut missing = vec![];
        for written in ids.iter().filter_map(Value::as_str).take(HITS_MAX as usize) {
            match self.one(written).await? {
                Some(note) => notes.push(note),
                None => missing.push(written),
            }
        }
        let left_out = ids.len().saturating_sub(HITS_MAX as usize);
        Ok(json!({ "results": notes, "missing": missing, "not_looked_up": left_out }))
    }

    /// A note of the workspace; those of others are as good as missing.
    async fn one(&self, written: &str) -> Result<Option<Value>, ToolFault> {
        let Ok(id) = written.parse::<NoteId>() else {
            return Ok(None);
        };
        let note = self.store.note(id).await.map_err(fault)?;
        let is_here = |it: &bonded_kernel::workspace::Note| {
            it.workspace_id == self.scope.workspace_id && it.deleted_at.is_none()
        };
        let Some(note) = note.filter(is_here) else {
            return Ok(None);
        };
        self.saw(note.note_id, note.version);
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
