//! Creating and patching notes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bonded_kernel::{Hash, NoteId, Text, UserId, WorkspaceId};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::asked::{answer, key, token};
use crate::rows::{note_by_id, permit, user, workspace};
use crate::{Fault, Shared};

#[derive(Deserialize)]
struct Created {
    workspace_id: WorkspaceId,
    title: String,
    markdown: String,
    keywords: Vec<String>,
}

#[derive(Deserialize)]
struct Patched {
    base_version: i64,
    patch_ops: Vec<Op>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Retain(usize),
    Insert(String),
    Delete(usize),
}

pub(crate) async fn create(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let write = async {
        let (token, key) = (token(&headers)?, key(&headers)?);
        let created: Created = serde_json::from_str(&body)?;
        let write = move |connection: &Connection| {
            let user = user(connection, token)?;
            match answered(connection, user, &key)? {
                Some(answer) => Ok(answer),
                None => made(connection, user, &key, &created),
            }
        };
        shared.writer.write(write).await
    };
    answer(StatusCode::CREATED, write.await)
}

pub(crate) async fn patch(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let write = async {
        let (token, key, id): (Hash, String, NoteId) =
            (token(&headers)?, key(&headers)?, id.parse()?);
        let patched: Patched = serde_json::from_str(&body)?;
        let write = move |connection: &Connection| {
            let user = user(connection, token)?;
            match answered(connection, user, &key)? {
                Some(answer) => Ok(answer),
                None => changed(connection, user, &key, id, &patched),
            }
        };
        shared.writer.write(write).await
    };
    answer(StatusCode::OK, write.await)
}

fn made(
    connection: &Connection,
    user: UserId,
    key: &str,
    created: &Created,
) -> Result<Value, Fault> {
    let (workspace, last_seq) = workspace(connection, created.workspace_id)?;
    permit(connection, workspace, user, true)?;
    let id = NoteId::derived(&[user.as_bytes(), key.as_bytes()]);
    let keywords = serde_json::to_string(&created.keywords)?;
    let (text, blob) = kept(connection, &created.markdown)?;
    let at = now_ms();
    let title = &created.title;
    connection
        .prepare_cached(
            "INSERT INTO note (id, workspace, title, folded, kind, scope, keywords, metadata, text, blob, version, \
             created_at, updated_at) VALUES (?1, ?2, ?3, ?4, 'note', 'workspace', ?5, '{}', ?6, ?7, 1, ?8, ?8)",
        )?
        .execute(params![
            id.as_bytes(),
            workspace,
            title,
            title.to_lowercase(),
            keywords,
            text,
            blob,
            at
        ])?;
    let note = connection.last_insert_rowid();
    let event = Event {
        workspace,
        seq: last_seq + 1,
        at,
        note,
        version: 1,
        user,
    };
    let written = event.append(connection, title, blob.as_deref())?;
    let words = [title.as_str(), &created.markdown, &keywords];
    index(connection, (workspace << 32) + written, words)?;
    remember(connection, user, key, id, 1)?;
    let row = note_by_id(connection, id)?;
    Ok(row.shown_whole(&created.markdown))
}

fn changed(
    connection: &Connection,
    user: UserId,
    key: &str,
    id: NoteId,
    patched: &Patched,
) -> Result<Value, Fault> {
    let mut row = note_by_id(connection, id)?;
    permit(connection, row.workspace, user, true)?;
    if row.version != patched.base_version {
        return Err("somebody else was faster".into());
    }
    let markdown = apply(&row.text(connection)?, &patched.patch_ops)?;
    let (text, blob) = kept(connection, &markdown)?;
    let at = now_ms();
    row.version += 1;
    connection
        .prepare_cached(
            "UPDATE note SET text = ?2, blob = ?3, version = ?4, updated_at = ?5 WHERE key = ?1",
        )?
        .execute(params![row.key, text, blob, row.version, at])?;
    let last_seq: i64 = connection
        .prepare_cached("SELECT last_seq FROM workspace WHERE key = ?1")?
        .query_row([row.workspace], |row| row.get(0))?;
    let event = Event {
        workspace: row.workspace,
        seq: last_seq + 1,
        at,
        note: row.key,
        version: row.version,
        user,
    };
    let written = event.append(connection, "", blob.as_deref())?;
    for table in ["words", "titles", "headings"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE rowid = ?1"))?
            .execute([(row.workspace << 32) + row.written])?;
    }
    let words = [row.title.as_str(), &markdown, ""];
    index(connection, (row.workspace << 32) + written, words)?;
    remember(connection, user, key, id, row.version)?;
    Ok(row.shown_whole(&markdown))
}

fn apply(text: &str, ops: &[Op]) -> Result<String, Fault> {
    let (mut rest, mut patched) = (text, String::with_capacity(text.len()));
    for op in ops {
        let end_of = |count: usize| {
            let end = rest.char_indices().nth(count).map(|(at, _)| at);
            end.ok_or("beyond the end of the text")
        };
        match op {
            Op::Insert(inserted) => patched.push_str(inserted),
            Op::Retain(count) => {
                let (kept, after) = rest.split_at(end_of(*count)?);
                patched.push_str(kept);
                rest = after;
            }
            Op::Delete(count) => rest = &rest[end_of(*count)?..],
        }
    }
    patched.push_str(rest);
    Ok(patched)
}

/// A short text lies in the note's row, a long one is named there by its hash.
fn kept(
    connection: &Connection,
    markdown: &str,
) -> Result<(Option<String>, Option<String>), Fault> {
    let text = Text::from(markdown.to_owned());
    let Some(blob) = text.blob() else {
        return Ok((Some(markdown.to_owned()), None));
    };
    connection
        .prepare_cached("INSERT OR IGNORE INTO blob (hash, packed, bytes) VALUES (?1, 0, ?2)")?
        .execute(params![
            blob.hash.as_bytes().as_slice(),
            markdown.as_bytes()
        ])?;
    Ok((None, Some(serde_json::to_string(&text)?)))
}

/// What a history is made of.
struct Event {
    workspace: i64,
    seq: i64,
    at: i64,
    note: i64,
    version: i64,
    user: UserId,
}

impl Event {
    /// Says in which row it is.
    fn append(
        &self,
        connection: &Connection,
        title: &str,
        blob: Option<&str>,
    ) -> Result<i64, Fault> {
        let id = Hash::of(format!("{} {}", self.workspace, self.seq).as_bytes());
        let body = json!({ "event_type": "note.changed", "payload": { "title": title, "markdown": blob } });
        connection
            .prepare_cached(
                "INSERT INTO event (id, workspace, seq, at, note, version, depth, request_id, actor, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 'floor', ?7, ?8)",
            )?
            .execute(params![
                &id.as_bytes()[..16],
                self.workspace,
                self.seq,
                self.at,
                self.note,
                self.version,
                json!({ "actor_type": "user", "user_id": self.user }).to_string(),
                body.to_string(),
            ])?;
        let row = connection.last_insert_rowid();
        connection
            .prepare_cached("UPDATE workspace SET last_seq = ?2 WHERE key = ?1")?
            .execute(params![self.workspace, self.seq])?;
        connection
            .prepare_cached("UPDATE note SET written = ?2 WHERE key = ?1")?
            .execute(params![self.note, row])?;
        Ok(row)
    }
}

/// The words of a note's title, text and keywords, and those of its title and headings by themselves.
fn index(
    connection: &Connection,
    row: i64,
    [title, markdown, keywords]: [&str; 3],
) -> Result<(), Fault> {
    let (headings, body): (Vec<&str>, Vec<&str>) =
        markdown.lines().partition(|line| line.starts_with('#'));
    let (headings, body) = (headings.join("\n"), body.join("\n"));
    connection
        .prepare_cached(
            "INSERT INTO words (rowid, title, headings, body, keywords) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![row, title, headings, body, keywords])?;
    for (table, words) in [("titles", title), ("headings", &headings)] {
        connection
            .prepare_cached(&format!(
                "INSERT INTO {table} (rowid, words) VALUES (?1, ?2)"
            ))?
            .execute(params![row, words])?;
    }
    Ok(())
}

/// The note of the write with this key, as it is now, if there was one.
fn answered(connection: &Connection, user: UserId, key: &str) -> Result<Option<Value>, Fault> {
    let sql = "SELECT outcome FROM answer WHERE scope = ?1 AND key = ?2";
    let known: Option<String> = connection
        .prepare_cached(sql)?
        .query_row(params![user.to_string(), key], |row| row.get(0))
        .optional()?;
    let Some(known) = known else {
        return Ok(None);
    };
    let row = note_by_id(connection, serde_json::from_str(&known)?)?;
    Ok(Some(row.shown_whole(&row.text(connection)?)))
}

fn remember(
    connection: &Connection,
    user: UserId,
    key: &str,
    id: NoteId,
    version: i64,
) -> Result<(), Fault> {
    let fingerprint = Hash::of(key.as_bytes());
    connection
        .prepare_cached(
            "INSERT INTO answer (scope, key, fingerprint, at, first_row, rows, outcome) \
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)",
        )?
        .execute(params![
            user.to_string(),
            key,
            fingerprint.as_bytes(),
            now_ms(),
            version,
            serde_json::to_string(&id)?
        ])?;
    Ok(())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
