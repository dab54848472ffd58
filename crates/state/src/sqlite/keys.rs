//! How runs and entries are numbered in the file.

use bonded_kernel::{GoalId, Hash, Head, Millis, RunId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::append::ENTRIES_MAX;
use crate::row::Row;

/// How many low bits of an entry's id are its sequence number.
const SEQ_BITS: u32 = ENTRIES_MAX.count_ones();

/// The columns of [`read_row`], in its order.
macro_rules! columns {
    () => {
        "id, format, at, turn, body, hash"
    };
}
pub(super) use columns;

/// A run's number, by which its entries are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunKey(pub(super) i64);

impl RunKey {
    /// The id of the run's entry `seq`.
    pub(super) fn entry(self, seq: u64) -> i64 {
        (self.0 << SEQ_BITS) | seq.min(ENTRIES_MAX) as i64
    }

    pub(super) fn last_entry(self) -> i64 {
        self.entry(ENTRIES_MAX)
    }
}

pub(super) fn find(
    connection: &Connection,
    run: &RunId,
) -> rusqlite::Result<Option<(RunKey, GoalId)>> {
    connection
        .prepare_cached("SELECT key, goal FROM run WHERE id = ?1")?
        .query_row([run.as_str()], |row| {
            let goal = GoalId::from_stored(row.get_ref(1)?.as_str()?);
            Ok((RunKey(row.get(0)?), goal))
        })
        .optional()
}

/// The head of a run; [`Head::EMPTY`] if it has no entry. A log that was cut inside an append has a head
/// that no hash is stored for: no append fits it, and loading it tells what is wrong.
pub(super) fn head(connection: &Connection, key: RunKey) -> rusqlite::Result<Head> {
    let head = connection
        .prepare_cached(
            "SELECT id, hash FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![key.entry(0), key.last_entry()], read_head)
        .optional()?;
    Ok(head.unwrap_or(Head::EMPTY))
}

fn read_head(row: &rusqlite::Row<'_>) -> rusqlite::Result<Head> {
    let hash: Option<[u8; 32]> = row.get(1)?;
    Ok(Head {
        seq: seq_of(row.get(0)?),
        hash: hash.map_or(Hash::ZERO, Hash::from_bytes),
    })
}

/// The nearest place at or before entry `seq` whose hash is stored; the beginning, if there is none.
pub(super) fn anchor(connection: &Connection, key: RunKey, seq: u64) -> rusqlite::Result<Head> {
    let anchor = connection
        .prepare_cached(
            "SELECT id, hash FROM entry WHERE id BETWEEN ?1 AND ?2 AND hash IS NOT NULL \
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![key.entry(0), key.entry(seq)], read_head)
        .optional()?;
    Ok(anchor.unwrap_or(Head::EMPTY))
}

pub(super) fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        seq: seq_of(row.get(0)?),
        format: row.get(1)?,
        at: Millis(row.get::<_, i64>(2)? as u64),
        turn: row.get(3)?,
        body: row.get_ref(4)?.as_blob()?.into(),
        hash: row.get::<_, Option<[u8; 32]>>(5)?.map(Hash::from_bytes),
    })
}

fn seq_of(id: i64) -> u64 {
    id as u64 & ENTRIES_MAX
}
