//! Search in a workspace: by words, by meaning, or by both.
//!
//! The store knows words and vectors; here both are brought together. A search by both never fails because of the
//! provider: it is made by words then, and says so. Both lists are cut to the same bounded length before they are
//! fused, whatever page is asked for.

use std::collections::BTreeMap;

use crate::store::{Hit, Nearest, Page, SearchQuery, SearchSort, WorkspaceError, WorkspaceStore};
use bonded_kernel::{Failure, NoteId};
use bonded_workspace_rules::{FusedNote, NoteStanding, ScoredNote, fuse, later_first};

use super::embeddings::Embedder;

/// So many of the best by words, and of the best by meaning, are fused. What is fused must not depend on the page, or
/// pages would overlap.
const CANDIDATES: usize = 100;

/// How far it is looked for notes of the kind that is asked for.
const NEAREST_MAX: usize = 1000;

/// How a search is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// By words and by meaning, fused.
    Hybrid,
    /// By words alone.
    Lexical,
    /// By meaning alone.
    Semantic,
}

impl SearchMode {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}

impl std::str::FromStr for SearchMode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let modes = [Self::Hybrid, Self::Lexical, Self::Semantic];
        let found = modes.into_iter().find(|mode| mode.as_str() == name);
        found.ok_or(UnknownMode)
    }
}

/// There is no such mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mode of search is hybrid, lexical or semantic")]
pub struct UnknownMode;

/// What came of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults {
    /// The page that was asked for, in the order that was asked for.
    pub hits: Vec<ScoredHit>,
    /// How many notes there are on all pages.
    pub total: u64,
    /// How the search was made in the end.
    pub mode: SearchMode,
    /// Why the search is less than was asked for, if it is.
    pub degraded: Option<Failure>,
}

/// A note that was found, and why it stands where it does.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredHit {
    /// The note, with the piece of its text to show.
    pub hit: Hit,
    /// None where it was not found by words.
    pub score_lexical: Option<f64>,
    /// The cosine; None where it was not found by meaning.
    pub score_semantic: Option<f64>,
    /// By the places in both lists; None where only words were looked for.
    pub score_rrf: Option<f64>,
    /// What the order by relevance follows.
    pub score_final: f64,
}

/// Why there is no search.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SearchError {
    /// Meaning was asked for alone, and there is nobody to ask.
    #[error("no embedding provider is configured")]
    NoEmbeddings,
    /// Meaning was asked for alone, and the provider failed.
    #[error("the embedding provider does not answer as it should")]
    Unavailable { failure: Failure },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] WorkspaceError),
}

/// Searches. Where both ways are asked for and meaning cannot be had, words alone decide.
pub async fn search(
    store: &WorkspaceStore,
    embedder: Option<&Embedder>,
    query: SearchQuery,
    mode: SearchMode,
) -> Result<SearchResults, SearchError> {
    let embedder = match (mode, embedder) {
        (SearchMode::Lexical, _) | (SearchMode::Hybrid, None) => {
            return by_words(store, query, None).await;
        }
        (SearchMode::Semantic, None) => return Err(SearchError::NoEmbeddings),
        (_, Some(embedder)) => embedder,
    };
    match embedder.embed_query(&query.query).await {
        Ok(numbers) => by_meaning(store, embedder, query, numbers, mode).await,
        Err(failure) if mode == SearchMode::Semantic => Err(SearchError::Unavailable { failure }),
        Err(failure) => by_words(store, query, Some(failure)).await,
    }
}

/// `degraded` says why meaning was left out, where it was asked for.
async fn by_words(
    store: &WorkspaceStore,
    query: SearchQuery,
    degraded: Option<Failure>,
) -> Result<SearchResults, SearchError> {
    let found = store.search_text(query).await?;
    let scored = |hit: Hit| ScoredHit {
        score_lexical: Some(hit.score),
        score_semantic: None,
        score_rrf: None,
        score_final: hit.score,
        hit,
    };
    Ok(SearchResults {
        hits: found.hits.into_iter().map(scored).collect(),
        total: found.total,
        mode: SearchMode::Lexical,
        degraded,
    })
}

/// Words are looked for only in the mode that fuses. The total is that of the fused notes, so that it is bounded.
async fn by_meaning(
    store: &WorkspaceStore,
    embedder: &Embedder,
    query: SearchQuery,
    numbers: Vec<f32>,
    mode: SearchMode,
) -> Result<SearchResults, SearchError> {
    let mut hits = BTreeMap::new();
    let mut lexical = vec![];
    if mode == SearchMode::Hybrid {
        for hit in best_by_words(store, &query).await? {
            let (note_id, score) = (hit.note.note_id, hit.score);
            lexical.push(ScoredNote { note_id, score });
            hits.insert(note_id, hit);
        }
    }
    let space = embedder.space();
    let limit = match query.note_kind {
        Some(_) => NEAREST_MAX,
        None => CANDIDATES,
    };
    let nearest = store
        .nearest(query.workspace, space, numbers, limit)
        .await?;
    let semantic = meant(store, &query, nearest, &mut hits).await?;
    let mut fused = fuse(&lexical, &semantic, &standings(&hits));
    if query.sort == SearchSort::Updated {
        fused.sort_by(later_first);
    }
    Ok(SearchResults {
        total: fused.len() as u64,
        hits: paged(&fused, query.page, hits),
        mode,
        degraded: None,
    })
}

/// Always by relevance and from the first page on, because what is fused must not depend on the page.
async fn best_by_words(
    store: &WorkspaceStore,
    query: &SearchQuery,
) -> Result<Vec<Hit>, WorkspaceError> {
    let best = SearchQuery {
        sort: SearchSort::Relevance,
        page: Page {
            limit: CANDIDATES as u64,
            offset: 0,
        },
        ..query.clone()
    };
    Ok(store.search_text(best).await?.hits)
}

/// The notes of the kind that is asked for among the nearest, and how near they are. What points elsewhere altogether
/// is not near.
async fn meant(
    store: &WorkspaceStore,
    query: &SearchQuery,
    nearest: Vec<Nearest>,
    hits: &mut BTreeMap<NoteId, Hit>,
) -> Result<Vec<ScoredNote>, WorkspaceError> {
    let near: Vec<Nearest> = nearest.into_iter().filter(|it| it.cosine > 0.0).collect();
    let mut semantic: Vec<ScoredNote> = vec![];
    for some in near.chunks(CANDIDATES) {
        let ids = some.iter().map(|it| it.note_id);
        let new = ids.filter(|id| !hits.contains_key(id)).collect();
        for hit in store.shown(new, query.query.clone()).await? {
            if query
                .note_kind
                .as_ref()
                .is_none_or(|kind| *kind == hit.note.note_kind)
            {
                hits.insert(hit.note.note_id, hit);
            }
        }
        let known = some.iter().filter(|it| hits.contains_key(&it.note_id));
        semantic.extend(known.map(|it| ScoredNote {
            note_id: it.note_id,
            score: f64::from(it.cosine),
        }));
        if semantic.len() >= CANDIDATES {
            break;
        }
    }
    semantic.truncate(CANDIDATES);
    Ok(semantic)
}

/// What the fusion needs of each note, from the hits themselves.
fn standings(hits: &BTreeMap<NoteId, Hit>) -> BTreeMap<NoteId, NoteStanding> {
    let standing = |hit: &Hit| NoteStanding {
        updated_at: hit.note.updated_at,
        backlink_count: hit.backlink_count,
    };
    hits.iter().map(|(id, hit)| (*id, standing(hit))).collect()
}

/// Sorting comes before paging, so that pages neither overlap nor leave gaps.
fn paged(fused: &[FusedNote], page: Page, mut hits: BTreeMap<NoteId, Hit>) -> Vec<ScoredHit> {
    let offset = usize::try_from(page.offset).unwrap_or(usize::MAX);
    let shown = fused.iter().skip(offset).take(page.limit as usize);
    let scored = |fused: &FusedNote| {
        Some(ScoredHit {
            hit: hits.remove(&fused.note_id)?,
            score_lexical: fused.score_lexical,
            score_semantic: fused.score_semantic,
            score_rrf: Some(fused.score_rrf),
            score_final: fused.score_final,
        })
    };
    shown.filter_map(scored).collect()
}
