//! Reading, listing and searching.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use bonded_kernel::{Hash, NoteId, WorkspaceId};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::asked::{answer, query, token};
use crate::rows::{NOTE, note, note_by_id, permit, user, workspace};
use crate::{Fault, Shared};

const FOUND: usize = 20;
const LISTED_MAX: usize = 500;
const RANKED_MAX: usize = 100;
const SNIPPET_CHARS: usize = 160;

pub(crate) async fn read(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let read = async {
        let (token, id): (Hash, NoteId) = (token(&headers)?, id.parse()?);
        let read = move |connection: &Connection| {
            let user = user(connection, token)?;
            let note = note_by_id(connection, id)?;
            permit(connection, note.workspace, user, false)?;
            Ok(note.shown_whole(&note.text(connection)?))
        };
        shared.readers.read(read).await
    };
    answer(StatusCode::OK, read.await)
}

pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let read = async {
        let (token, id) = (token(&headers)?, workspace_asked(&uri)?);
        let number = |name: &str, usual| query(&uri, name).map_or(Ok(usual), |text| text.parse());
        let (limit, offset): (i64, i64) = (number("limit", 50)?, number("offset", 0)?);
        let read = move |connection: &Connection| {
            let (key, _) = workspace(connection, id)?;
            permit(connection, key, user(connection, token)?, false)?;
            listed(connection, key, limit, offset)
        };
        shared.readers.read(read).await
    };
    answer(StatusCode::OK, read.await)
}

fn workspace_asked(uri: &Uri) -> Result<WorkspaceId, Fault> {
    let id = query(uri, "workspace_id").ok_or("workspace_id is needed")?;
    Ok(id.parse()?)
}

fn listed(connection: &Connection, key: i64, limit: i64, offset: i64) -> Result<Value, Fault> {
    let order = "note.updated_at DESC, note.id";
    let sql = format!(
        "{NOTE} WHERE note.key IN (SELECT key FROM note WHERE workspace = ?1 AND deleted_at IS NULL \
         ORDER BY {order} LIMIT ?2 OFFSET ?3) ORDER BY {order}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![key, limit + 1, offset])?;
    let mut notes = vec![];
    while let Some(row) = found.next()? {
        notes.push(note(row)?.shown());
    }
    let next = (notes.len() as i64 > limit).then_some(offset + limit);
    notes.truncate(limit as usize);
    Ok(json!({ "notes": notes, "next_offset": next }))
}

pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let read = async {
        let (token, id) = (token(&headers)?, workspace_asked(&uri)?);
        let words = query(&uri, "q").ok_or("q is needed")?;
        let read = move |connection: &Connection| {
            let (key, _) = workspace(connection, id)?;
            permit(connection, key, user(connection, token)?, false)?;
            found(connection, key, &words)
        };
        shared.readers.read(read).await
    };
    answer(StatusCode::OK, read.await)
}

/// The statements of a search for one word. Few that match are ranked; of many, those with the word in the title come
/// first, then those with it in a heading, then the rest, the newest first.
fn found(connection: &Connection, workspace: i64, words: &str) -> Result<Value, Fault> {
    let all = newest(connection, "words", workspace, words, LISTED_MAX)?;
    let total = all.len();
    let best = match total <= RANKED_MAX {
        true => ranked(connection, workspace, words)?,
        false => by_part(connection, workspace, words, all)?,
    };
    let results: Result<Vec<Value>, Fault> = best
        .into_iter()
        .map(|(row, score)| hit(connection, row - (workspace << 32), score))
        .collect();
    Ok(json!({ "results": results?, "total": total, "mode": "lexical", "query_normalized": words }))
}

/// The rows that match, the newest first.
fn newest(
    connection: &Connection,
    table: &str,
    workspace: i64,
    words: &str,
    limit: usize,
) -> Result<Vec<i64>, Fault> {
    let sql = format!(
        "SELECT rowid FROM {table} WHERE {table} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4"
    );
    let (first, last) = rows_of(workspace);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![words, first, last, limit as i64], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn ranked(connection: &Connection, workspace: i64, words: &str) -> Result<Vec<(i64, f64)>, Fault> {
    let sql = "SELECT rowid, -bm25(words, 2.0, 1.5, 1.0, 1.0) FROM words \
               WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY 2 DESC LIMIT ?4";
    let (first, last) = rows_of(workspace);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![words, first, last, FOUND as i64], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn by_part(
    connection: &Connection,
    workspace: i64,
    words: &str,
    all: Vec<i64>,
) -> Result<Vec<(i64, f64)>, Fault> {
    let mut found: Vec<(i64, f64)> = vec![];
    let mut add = |rows: Vec<i64>, score| {
        for row in rows {
            if found.len() < FOUND && found.iter().all(|(known, _)| *known != row) {
                found.push((row, score));
            }
        }
        found.len()
    };
    let part = |table| newest(connection, table, workspace, words, FOUND);
    if add(part("titles")?, 2.0) < FOUND && add(part("headings")?, 1.5) < FOUND {
        add(all, 1.0);
    }
    Ok(found)
}

/// The rows of a workspace in an index of words.
fn rows_of(workspace: i64) -> (i64, i64) {
    (workspace << 32, ((workspace + 1) << 32) - 1)
}

fn hit(connection: &Connection, written: i64, score: f64) -> Result<Value, Fault> {
    let mut statement = connection.prepare_cached(&format!("{NOTE} WHERE note.written = ?1"))?;
    let mut found = statement.query([written])?;
    let note = note(found.next()?.ok_or("a note is missing")?)?;
    let text = note.text(connection)?;
    let mut shown = note.shown();
    let snippet: String = text.chars().take(SNIPPET_CHARS).collect();
    shown["snippet"] = snippet.into();
    shown["score_final"] = score.into();
    Ok(shown)
}
