//! Reading, listing and searching.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use bonded_kernel::Hash;
use bonded_kernel::workspace::{NoteId, WorkspaceId};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::asked::{answer, query, token};
use crate::rows::{NOTE, note, note_by_id, permit, user, workspace};
use crate::{Fault, Shared};

const FOUND: i64 = 20;
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

/// The best of all that match, and how many they are.
fn found(connection: &Connection, workspace: i64, words: &str) -> Result<Value, Fault> {
    let (first, last) = (workspace << 32, ((workspace + 1) << 32) - 1);
    let matching = "FROM words WHERE words MATCH ?1 AND words.rowid BETWEEN ?2 AND ?3";
    let total: i64 = connection
        .prepare_cached(&format!("SELECT count(*) {matching}"))?
        .query_row(params![words, first, last], |row| row.get(0))?;
    let rank = "bm25(words, 2.0, 1.5, 1.0, 1.0)";
    let sql = format!("SELECT words.rowid - ?2, {rank} AS rank {matching} ORDER BY 2 LIMIT ?4");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut matches = statement.query(params![words, first, last, FOUND])?;
    let mut results = vec![];
    while let Some(row) = matches.next()? {
        let (written, score): (i64, f64) = (row.get(0)?, row.get(1)?);
        results.push(hit(connection, written, -score)?);
    }
    Ok(json!({ "results": results, "total": total, "mode": "lexical", "query_normalized": words }))
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
