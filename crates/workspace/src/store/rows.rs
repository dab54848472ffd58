//! How rows become what they stand for.
//!
//! Each query text has its columns in the order in which the function below it reads them; whoever changes one changes
//! the other. What cannot be read is damage, never a default.

use super::connection::{Connection, Parameters, Row};
use bonded_kernel::{EventId, NoteId, RuleId, RunId, Text, WorkspaceId};
use bonded_workspace_rules::{
    AutomationRun, Chain, Note, Operation, Rule, StoredEvent, Workspace, WorkspaceEvent,
};
use serde::{Deserialize, Serialize};

use super::blobs;
use super::codes::{at, bytes, count, from_word};
use super::error::StoreFault;

/// A rule, and whether it was deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRule {
    /// As it stood after its last change.
    pub rule: Rule,
    /// A deleted rule stays known, because its runs refer to it.
    pub is_deleted: bool,
}

pub(super) const WORKSPACE: &str = "SELECT id, name, state, created_at, updated_at FROM workspace";

/// Reads what `WORKSPACE` selects.
pub(super) fn workspace(row: &Row<'_>) -> Result<Workspace, StoreFault> {
    Ok(Workspace {
        workspace_id: WorkspaceId::from_bytes(id(row, 0)?),
        name: row.get(1)?,
        state: from_word(row.get_ref(2)?.as_str()?)?,
        created_at: at(row.get(3)?),
        updated_at: at(row.get(4)?),
    })
}

/// Joined with the workspace, because rows name it by its key and events by its id.
pub(super) const EVENT: &str = "SELECT event.row, event.id, workspace.id, seq, at, version, depth, cause, actor, body \
     FROM event JOIN workspace ON workspace.key = event.workspace";

/// The event and its place among all events.
pub(super) fn event(
    connection: Connection<'_>,
    row: &Row<'_>,
) -> Result<(u64, StoredEvent), StoreFault> {
    let (place, mut stored) = light_event(row)?;
    if let Some(markdown) = stored.event.markdown_mut() {
        blobs::resolve(connection, markdown)?;
    }
    Ok((place, stored))
}

/// The same, but a long text of it is not loaded.
pub(super) fn light_event(row: &Row<'_>) -> Result<(u64, StoredEvent), StoreFault> {
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
        version: row.get::<Option<i64>>(5)?.map(count),
        chain: Chain {
            depth: row.get(6)?,
            cause,
        },
        event,
    };
    Ok((count(row.get(0)?), stored))
}

/// The text is either in `text` or named in `blob`.
pub(super) const NOTE: &str = "SELECT note.key, note.id, workspace.id, title, kind, scope, keywords, metadata, text, blob, \
     version, note.created_at, note.updated_at, deleted_at \
     FROM note JOIN workspace ON workspace.key = note.workspace";

/// The note and its key, its text not loaded yet where it is long.
pub(super) fn note(row: &Row<'_>) -> Result<(i64, Note), StoreFault> {
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
        deleted_at: row.get::<Option<i64>>(13)?.map(at),
    };
    Ok((row.get(0)?, note))
}

pub(super) const RULE: &str = "SELECT body, deleted FROM rule";

/// Reads what `RULE` selects.
pub(super) fn rule(row: &Row<'_>) -> Result<StoredRule, StoreFault> {
    Ok(StoredRule {
        rule: from_json(row, 0)?,
        is_deleted: row.get(1)?,
    })
}

pub(super) const RUN: &str = "SELECT run.id, rule, workspace.id, event, status, depth, queued_at, started_at, finished_at, \
     error_code, result, audit, request \
     FROM run JOIN workspace ON workspace.key = run.workspace";

/// Reads what `RUN` selects.
pub(super) fn run(row: &Row<'_>) -> Result<AutomationRun, StoreFault> {
    let audit: Option<String> = row.get(11)?;
    Ok(AutomationRun {
        run_id: run_id(row.get_ref(0)?.as_str()?)?,
        rule_id: RuleId::from_bytes(id(row, 1)?),
        workspace_id: WorkspaceId::from_bytes(id(row, 2)?),
        triggering_event_id: EventId::from_bytes(id(row, 3)?),
        status: from_word(row.get_ref(4)?.as_str()?)?,
        depth: row.get(5)?,
        queued_at: at(row.get(6)?),
        started_at: row.get::<Option<i64>>(7)?.map(at),
        finished_at: row.get::<Option<i64>>(8)?.map(at),
        error_code: row.get(9)?,
        result_json: from_json(row, 10)?,
        audit: audit
            .map(|audit| serde_json::from_str(&audit))
            .transpose()?,
        request: row.get(12)?,
    })
}

pub(super) const OPERATION: &str = "SELECT body FROM operation";

/// Reads what `OPERATION` selects.
pub(super) fn operation(row: &Row<'_>) -> Result<Operation, StoreFault> {
    from_json(row, 0)
}

/// A text that names no run is damage.
pub(super) fn run_id(text: &str) -> Result<RunId, StoreFault> {
    RunId::new(text).map_err(|error| StoreFault::Damaged(error.to_string()))
}

/// Ids are 16 bytes.
fn id(row: &Row<'_>, index: usize) -> Result<[u8; 16], StoreFault> {
    bytes(row.get_ref(index)?.as_blob()?)
}

/// For columns that hold a whole value.
fn from_json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, index: usize) -> Result<T, StoreFault> {
    let text = row.get_ref(index)?.as_str()?;
    Ok(serde_json::from_str(text)?)
}

/// The first row of a query, if there is one.
pub(super) fn one<T>(
    connection: Connection<'_>,
    sql: &str,
    parameters: impl Parameters,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreFault>,
) -> Result<Option<T>, StoreFault> {
    let (mut found, mut read) = (None, Some(read));
    connection.each_until(sql, parameters, |row| {
        found = read.take().map(|read| read(row)).transpose()?;
        Ok(false)
    })?;
    Ok(found)
}

/// Whether a query has no more rows than this; the others are not looked for.
pub(super) fn are_at_most(
    connection: Connection<'_>,
    rows_max: usize,
    sql: &str,
    parameters: impl Parameters,
) -> Result<bool, StoreFault> {
    let mut found = 0;
    connection.each_until(sql, parameters, |_| {
        found += 1;
        Ok(found <= rows_max)
    })?;
    Ok(found <= rows_max)
}

/// All rows of a query.
pub(super) fn all<T>(
    connection: Connection<'_>,
    sql: &str,
    parameters: impl Parameters,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreFault>,
) -> Result<Vec<T>, StoreFault> {
    let mut found = Vec::new();
    connection.each(sql, parameters, |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// The key of a workspace.
pub(super) fn workspace_key(
    connection: Connection<'_>,
    workspace: WorkspaceId,
) -> Result<Option<i64>, StoreFault> {
    let sql = "SELECT key FROM workspace WHERE id = ?1";
    one(connection, sql, [workspace.as_bytes()], |row| row.get(0))
}

/// What reading costs, counted for each thread.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    use rusqlite::{Statement, StatementStatus};

    thread_local! {
        static STEPS: Cell<i64> = const { Cell::new(0) };
    }

    /// Adds what a statement cost to what this thread has spent.
    pub(in crate::store) fn book(statement: &Statement<'_>) {
        let steps = i64::from(statement.reset_status(StatementStatus::VmStep));
        STEPS.set(STEPS.get() + steps);
    }

    /// What this thread has spent since it was asked last.
    pub(in crate::store) fn take() -> i64 {
        STEPS.take()
    }
}
