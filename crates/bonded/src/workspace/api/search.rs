//! Search in the notes of a workspace.

use std::time::Instant;

use bonded_kernel::workspace::Permission;
use bonded_state::workspace::{Page, SearchQuery, SearchSort};
use serde_json::{Value, json};

use super::notes::workspace_asked;
use crate::workspace::access::permit;
use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

const QUERY_CHARS_MAX: usize = 500;

/// How a search is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Hybrid,
    Lexical,
    Semantic,
}

impl Mode {
    fn named(name: &str) -> Result<Self, Refusal> {
        match name {
            "hybrid" => Ok(Self::Hybrid),
            "lexical" => Ok(Self::Lexical),
            "semantic" => Ok(Self::Semantic),
            _ => {
                let message = "mode in the query: hybrid, lexical or semantic";
                Err(Refusal::new("SEARCH_MODE_INVALID", message))
            }
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}

pub(in crate::workspace) async fn search(ask: Ask) -> Result<Answer, Refusal> {
    let began = Instant::now();
    let workspace_id = workspace_asked(&ask)?;
    let mode = Mode::named(
        ask.query
            .text("mode")
            .unwrap_or(&ask.site.settings.search_mode),
    )?;
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
    if mode == Mode::Semantic {
        return Err(no_embeddings(&ask));
    }
    // Without vectors the words alone decide. That is a loss only where somebody set up more.
    let degraded = mode == Mode::Hybrid && ask.site.settings.has_embeddings;
    let text = query.query.clone();
    let found = ask.site.store.search_text(query).await?;
    let results: Vec<Value> = found.hits.iter().map(shown::hit).collect();
    let body = json!({
        "results": results,
        "total": found.total,
        "mode": mode.as_str(),
        "degraded": degraded,
        "degraded_reason": degraded.then_some("EMBEDDING_UNAVAILABLE"),
        "query_normalized": text,
        "query_expanded": Value::Null,
        "timing_ms": began.elapsed().as_millis() as u64,
    });
    Ok(Answer::ok(&body))
}

fn no_embeddings(ask: &Ask) -> Refusal {
    let reason = match ask.site.settings.has_embeddings {
        true => "the embedding provider does not answer",
        false => "no embedding provider is configured",
    };
    let message =
        format!("semantic search is not to be had: {reason}; use mode=hybrid or mode=lexical");
    Refusal::new("SEARCH_MODE_INVALID", message).details(json!({
        "mode_requested": "semantic",
        "mode_effective": Value::Null,
        "reason": "EMBEDDING_UNAVAILABLE",
    }))
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
