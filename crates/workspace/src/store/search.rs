//! Search by words.
//!
//! The index finds rows, `order` puts them in order, and only the notes of the page are read whole, for their snippets.
//! Nothing here depends on how many notes there are, but for the bounds of `order`.

mod expression;
mod fts5;
#[cfg(test)]
mod model;
mod order;
mod query;
mod server_words;

use super::connection::Connection;
use bonded_kernel::NoteId;
use bonded_workspace_rules::snippet;

use super::dialect::Dialect;
use super::error::{StoreFault, WorkspaceError};
use super::links::backlink_count;
use super::notes::ListedNote;
use super::words::IndexRow;
use super::workspace_store::WorkspaceStore;
use super::{blobs, rows};
use expression::expression;
use fts5::Fts5;
use order::{BOUNDS, Bounds, Match, Search, WordIndex};
use server_words::ServerWords;

pub use query::{SearchQuery, SearchSort};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHits {
    /// The page that was asked for, in the order that was asked for.
    pub hits: Vec<Hit>,
    /// How many notes there are on all pages. No search lists more than 500.
    pub total: u64,
}

/// A note that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Without its text.
    pub note: ListedNote,
    /// HTML whose only tags are marks.
    pub snippet: String,
    /// The higher, the better; it means something only beside others of the same search.
    pub score: f64,
    /// How many notes link to it.
    pub backlink_count: u64,
}

impl WorkspaceStore {
    /// The notes in which all words of the query stand, deleted ones left out.
    pub async fn search_text(&self, query: SearchQuery) -> Result<TextHits, WorkspaceError> {
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
                    Ok(IndexRow {
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

/// A query without any word finds nothing, and so does a workspace that is not there.
fn search(
    connection: Connection<'_>,
    query: &SearchQuery,
    bounds: Bounds,
) -> Result<TextHits, StoreFault> {
    let workspace = rows::workspace_key(connection, query.workspace)?;
    let index = match workspace {
        Some(workspace) => index(connection, workspace, query)?,
        None => None,
    };
    let (Some(workspace), Some(index)) = (workspace, index) else {
        return Ok(TextHits {
            hits: vec![],
            total: 0,
        });
    };
    let search = Search {
        connection,
        workspace,
        index: &*index,
        bounds,
    };
    let listed = search.listed(query)?;
    let mut hits = Vec::with_capacity(listed.page.len());
    for Match { row, score } in listed.page {
        let place = IndexRow::of_row(workspace, row);
        hits.extend(hit(connection, place, score, &query.query)?);
    }
    Ok(TextHits {
        hits,
        total: listed.total as u64,
    })
}

/// What finds the words of a query; `None` where nothing can be found.
fn index<'a>(
    connection: Connection<'a>,
    workspace: i64,
    query: &SearchQuery,
) -> Result<Option<Box<dyn WordIndex + 'a>>, StoreFault> {
    Ok(match connection.dialect() {
        Dialect::Sqlite => expression(query).map(|expression| {
            Box::new(Fts5 {
                connection,
                workspace,
                expression,
            }) as Box<dyn WordIndex + 'a>
        }),
        Dialect::Postgres => match ServerWords::new(connection, workspace, query)? {
            Some(words) => Some(Box::new(words)),
            None => None,
        },
    })
}

/// None where the note was moved or deleted since its row was found, which one state of the file rules out.
fn hit(
    connection: Connection<'_>,
    place: IndexRow,
    score: f64,
    query: &str,
) -> Result<Option<Hit>, StoreFault> {
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
