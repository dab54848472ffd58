//! Search by words.

use std::cmp::Reverse;
use std::collections::HashMap;

use bonded_kernel::workspace::{NoteId, WorkspaceId, index_text, search_terms, snippet};
use rusqlite::{Connection, Row, params};

use super::error::Fault;
use super::links::backlink_count;
use super::notes::{ListedNote, Page};
use super::project::notes::words_row;
use super::{WorkspaceError, WorkspaceStore, blobs, rows};

/// How much a word counts where it stands: title, headings, body, keywords.
const RANK: &str = "bm25(words, 2.0, 1.5, 1.0, 1.0)";

/// Up to so many notes are put in order by reading when each was changed; of more, those that were changed last are
/// looked for in an index.
const LOOKED_UP_MAX: usize = 5000;

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
    let (Some(workspace), Some(expression)) = (workspace, expression(&query.query)) else {
        return Ok(Found {
            hits: vec![],
            total: 0,
        });
    };
    let mut matches = matches(connection, workspace, &expression, query)?;
    let total = matches.len() as u64;
    if query.sort == SearchSort::Relevance {
        matches.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    let mut hits = Vec::new();
    for one in page_of(connection, workspace, &matches, query)? {
        hits.extend(hit(connection, one.key, one.score, &query.query)?);
    }
    Ok(Found { hits, total })
}

/// A note that matches: its key, and how well.
#[derive(Clone, Copy, Debug)]
struct Match {
    key: i64,
    score: f64,
}

/// The query in the words of FTS5: each term a string, so that nothing in it is an operator.
fn expression(query: &str) -> Option<String> {
    let quoted = |term: &str| format!("\"{}\"", term.replace('"', "\"\"").replace('\0', " "));
    let terms: Vec<String> = search_terms(query)
        .into_iter()
        .map(|term| quoted(&index_text(term)))
        .collect();
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// All notes that match. A match is two numbers, so that even a word of all notes is no burden.
fn matches(
    connection: &Connection,
    workspace: i64,
    expression: &str,
    query: &SearchQuery,
) -> Result<Vec<Match>, Fault> {
    let first = words_row(workspace, 0);
    let last = words_row(workspace + 1, 0) - 1;
    let of_kind = match &query.note_kind {
        Some(_) => "CROSS JOIN note ON note.key = words.rowid - ?2 AND note.kind = ?4",
        None => "",
    };
    let sql = format!(
        "SELECT words.rowid, {RANK} FROM words {of_kind} WHERE words MATCH ?1 AND words.rowid BETWEEN ?2 AND ?3"
    );
    let read = |row: &Row<'_>| {
        Ok(Match {
            key: row.get::<_, i64>(0)? - first,
            score: -row.get::<_, f64>(1)?,
        })
    };
    match &query.note_kind {
        Some(kind) => rows::all(
            connection,
            &sql,
            params![expression, first, last, kind],
            read,
        ),
        None => rows::all(connection, &sql, params![expression, first, last], read),
    }
}

/// The page of the matches, those that are equally good in their order.
fn page_of(
    connection: &Connection,
    workspace: i64,
    matches: &[Match],
    query: &SearchQuery,
) -> Result<Vec<Match>, Fault> {
    let by_score = query.sort == SearchSort::Relevance;
    let (mut skipped, mut wanted) = (query.page.offset as usize, query.page.limit as usize);
    let mut page = Vec::new();
    for tied in matches.chunk_by(|a, b| !by_score || a.score == b.score) {
        if wanted == 0 {
            break;
        }
        if skipped >= tied.len() {
            skipped -= tied.len();
            continue;
        }
        let ordered = newest_first(connection, workspace, tied, skipped.saturating_add(wanted))?;
        page.extend(ordered.into_iter().skip(skipped).take(wanted));
        wanted = wanted.saturating_sub(tied.len() - skipped);
        skipped = 0;
    }
    Ok(page)
}

/// The first of these, by the time of their last change, then by id.
fn newest_first(
    connection: &Connection,
    workspace: i64,
    tied: &[Match],
    wanted: usize,
) -> Result<Vec<Match>, Fault> {
    if let [only] = tied {
        return Ok(vec![*only]);
    }
    if tied.len() > LOOKED_UP_MAX {
        return newest_by_index(connection, workspace, tied, wanted);
    }
    let mut placed = Vec::with_capacity(tied.len());
    for one in tied {
        let sql = "SELECT updated_at, id FROM note WHERE key = ?1";
        let place = rows::one(connection, sql, [one.key], |row| {
            Ok((Reverse(row.get::<_, i64>(0)?), row.get::<_, [u8; 16]>(1)?))
        })?;
        placed.extend(place.map(|place| (place, *one)));
    }
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, one)| one).collect())
}

/// The same, by a walk through all notes in that order until there are enough.
fn newest_by_index(
    connection: &Connection,
    workspace: i64,
    tied: &[Match],
    wanted: usize,
) -> Result<Vec<Match>, Fault> {
    let scores: HashMap<i64, f64> = tied.iter().map(|one| (one.key, one.score)).collect();
    let sql = "SELECT key FROM note WHERE workspace = ?1 AND deleted_at IS NULL ORDER BY updated_at DESC, id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut keys = statement.query([workspace])?;
    let mut found = Vec::new();
    while found.len() < wanted.min(tied.len())
        && let Some(row) = keys.next()?
    {
        let key = row.get(0)?;
        found.extend(scores.get(&key).map(|score| Match { key, score: *score }));
    }
    Ok(found)
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

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::workspace::cost::{WORKSPACE, filled};

    #[tokio::test]
    async fn both_ways_to_find_the_newest_give_the_same() {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let store = filled(&dir, 60).await;
        let found = store.read(|connection| {
            let workspace = rows::workspace_key(connection, WORKSPACE)?.unwrap_or(0);
            let tied: Vec<Match> = (1..=60)
                .filter(|key| key % 4 != 0)
                .map(|key| Match { key, score: 1.0 })
                .collect();
            let keys = |found: Vec<Match>| -> Vec<i64> {
                found.into_iter().take(20).map(|one| one.key).collect()
            };
            let walked = keys(newest_by_index(connection, workspace, &tied, 20)?);
            let looked_up = keys(newest_first(connection, workspace, &tied, 20)?);
            Ok((walked, looked_up))
        });
        let (walked, looked_up) = found.await.expect("it reads");
        assert_eq!(walked.len(), 20);
        assert_eq!(walked, looked_up);
    }
}
