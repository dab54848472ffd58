//! Entries: events as stored, each bound to the one before by its hash.

use std::sync::Arc;

use crate::event::{Event, FORMAT};
use crate::hash::Hash;
use crate::id::{GoalId, RunId};
use crate::time::Millis;
use crate::tool::{BadCatalog, Catalog};

/// How far a log goes: the sequence number and the hash of its last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: u64,
    pub hash: Hash,
}

impl Head {
    /// The head of a log that has no entry yet; the first entry has sequence number 1.
    pub const EMPTY: Self = Self {
        seq: 0,
        hash: Hash::ZERO,
    };
}

/// An event as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub format: u16,
    pub run: RunId,
    pub goal: GoalId,
    pub seq: u64,
    pub at: Millis,
    pub turn: u32,
    /// The hash of the entry before.
    pub prev: Hash,
    /// Over `prev` and everything else here.
    pub hash: Hash,
    /// The event as JSON, byte for byte as stored.
    pub body: Arc<[u8]>,
    pub event: Event,
}

/// Everything of an entry but its event: what the hash covers besides the body.
#[derive(Clone, Debug)]
pub struct Header {
    pub format: u16,
    pub run: RunId,
    pub goal: GoalId,
    pub seq: u64,
    pub at: Millis,
    pub turn: u32,
    pub prev: Hash,
}

/// Why stored bytes are not an entry that this build can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    #[error("entry {seq} has format {found}, this build reads up to {FORMAT}")]
    NewerFormat { seq: u64, found: u16 },
    #[error(
        "entry {seq}, or one of its step before it, was changed: the hash is not that of the content"
    )]
    BrokenChain { seq: u64 },
    #[error("entry {seq} refers to blob {blob}, which is missing or changed")]
    MissingBlob { seq: u64, blob: Hash },
    #[error("entry {seq} is not readable: {why}")]
    Unreadable { seq: u64, why: String },
}

impl Header {
    fn hash(&self, body: &[u8]) -> Hash {
        let mut bytes = Vec::with_capacity(128 + body.len());
        bytes.extend_from_slice(self.prev.as_bytes());
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.seq.to_le_bytes());
        bytes.extend_from_slice(&self.at.0.to_le_bytes());
        bytes.extend_from_slice(&self.turn.to_le_bytes());
        for id in [self.run.as_str(), self.goal.as_str()] {
            bytes.extend_from_slice(&(id.len() as u64).to_le_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        bytes.extend_from_slice(body);
        Hash::of(&bytes)
    }
}

/// Most bodies are shorter.
const BODY_BYTES_USUAL: usize = 384;

impl Entry {
    /// Makes the entry of an event that follows `prev`.
    pub(crate) fn seal(header: Header, event: Event) -> Self {
        // Every event has string keys and no failing serializer, so this cannot fail.
        let mut body = Vec::with_capacity(BODY_BYTES_USUAL);
        serde_json::to_writer(&mut body, &event).unwrap_or_default();
        let hash = header.hash(&body);
        Self {
            format: header.format,
            run: header.run,
            goal: header.goal,
            seq: header.seq,
            at: header.at,
            turn: header.turn,
            prev: header.prev,
            hash,
            body: body.into(),
            event,
        }
    }

    /// Reads a stored entry: checks its format and its hash, then the body, then fetches the blobs.
    /// `hash` is `None` where a store keeps one hash for several entries: then the hash follows from the
    /// entry, and the next one that is stored proves it. `blob` gives the content of a blob, checked
    /// against its hash, or `None`.
    pub fn open(
        header: Header,
        hash: Option<Hash>,
        body: Arc<[u8]>,
        mut blob: impl FnMut(&Hash) -> Option<Arc<str>>,
    ) -> Result<Self, BadEntry> {
        let seq = header.seq;
        if header.format > FORMAT {
            let found = header.format;
            return Err(BadEntry::NewerFormat { seq, found });
        }
        let computed = header.hash(&body);
        if hash.is_some_and(|stored| stored != computed) {
            return Err(BadEntry::BrokenChain { seq });
        }
        let unreadable = |why: String| BadEntry::Unreadable { seq, why };
        let mut event: Event =
            serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))?;
        for text in event.texts_mut() {
            let Some(reference) = text.blob().filter(|_| !text.is_resolved()) else {
                continue;
            };
            let content = blob(&reference.hash).ok_or(BadEntry::MissingBlob {
                seq,
                blob: reference.hash,
            })?;
            text.resolve(content);
        }
        if let Event::RunStarted(started) = &mut event {
            let catalog = Catalog::from_recorded(started.recorded_tools().clone())
                .map_err(|error: BadCatalog| unreadable(error.to_string()))?;
            started.set_catalog(catalog);
        }
        Ok(Self {
            format: header.format,
            run: header.run,
            goal: header.goal,
            seq,
            at: header.at,
            turn: header.turn,
            prev: header.prev,
            hash: computed,
            body,
            event,
        })
    }

    pub fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }
}
