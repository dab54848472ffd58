//! Words that are written when all else of a transaction is.
//!
//! FTS5 gathers words in memory and writes them as one sorted piece, but writes what it has whenever a statement or a
//! savepoint begins that could be taken back. So notes that are written in between go into the index one by one, each as
//! a piece of its own that has to be merged with others later. Written together they are one piece.

use std::collections::BTreeMap;

use crate::store::connection::Connection;
use bonded_workspace_rules::Note;

use super::index::{IndexRow, add, remove};
use crate::store::error::StoreFault;

/// Where notes go in the index, in the order in which they were written.
#[derive(Debug, Default)]
pub(in crate::store) struct WaitingWords(Vec<Move>);

/// From where a note is taken out of the index, and where it goes; None for a new note, or for one that is deleted.
#[derive(Debug)]
struct Move {
    from: Option<IndexRow>,
    to: Option<(IndexRow, Note)>,
}

impl WaitingWords {
    /// In the order of the writes.
    pub(in crate::store) fn push(&mut self, from: Option<IndexRow>, to: Option<(IndexRow, Note)>) {
        self.0.push(Move { from, to });
    }

    /// For marks.
    pub(in crate::store) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets what came after the first so many.
    pub(in crate::store) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Brings the index to where all of them lead. A note that was written several times goes in once, and rows go in by
    /// their numbers, because FTS5 begins a new piece whenever one is lower than the one before.
    pub(in crate::store) fn write(self, connection: Connection<'_>) -> Result<(), StoreFault> {
        let mut added = BTreeMap::new();
        for one in self.0 {
            if let Some(from) = one.from
                && added.remove(&from.row()).is_none()
            {
                remove(connection, from)?;
            }
            if let Some((place, note)) = one.to {
                added.insert(place.row(), (place, note));
            }
        }
        for (place, note) in added.values() {
            add(connection, *place, note)?;
        }
        Ok(())
    }
}
