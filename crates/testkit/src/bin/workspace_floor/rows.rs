//! The statements that several requests need.

use bonded_kernel::{Hash, NoteId, Text, UserId, WorkspaceId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::{Value, json};

use crate::Fault;

/// A note as its row has it, its text not loaded yet.
pub(crate) struct NoteRow {
    pub(crate) key: i64,
    pub(crate) workspace: i64,
    note_id: NoteId,
    workspace_id: WorkspaceId,
    pub(crate) title: String,
    kind: String,
    scope: String,
    keywords: Value,
    metadata: Value,
    text: Option<String>,
    blob: Option<String>,
    pub(crate) version: i64,
    created_at: i64,
    updated_at: i64,
    /// The row of its last event; its words are found by it.
    pub(crate) written: i64,
}

pub(crate) const NOTE: &str = "SELECT note.key, note.workspace, note.id, workspace.id, title, kind, scope, keywords, metadata, \
     text, blob, version, note.created_at, note.updated_at, written \
     FROM note JOIN workspace ON workspace.key = note.workspace";

pub(crate) fn note(row: &Row<'_>) -> Result<NoteRow, Fault> {
    Ok(NoteRow {
        key: row.get(0)?,
        workspace: row.get(1)?,
        note_id: NoteId::from_bytes(row.get(2)?),
        workspace_id: WorkspaceId::from_bytes(row.get(3)?),
        title: row.get(4)?,
        kind: row.get(5)?,
        scope: row.get(6)?,
        keywords: serde_json::from_str(row.get_ref(7)?.as_str()?)?,
        metadata: serde_json::from_str(row.get_ref(8)?.as_str()?)?,
        text: row.get(9)?,
        blob: row.get(10)?,
        version: row.get(11)?,
        created_at: row.get(12)?,
        updated_at: row.get(13)?,
        written: row.get(14)?,
    })
}

impl NoteRow {
    pub(crate) fn shown(&self) -> Value {
        json!({
            "note_id": self.note_id,
            "workspace_id": self.workspace_id,
            "title": self.title,
            "note_kind": self.kind,
            "access_scope": self.scope,
            "keywords": self.keywords,
            "version": self.version,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "deleted_at": null,
        })
    }

    pub(crate) fn shown_whole(&self, text: &str) -> Value {
        let mut shown = self.shown();
        shown["metadata"] = self.metadata.clone();
        shown["markdown"] = text.into();
        shown
    }

    pub(crate) fn text(&self, connection: &Connection) -> Result<String, Fault> {
        let Some(blob) = &self.blob else {
            return Ok(self.text.clone().unwrap_or_default());
        };
        let text: Text = serde_json::from_str(blob)?;
        let blob = text.blob().ok_or("a long text has a name")?;
        let sql = "SELECT bytes FROM blob WHERE hash = ?1";
        let bytes: Vec<u8> = connection
            .prepare_cached(sql)?
            .query_row([blob.hash.as_bytes().as_slice()], |row| row.get(0))?;
        Ok(String::from_utf8(bytes)?)
    }
}

pub(crate) fn note_by_id(connection: &Connection, id: NoteId) -> Result<NoteRow, Fault> {
    let mut statement = connection.prepare_cached(&format!("{NOTE} WHERE note.id = ?1"))?;
    let mut rows = statement.query([id.as_bytes()])?;
    note(rows.next()?.ok_or("there is no such note")?)
}

/// Whose token it is.
pub(crate) fn user(connection: &Connection, token: Hash) -> Result<UserId, Fault> {
    let sql = "SELECT user.id FROM user JOIN token ON token.user = user.id WHERE token.hash = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([token.as_bytes()], |row| {
            Ok(UserId::from_bytes(row.get(0)?))
        })
        .optional()?;
    found.ok_or_else(|| "the token is not known".into())
}

/// The workspace's key and its last event.
pub(crate) fn workspace(connection: &Connection, id: WorkspaceId) -> Result<(i64, i64), Fault> {
    let sql = "SELECT key, last_seq FROM workspace WHERE id = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found)
}

/// Refuses whoever is no member, or may only look where they want to write.
pub(crate) fn permit(
    connection: &Connection,
    workspace: i64,
    user: UserId,
    writes: bool,
) -> Result<(), Fault> {
    let sql = "SELECT role FROM member WHERE workspace = ?1 AND user = ?2";
    let role: Option<String> = connection
        .prepare_cached(sql)?
        .query_row(params![workspace, user.as_bytes()], |row| row.get(0))
        .optional()?;
    match role.as_deref() {
        Some("viewer") if writes => Err("this needs another role".into()),
        Some(_) => Ok(()),
        None => Err("no member".into()),
    }
}
