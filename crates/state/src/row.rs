//! An entry as it lies in a store: without the run, the goal and the previous hash, which its place tells.

use std::sync::Arc;

use bonded_kernel::{BadEntry, Blob, Entry, GoalId, Hash, Header, Millis, RunId};

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) seq: u64,
    pub(crate) format: u16,
    pub(crate) at: Millis,
    pub(crate) turn: u32,
    pub(crate) body: Arc<[u8]>,
    /// The last entry of an append has it; that of the others follows from what they say.
    pub(crate) hash: Option<Hash>,
}

impl Row {
    /// Reads the row as the entry that follows `prev`; see [`Entry::open`].
    pub(crate) fn open(
        self,
        run: &RunId,
        goal: &GoalId,
        prev: Hash,
        blob: impl FnMut(&Hash) -> Option<Blob>,
    ) -> Result<Entry, BadEntry> {
        let header = Header {
            format: self.format,
            run: run.clone(),
            goal: goal.clone(),
            seq: self.seq,
            at: self.at,
            turn: self.turn,
            prev,
        };
        Entry::open(header, self.hash, self.body, blob)
    }
}

impl From<&Entry> for Row {
    fn from(entry: &Entry) -> Self {
        Self {
            seq: entry.seq,
            format: entry.format,
            at: entry.at,
            turn: entry.turn,
            body: entry.body.clone(),
            hash: Some(entry.hash),
        }
    }
}
