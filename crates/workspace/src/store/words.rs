//! The index of words: where a note is in it, and how an older file gets one.

mod index;
mod server_index;
mod tokens;
mod waiting;

use rusqlite::{TransactionBehavior, params};

use super::connection::Connection;
use super::error::StoreFault;
use super::{blobs, rows};
use index::{add, remove};

pub(super) use index::{IndexRow, kind_word, plain, rows_of};
pub(super) use server_index::{WEIGHTS, quoted, workspace_word};
pub(super) use tokens::{Token, tokens};
pub(super) use waiting::WaitingWords;

/// How many notes are indexed in one transaction when a file of an older build is opened.
const FILLED_AT_ONCE: usize = 1000;

/// Where the words of a note are; nowhere if it is only being made.
pub(super) fn place_of(
    connection: Connection<'_>,
    note: i64,
) -> Result<Option<IndexRow>, StoreFault> {
    let sql = "SELECT workspace, written FROM note WHERE key = ?1 AND written IS NOT NULL";
    rows::one(connection, sql, [note], |row| {
        Ok(IndexRow {
            workspace: row.get(0)?,
            written: row.get(1)?,
        })
    })
}

/// Indexes the notes that an older build left. Who is stopped in between goes on the next time.
pub(super) fn fill(connection: &mut rusqlite::Connection) -> Result<(), StoreFault> {
    while connection
        .prepare("SELECT 1 FROM unindexed LIMIT 1")?
        .exists([])?
    {
        // Another process may do the same; each batch is made by one of them.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        fill_some(Connection::File(&transaction))?;
        transaction.commit()?;
    }
    Ok(())
}

/// In the order of their rows, because FTS5 begins a new segment whenever a row is lower than the one before.
fn fill_some(connection: Connection<'_>) -> Result<(), StoreFault> {
    let sql = format!(
        "SELECT workspace, written, note FROM unindexed ORDER BY workspace, written LIMIT {FILLED_AT_ONCE}"
    );
    let batch = rows::all(connection, &sql, params![], |row| {
        let (workspace, written) = (row.get(0)?, row.get(1)?);
        Ok((IndexRow { workspace, written }, row.get::<i64>(2)?))
    })?;
    let sql = format!("{} WHERE note.key = ?1", rows::NOTE);
    for (place, key) in batch {
        remove(connection, place)?;
        if let Some((_, mut note)) = rows::one(connection, &sql, [key], rows::note)? {
            blobs::resolve(connection, &mut note.markdown)?;
            add(connection, place, &note)?;
        }
    }
    Ok(())
}
