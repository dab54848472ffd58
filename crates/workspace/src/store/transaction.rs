//! A transaction of the writer, and what it leaves for its end.
//!
//! Several jobs share one transaction. What they want to be done at its end is collected here, and taken back by mark
//! where a job fails.

use std::collections::BTreeMap;

use super::connection::Connection;

use super::error::StoreFault;
use super::watched_stream::{self, WatchedStream};
use super::words::WaitingWords;

/// One transaction of the writer.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    pub(super) connection: Connection<'a>,
    /// How far the streams go that were written to.
    pub(super) heads: BTreeMap<WatchedStream, u64>,
    pub(super) words: WaitingWords,
}

/// What a transaction had come to when a job began.
#[derive(Debug)]
pub(super) struct TransactionMark {
    heads: BTreeMap<WatchedStream, u64>,
    words: usize,
}

impl<'a> Transaction<'a> {
    /// Nothing was written yet.
    pub(super) fn new(connection: Connection<'a>) -> Self {
        Self {
            connection,
            heads: BTreeMap::new(),
            words: WaitingWords::default(),
        }
    }

    /// Cheap: jobs are marked one by one.
    pub(super) fn mark(&self) -> TransactionMark {
        TransactionMark {
            heads: self.heads.clone(),
            words: self.words.len(),
        }
    }

    /// Forgets what was made since. The rows are taken back by whoever has the savepoint.
    pub(super) fn back_to(&mut self, mark: TransactionMark) {
        self.heads = mark.heads;
        self.words.truncate(mark.words);
    }

    /// Writes what was left for the end, and says how far the streams go.
    pub(super) fn finish(mut self) -> Result<BTreeMap<WatchedStream, u64>, StoreFault> {
        self.words.write(self.connection)?;
        let access = watched_stream::head(self.connection, WatchedStream::Access)?;
        self.heads.insert(WatchedStream::Access, access);
        Ok(self.heads)
    }
}
