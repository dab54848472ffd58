//! Search in the notes of a workspace.

use std::time::Instant;

use bonded_kernel::Failure;
use bonded_workspace::store::{Page, SearchQuery, SearchSort};
use bonded_workspace::{Embedder, ScoredHit, SearchError, SearchMode};
use bonded_workspace_rules::{Code, Permission};
use serde_json::{Value, json};

use super::notes::workspace_asked;
use crate::workspace::answer::Answer;
use crate::workspace::ask::{Ask, permit};
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

const QUERY_CHARS_MAX: usize = 500;

/// Why a search goes by words alone.
const UNAVAILABLE: &str = Code::EmbeddingUnavailable.as_str();

pub(in crate::workspace) async fn search(ask: Ask) -> Result<Answer, Refusal> {
    let began = Instant::now();
    let workspace_id = workspace_asked(&ask)?;
    let mode = mode(&ask)?;
    let query = SearchQuery {
        workspace: workspace_id,
        query: normalised(ask.query.text("q").unwrap_or_default())?,
        note_kind: ask.query.text("note_kind").map(str::to_owned),
        sort: sort(&ask)?,
        page: Page {
            limit: ask.query.number("limit", 20, 1..=100)?,
            offset: ask.query.number("offset", 0, 0..=i64::MAX as u64)?,
        },
    };
    ask.site.searches.take(ask.caller()?.user_id)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let text = query.query.clone();
    let embedder = ask.site.embedder.as_deref();
    let searched = bonded_workspace::search(&ask.site.store, embedder, query, mode).await;
    let found = searched.map_err(|error| refused(&ask, &error))?;
    let results: Vec<Value> = found.hits.iter().map(shown).collect();
    let body = json!({
        "results": results,
        "total": found.total,
        "mode": found.mode.as_str(),
        "degraded": found.degraded.is_some(),
        "degraded_reason": found.degraded.is_some().then_some(UNAVAILABLE),
        "details": found.degraded.as_ref().map(|failure| details(&ask, mode, Some(found.mode), failure)),
        "query_normalized": text,
        "query_expanded": Value::Null,
        "timing_ms": began.elapsed().as_millis() as u64,
    });
    Ok(Answer::ok(&body))
}

fn shown(found: &ScoredHit) -> Value {
    let mut shown = shown::hit(&found.hit);
    shown["score_lexical"] = json!(found.score_lexical);
    shown["score_semantic"] = json!(found.score_semantic);
    shown["score_rrf"] = json!(found.score_rrf);
    shown["score_final"] = json!(found.score_final);
    shown
}

fn refused(ask: &Ask, error: &SearchError) -> Refusal {
    let details = match error {
        SearchError::Store(error) => return error.clone().into(),
        SearchError::NoEmbeddings => json!({
            "mode_requested": "semantic",
            "mode_effective": Value::Null,
            "provider": Value::Null,
            "reason": UNAVAILABLE,
        }),
        SearchError::Unavailable { failure } => details(ask, SearchMode::Semantic, None, failure),
    };
    let message =
        format!("semantic search is not to be had: {error}; use mode=hybrid or mode=lexical");
    Refusal::new(Code::SearchModeInvalid, message).details(details)
}

/// What a client may know of a provider that fails; its words are for whoever runs the server.
fn details(
    ask: &Ask,
    requested: SearchMode,
    effective: Option<SearchMode>,
    failure: &Failure,
) -> Value {
    json!({
        "mode_requested": requested.as_str(),
        "mode_effective": effective.map(SearchMode::as_str),
        "provider": ask.site.embedder.as_deref().map(Embedder::provider),
        "reason": UNAVAILABLE,
        "failure": failure.class.as_str(),
    })
}

fn mode(ask: &Ask) -> Result<SearchMode, Refusal> {
    let usual = &ask.site.settings.search_mode;
    let name = ask.query.text("mode").unwrap_or(usual);
    name.parse().map_err(|_| {
        let message = "mode in the query: hybrid, lexical or semantic";
        Refusal::new(Code::SearchModeInvalid, message)
    })
}

/// The query with single blanks between its words.
fn normalised(text: &str) -> Result<String, Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if (1..=QUERY_CHARS_MAX).contains(&text.chars().count()) {
        return Ok(text);
    }
    Err(Refusal::bad(format!(
        "q in the query: 1 to {QUERY_CHARS_MAX} characters to look for"
    )))
}

fn sort(ask: &Ask) -> Result<SearchSort, Refusal> {
    match ask.query.text("sort") {
        None | Some("relevance") => Ok(SearchSort::Relevance),
        Some("updated_at") => Ok(SearchSort::Updated),
        Some(_) => Err(Refusal::bad("sort in the query: relevance or updated_at")),
    }
}
