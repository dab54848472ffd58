//! Search by words.

use bonded_kernel::workspace::{NoteId, WorkspaceId, index_text, search_terms, snippet};
use rusqlite::{Connection, params};

use super::codes::{count, number};
use super::error::Fault;
use super::notes::{ListedNote, Page, backlink_count};
use super::project::notes::{kind_word, workspace_word};
use super::{WorkspaceError, WorkspaceStore, blobs, rows};

/// How much a word counts where it stands: place, title, headings, body, keywords.
const RANK: &str = "bm25(words, 0.0, 2.0, 1.5, 1.0, 1.0)";

/// What to search for. No text in it is taken for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    pub workspace: WorkspaceId,
    pub query: String,
    pub note_kind: Option<String>,
    pub sort: SearchSort,
    pub page: Page,
}

/// The order of what was found; equal ones by the time of their last change, then by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchSort {
    #[default]
    Relevance,
    Updated,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// How many notes there are on all pages.
    pub total: u64,
}

/// A note that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub note: ListedNote,
    /// HTML whose only tags are marks.
    pub snippet: String,
    /// The higher, the better; it means something only beside others of the same search.
    pub score: f64,
    pub backlink_count: u64,
}

impl WorkspaceStore {
    /// The notes in which all words of the query stand, deleted ones left out.
    pub async fn search_text(&self, query: SearchQuery) -> Result<Found, WorkspaceError> {
        self.read(move |connection| search(connection, &query))
            .await
    }

    /// The notes with these ids as search shows them, in this order; those that are gone are left out.
    pub async fn shown(
        &self,
        notes: Vec<NoteId>,
        query: String,
    ) -> Result<Vec<Hit>, WorkspaceError> {
        self.read(move |connection| {
            let mut hits = Vec::with_capacity(notes.len());
            for note in notes {
                let sql = "SELECT key FROM note WHERE id = ?1 AND deleted_at IS NULL";
                let key = rows::one(connection, sql, [note.as_bytes()], |row| Ok(row.get(0)?))?;
                if let Some(key) = key {
                    hits.extend(hit(connection, key, 0.0, &query)?);
                }
            }
            Ok(hits)
        })
        .await
    }
}

fn search(connection: &Connection, query: &SearchQuery) -> Result<Found, Fault> {
    let workspace = rows::workspace_key(connection, query.workspace)?;
    let Some(expression) = workspace.and_then(|workspace| expression(workspace, query)) else {
        return Ok(Found {
            hits: vec![],
            total: 0,
        });
    };
    let total = "SELECT count(*) FROM words WHERE words MATCH ?1";
    let total = rows::one(connection, total, [&expression], |row| {
        Ok(count(row.get(0)?))
    })?;
    let ranked = match query.sort {
        SearchSort::Relevance => by_relevance(connection, &expression, query.page)?,
        SearchSort::Updated => {
            let order = "updated_at DESC, id";
            ordered(connection, &expression, f64::INFINITY, order, query.page)?
        }
    };
    let mut hits = Vec::with_capacity(ranked.len());
    for (key, rank) in ranked {
        hits.extend(hit(connection, key, -rank, &query.query)?);
    }
    Ok(Found {
        hits,
        total: total.unwrap_or(0),
    })
}

/// The query in the words of FTS5: each term a string, so that nothing in it is an operator.
fn expression(workspace: i64, query: &SearchQuery) -> Option<String> {
    let quoted = |term: &str| format!("\"{}\"", term.replace('"', "\"\"").replace('\0', " "));
    let terms: Vec<String> = search_terms(&query.query)
        .into_iter()
        .map(|term| quoted(&index_text(term)))
        .collect();
    if terms.is_empty() {
        return None;
    }
    let kind = query.note_kind.as_deref().map(kind_word);
    let kind = kind.map_or(String::new(), |word| {
        format!(" AND place : {}", quoted(&word))
    });
    Some(format!(
        "place : {}{kind} AND {{title headings body keywords}} : ({})",
        quoted(&workspace_word(workspace)),
        terms.join(" AND ")
    ))
}

/// The best of them. Only where the last of the page ties with one beyond it do times and ids have to be looked up.
fn by_relevance(
    connection: &Connection,
    expression: &str,
    page: Page,
) -> Result<Vec<(i64, f64)>, Fault> {
    let sql = format!(
        "SELECT rowid, {RANK} AS rank_now FROM words WHERE words MATCH ?1 ORDER BY rank_now LIMIT ?2"
    );
    let wanted = page.offset.saturating_add(page.limit);
    let parameters = params![expression, number(wanted.saturating_add(1))];
    let best: Vec<(i64, f64)> = rows::all(connection, &sql, parameters, |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    match best.last() {
        Some((_, worst)) => {
            let order = "rank_now, updated_at DESC, id";
            ordered_best(connection, expression, &best, *worst, order, page)
        }
        None => Ok(vec![]),
    }
}

/// Puts ties in order: among those that were fetched, or among all that are as good as the last of them.
fn ordered_best(
    connection: &Connection,
    expression: &str,
    best: &[(i64, f64)],
    worst: f64,
    order: &str,
    page: Page,
) -> Result<Vec<(i64, f64)>, Fault> {
    let wanted = page.offset.saturating_add(page.limit);
    let has_more = best.len() as u64 > wanted;
    let ties_at_end = best.len() > 1 && best[best.len() - 2].1 == worst;
    if has_more && ties_at_end {
        return ordered(connection, expression, worst, order, page);
    }
    let mut placed = Vec::with_capacity(best.len());
    for (key, rank) in best {
        let sql = "SELECT updated_at, id FROM note WHERE key = ?1";
        let place = rows::one(connection, sql, [key], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 16]>(1)?))
        })?;
        placed.extend(place.map(|(updated_at, id)| (*rank, -updated_at, id, *key)));
    }
    placed.sort_by(|a, b| {
        a.0.total_cmp(&b.0)
            .then_with(|| (a.1, a.2).cmp(&(b.1, b.2)))
    });
    let (skipped, taken) = (page.offset as usize, page.limit as usize);
    let shown = placed.into_iter().skip(skipped).take(taken);
    Ok(shown.map(|(rank, _, _, key)| (key, rank)).collect())
}

/// All that are at least as good as `worst`, in this order.
fn ordered(
    connection: &Connection,
    expression: &str,
    worst: f64,
    order: &str,
    page: Page,
) -> Result<Vec<(i64, f64)>, Fault> {
    let sql = format!(
        "SELECT note.key, {RANK} AS rank_now FROM words JOIN note ON note.key = words.rowid \
         WHERE words MATCH ?1 AND rank_now <= ?2 ORDER BY {order} LIMIT ?3 OFFSET ?4"
    );
    let parameters = params![expression, worst, number(page.limit), number(page.offset)];
    rows::all(connection, &sql, parameters, |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

fn hit(connection: &Connection, key: i64, score: f64, query: &str) -> Result<Option<Hit>, Fault> {
    let sql = format!("{} WHERE note.key = ?1", rows::NOTE);
    let Some((_, mut note)) = rows::one(connection, &sql, [key], rows::note)? else {
        return Ok(None);
    };
    blobs::resolve(connection, &mut note.markdown)?;
    Ok(Some(Hit {
        snippet: snippet(&note.markdown, query),
        score,
        backlink_count: backlink_count(connection, note.note_id)?,
        note: note.into(),
    }))
}
