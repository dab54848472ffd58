//! Notes that were found.
//!
//! The scores are for people who wonder about an order; they mean nothing beside those of another search.

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace::{ScoredHit, store};
#[cfg(test)]
use bonded_workspace_rules::SNIPPET_CHARS_MAX;
use serde::Serialize;

#[cfg(test)]
use super::notes::NOTE_KIND;
use super::scalars::{Id, Timestamp};
use super::words::SearchMode;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hit {
    note_id: Id<NoteId>,
    workspace_id: Id<WorkspaceId>,
    title: String,
    /// HTML whose only tags are marks.
    #[cfg_attr(test, schemars(length(max = SNIPPET_CHARS_MAX)))]
    snippet: String,
    #[cfg_attr(test, schemars(regex(pattern = NOTE_KIND)))]
    note_kind: String,
    score_lexical: Option<f64>,
    score_semantic: Option<f64>,
    score_rrf: Option<f64>,
    score_rerank: Option<f64>,
    /// The higher, the better; it means something only beside others of the same search.
    score_final: f64,
    backlink_count: u64,
    updated_at: Timestamp,
}

/// A note that was found by its words.
impl From<&store::Hit> for Hit {
    fn from(hit: &store::Hit) -> Self {
        Self {
            note_id: Id(hit.note.note_id),
            workspace_id: Id(hit.note.workspace_id),
            title: hit.note.title.clone(),
            snippet: hit.snippet.clone(),
            note_kind: hit.note.note_kind.clone(),
            score_lexical: Some(hit.score),
            score_semantic: None,
            score_rrf: None,
            score_rerank: None,
            score_final: hit.score,
            backlink_count: hit.backlink_count,
            updated_at: hit.note.updated_at.into(),
        }
    }
}

impl From<&ScoredHit> for Hit {
    fn from(found: &ScoredHit) -> Self {
        Self {
            score_lexical: found.score_lexical,
            score_semantic: found.score_semantic,
            score_rrf: found.score_rrf,
            score_final: found.score_final,
            ..Self::from(&found.hit)
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Found"))]
pub(crate) struct SearchAnswer {
    pub(crate) results: Vec<Hit>,
    pub(crate) total: u64,
    /// How the search was made in the end
    pub(crate) mode: SearchMode,
    pub(crate) degraded: bool,
    pub(crate) degraded_reason: Option<&'static str>,
    pub(crate) details: Option<Degradation>,
    pub(crate) query_normalized: String,
    pub(crate) query_expanded: Option<String>,
    pub(crate) timing_ms: u64,
}

/// Why meaning decided nothing. What the provider said is for whoever runs the server.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Degradation {
    pub(crate) mode_requested: SearchMode,
    pub(crate) mode_effective: Option<SearchMode>,
    pub(crate) provider: Option<String>,
    pub(crate) reason: &'static str,
    /// How the provider failed: network, timeout, auth, quota, rate_limit, model, malformed, overflow
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) failure: Option<&'static str>,
}
