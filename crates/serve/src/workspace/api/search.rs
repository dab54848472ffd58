//! Search in the notes of a workspace.
//!
//! The rate is bounded for each person, because a search by meaning asks a provider and one by words may read much.

use std::time::Instant;

use bonded_kernel::Failure;
use bonded_workspace::store::{Page, SearchQuery, SearchSort};
use bonded_workspace::{Embedder, SearchError, SearchMode};
use bonded_workspace_rules::{Code, Permission};

use super::notes::workspace_asked;
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{self, Degradation, SearchAnswer};

/// How many come where nobody says.
pub(in crate::workspace) const LIMIT: u64 = 20;
/// No page is longer.
pub(in crate::workspace) const LIMIT_MAX: u64 = 100;
/// Longer queries are refused.
pub(in crate::workspace) const QUERY_CHARS_MAX: usize = 500;

/// Why a search goes by words alone.
const UNAVAILABLE: &str = Code::EmbeddingUnavailable.as_str();

/// The query is checked before the rate is taken, so that a mistake costs nothing.
pub(in crate::workspace) async fn search(
    ask: WorkspaceAsk,
) -> Result<OkJson<SearchAnswer>, ApiRefusal> {
    let began = Instant::now();
    let workspace_id = workspace_asked(&ask)?;
    let mode = mode(&ask)?;
    let query = SearchQuery {
        workspace: workspace_id,
        query: normalised(ask.query.text("q").unwrap_or_default())?,
        note_kind: ask.query.text("note_kind").map(str::to_owned),
        sort: sort(&ask)?,
        page: Page {
            limit: ask.query.number("limit", LIMIT, 1..=LIMIT_MAX)?,
            offset: ask.query.number("offset", 0, 0..=i64::MAX as u64)?,
        },
    };
    let (site, user) = (&ask.site, ask.caller()?.user_id);
    site.searches.take(&site.store, user).await?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let text = query.query.clone();
    let embedder = ask.site.embedder.as_deref();
    let searched = bonded_workspace::search(&ask.site.store, embedder, query, mode).await;
    let found = searched.map_err(|error| refused(&ask, &error))?;
    let failure = found.degraded.as_ref();
    Ok(OkJson(SearchAnswer {
        results: found.hits.iter().map(dto::Hit::from).collect(),
        total: found.total,
        mode: found.mode.into(),
        degraded: failure.is_some(),
        degraded_reason: failure.map(|_| UNAVAILABLE),
        details: failure.map(|failure| degradation(&ask, mode, Some(found.mode), failure)),
        query_normalized: text,
        query_expanded: None,
        timing_ms: began.elapsed().as_millis() as u64,
    }))
}

/// Only a search by meaning alone can be refused for its provider.
fn refused(ask: &WorkspaceAsk, error: &SearchError) -> ApiRefusal {
    let details = match error {
        SearchError::Store(error) => return error.clone().into(),
        SearchError::NoEmbeddings => Degradation {
            mode_requested: dto::SearchMode::Semantic,
            mode_effective: None,
            provider: None,
            reason: UNAVAILABLE,
            failure: None,
        },
        SearchError::Unavailable { failure } => {
            degradation(ask, SearchMode::Semantic, None, failure)
        }
    };
    let message =
        format!("semantic search is not available: {error}; use mode=hybrid or mode=lexical");
    ApiRefusal::new(Code::SearchModeInvalid, message).details(details)
}

/// What a client may know of a provider that fails; its words are for whoever runs the server.
fn degradation(
    ask: &WorkspaceAsk,
    requested: SearchMode,
    effective: Option<SearchMode>,
    failure: &Failure,
) -> Degradation {
    let provider = ask.site.embedder.as_deref().map(Embedder::provider);
    Degradation {
        mode_requested: requested.into(),
        mode_effective: effective.map(Into::into),
        provider: provider.map(str::to_owned),
        reason: UNAVAILABLE,
        failure: Some(failure.class.as_str()),
    }
}

/// The default is that of the configuration.
fn mode(ask: &WorkspaceAsk) -> Result<SearchMode, ApiRefusal> {
    let default = &ask.site.settings.search_mode;
    let name = ask.query.text("mode").unwrap_or(default);
    name.parse().map_err(|_| {
        let message = "mode in the query: hybrid, lexical or semantic";
        ApiRefusal::new(Code::SearchModeInvalid, message)
    })
}

/// The query with single blanks between its words.
fn normalised(text: &str) -> Result<String, ApiRefusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if (1..=QUERY_CHARS_MAX).contains(&text.chars().count()) {
        return Ok(text);
    }
    Err(ApiRefusal::bad(format!(
        "q in the query: 1 to {QUERY_CHARS_MAX} characters to look for"
    )))
}

/// By default the best is first.
fn sort(ask: &WorkspaceAsk) -> Result<SearchSort, ApiRefusal> {
    match ask.query.text("sort") {
        None | Some("relevance") => Ok(SearchSort::Relevance),
        Some("updated_at") => Ok(SearchSort::Updated),
        Some(_) => Err(ApiRefusal::bad(
            "sort in the query: relevance or updated_at",
        )),
    }
}
