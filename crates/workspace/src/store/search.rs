//! Search by words.

mod expression;
#[cfg(test)]
mod model;
mod order;

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace_rules::snippet;
use rusqlite::Connection;

use super::error::Fault;
use super::links::backlink_count;
use super::notes::{ListedNote, Page};
use super::words::Place;
use super::{WorkspaceError, WorkspaceStore, blobs, rows};
use expression::expression;
use order::{BOUNDS, Bounds, Match, Search};

/// What to search for. No text in it is taken for an operator, but for a star at the end of a word: it stands for all
/// words that begin like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    pub workspace: WorkspaceId,
    pub query: String,
    pub note_kind: Option<String>,
    pub sort: SearchSort,
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

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// How many notes there are on all pages. No search lists more than 500.
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
        self.read(move |connection| search(connection, &query, BOUNDS))
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
                let sql =
                    "SELECT workspace, written FROM note WHERE id = ?1 AND deleted_at IS NULL";
                let place = rows::one(connection, sql, [note.as_bytes()], |row| {
                    Ok(Place {
                        workspace: row.get(0)?,
                        written: row.get(1)?,
                    })
                })?;
                if let Some(place) = place {
                    hits.extend(hit(connection, place, 0.0, &query)?);
                }
            }
            Ok(hits)
        })
        .await
    }
}

fn search(connection: &Connection, query: &SearchQuery, bounds: Bounds) -> Result<Found, Fault> {
    let workspace = rows::workspace_key(connection, query.workspace)?;
    let (Some(workspace), Some(expression)) = (workspace, expression(query)) else {
        return Ok(Found {
            hits: vec![],
            total: 0,
        });
    };
    let search = Search {
        connection,
        workspace,
        expression: &expression,
        bounds,
    };
    let listed = search.listed(query)?;
    let mut hits = Vec::with_capacity(listed.page.len());
    for Match { row, score } in listed.page {
        let place = Place::of_row(workspace, row);
        hits.extend(hit(connection, place, score, &query.query)?);
    }
    Ok(Found {
        hits,
        total: listed.total as u64,
    })
}

fn hit(
    connection: &Connection,
    place: Place,
    score: f64,
    query: &str,
) -> Result<Option<Hit>, Fault> {
    let sql = format!("{} WHERE note.written = ?1", rows::NOTE);
    let Some((_, mut note)) = rows::one(connection, &sql, [place.written], rows::note)? else {
        return Ok(None);
    };
    blobs::resolve(connection, &mut note.markdown)?;
    Ok(Some(Hit {
        snippet: snippet(&note.markdown, query),
        score,
        backlink_count: backlink_count(connection, place.workspace, &note)?,
        note: note.into(),
    }))
}
