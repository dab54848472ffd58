//! How rows become what they stand for.

use bonded_kernel::{EventId, NoteId, RuleId, RunId, Text, WorkspaceId};
use bonded_workspace_rules::{
    AutomationRun, Chain, Note, Operation, Rule, StoredEvent, Workspace, WorkspaceEvent,
};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::blobs;
use super::codes::{at, bytes, count, from_word};
use super::error::Fault;

/// A rule, and whether it was deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRule {
    pub rule: Rule,
    pub is_deleted: bool,
}

pub(super) const WORKSPACE: &str = "SELECT id, name, state, created_at, updated_at FROM workspace";

pub(super) fn workspace(row: &Row<'_>) -> Result<Workspace, Fault> {
    Ok(Workspace {
        workspace_id: WorkspaceId::from_bytes(id(row, 0)?),
        name: row.get(1)?,
        state: from_word(row.get_ref(2)?.as_str()?)?,
        created_at: at(row.get(3)?),
        updated_at: at(row.get(4)?),
    })
}

pub(super) const EVENT: &str = "SELECT event.row, event.id, workspace.id, seq, at, version, depth, cause, actor, body \
     FROM event JOIN workspace ON workspace.key = event.workspace";

/// The event and its place among all events.
pub(super) fn event(connection: &Connection, row: &Row<'_>) -> Result<(u64, StoredEvent), Fault> {
    let (place, mut stored) = light_event(row)?;
    if let Some(markdown) = stored.event.markdown_mut() {
        blobs::resolve(connection, markdown)?;
    }
    Ok((place, stored))
}

/// The same, but a long text of it is not loaded.
pub(super) fn light_event(row: &Row<'_>) -> Result<(u64, StoredEvent), Fault> {
    let event: WorkspaceEvent = from_json(row, 9)?;
    let cause = match row.get_ref(7)?.as_blob_or_null()? {
        Some(cause) => Some(EventId::from_bytes(bytes(cause)?)),
        None => None,
    };
    let stored = StoredEvent {
        event_id: EventId::from_bytes(id(row, 1)?),
        workspace_id: WorkspaceId::from_bytes(id(row, 2)?),
        event_seq: count(row.get(3)?),
        at: at(row.get(4)?),
        actor: from_json(row, 8)?,
        note_id: event.note_id(),
        version: row.get::<_, Option<i64>>(5)?.map(count),
        chain: Chain {
            depth: row.get(6)?,
            cause,
        },
        event,
    };
    Ok((count(row.get(0)?), stored))
}

pub(super) const NOTE: &str = "SELECT note.key, note.id, workspace.id, title, kind, scope, keywords, metadata, text, blob, \
     version, note.created_at, note.updated_at, deleted_at \
     FROM note JOIN workspace ON workspace.key = note.workspace";

/// The note and its key, its text not loaded yet where it is long.
pub(super) fn note(row: &Row<'_>) -> Result<(i64, Note), Fault> {
    let text: Option<String> = row.get(8)?;
    let markdown: Text = match text {
        Some(text) => text.into(),
        None => from_json(row, 9)?,
    };
    let note = Note {
        note_id: NoteId::from_bytes(id(row, 1)?),
        workspace_id: WorkspaceId::from_bytes(id(row, 2)?),
        title: row.get(3)?,
        markdown,
        note_kind: row.get(4)?,
        access_scope: from_word(row.get_ref(5)?.as_str()?)?,
        keywords: from_json(row, 6)?,
        metadata: from_json(row, 7)?,
        version: count(row.get(10)?),
        created_at: at(row.get(11)?),
        updated_at: at(row.get(12)?),
        deleted_at: row.get::<_, Option<i64>>(13)?.map(at),
    };
    Ok((row.get(0)?, note))
}

pub(super) const RULE: &str = "SELECT body, deleted FROM rule";

pub(super) fn rule(row: &Row<'_>) -> Result<StoredRule, Fault> {
    Ok(StoredRule {
        rule: from_json(row, 0)?,
        is_deleted: row.get(1)?,
    })
}

pub(super) const RUN: &str = "SELECT run.id, rule, workspace.id, event, status, depth, queued_at, started_at, finished_at, \
     error_code, result, audit \
     FROM run JOIN workspace ON workspace.key = run.workspace";

pub(super) fn run(row: &Row<'_>) -> Result<AutomationRun, Fault> {
    let audit: Option<String> = row.get(11)?;
    Ok(AutomationRun {
        run_id: run_id(row.get_ref(0)?.as_str()?)?,
        rule_id: RuleId::from_bytes(id(row, 1)?),
        workspace_id: WorkspaceId::from_bytes(id(row, 2)?),
        triggering_event_id: EventId::from_bytes(id(row, 3)?),
        status: from_word(row.get_ref(4)?.as_str()?)?,
        depth: row.get(5)?,
        queued_at: at(row.get(6)?),
        started_at: row.get::<_, Option<i64>>(7)?.map(at),
        finished_at: row.get::<_, Option<i64>>(8)?.map(at),
        error_code: row.get(9)?,
        result_json: from_json(row, 10)?,
        audit: audit
            .map(|audit| serde_json::from_str(&audit))
            .transpose()?,
    })
}

pub(super) const OPERATION: &str = "SELECT body FROM operation";

pub(super) fn operation(row: &Row<'_>) -> Result<Operation, Fault> {
    from_json(row, 0)
}

pub(super) fn run_id(text: &str) -> Result<RunId, Fault> {
    RunId::new(text).map_err(|error| Fault::Damaged(error.to_string()))
}

fn id(row: &Row<'_>, index: usize) -> Result<[u8; 16], Fault> {
    bytes(row.get_ref(index)?.as_blob()?)
}

fn from_json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, index: usize) -> Result<T, Fault> {
    let text = row.get_ref(index)?.as_str()?;
    Ok(serde_json::from_str(text)?)
}

/// The first row of a query, if there is one.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let found = rows.next()?.map(read).transpose();
    drop(rows);
    #[cfg(test)]
    super::cost::book(&statement);
    found
}

/// Whether a query has no more rows than this; the others are not looked for.
pub(super) fn are_at_most(
    connection: &Connection,
    rows_max: usize,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<bool, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut found = 0;
    while found <= rows_max && rows.next()?.is_some() {
        found += 1;
    }
    drop(rows);
    #[cfg(test)]
    super::cost::book(&statement);
    Ok(found <= rows_max)
}

/// All rows of a query.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    drop(rows);
    #[cfg(test)]
    super::cost::book(&statement);
    Ok(found)
}

/// The key of a workspace.
pub(super) fn workspace_key(
    connection: &Connection,
    workspace: WorkspaceId,
) -> Result<Option<i64>, Fault> {
    let key = connection
        .prepare_cached("SELECT key FROM workspace WHERE id = ?1")?
        .query_row([workspace.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(key)
}
