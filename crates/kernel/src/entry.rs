//! Entries: events as stored, each bound to the one before by its hash.
//!
//! The hash covers the header, the body and the hash before. So whoever holds the last hash of a log holds all of it: a line
//! that was changed, taken out or put in somewhere breaks every hash after it.

use std::sync::Arc;

use crate::blob::Blob;
use crate::event::{Event, FORMAT};
use crate::hash::Hash;
use crate::id::{GoalId, RunId};
use crate::time::Millis;
use crate::tool::{BadCatalog, Catalog};

/// How far a log goes: the sequence number and the hash of its last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Counted from 1; 0 where the log is empty.
    pub seq: u64,
    /// What the next entry is bound to.
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
    /// The version of the log's format that the build spoke which wrote the entry; see [`FORMAT`].
    pub format: u16,
    /// The run whose log it stands in.
    pub run: RunId,
    /// What the run was asked for, so that a store finds all runs of one goal.
    pub goal: GoalId,
    /// Counted from 1, without a gap.
    pub seq: u64,
    /// When the step was made; never earlier than the entry before.
    pub at: Millis,
    /// The turn that it belongs to, 0 before the first.
    pub turn: u32,
    /// The hash of the entry before.
    pub prev: Hash,
    /// Over `prev` and everything else here.
    pub hash: Hash,
    /// The event as JSON, byte for byte as stored.
    pub body: Arc<[u8]>,
    /// The same as `body`, read, with its texts and images fetched from their blobs.
    pub event: Event,
}

/// Everything of an entry but its event: what the hash covers besides the body.
#[derive(Clone, Debug)]
pub struct Header {
    /// See [`Entry::format`].
    pub format: u16,
    /// See [`Entry::run`].
    pub run: RunId,
    /// See [`Entry::goal`].
    pub goal: GoalId,
    /// See [`Entry::seq`].
    pub seq: u64,
    /// See [`Entry::at`].
    pub at: Millis,
    /// See [`Entry::turn`].
    pub turn: u32,
    /// See [`Entry::prev`].
    pub prev: Hash,
}

/// Why stored bytes are not an entry that this build can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// A newer build wrote it; it is not guessed at.
    #[error("entry {seq} has format {found}, this build reads up to {FORMAT}")]
    NewerFormat {
        /// The sequence number of the entry.
        seq: u64,
        /// The format that it says it has.
        found: u16,
    },
    /// Somebody changed the log, or the disk did.
    #[error(
        "entry {seq}, or one of its step before it, was changed: the hash is not that of the content"
    )]
    BrokenChain {
        /// The sequence number of the entry whose hash does not fit.
        seq: u64,
    },
    /// A text or an image of it lies in a blob that the store does not have.
    #[error("entry {seq} refers to blob {blob}, which is missing or changed")]
    MissingBlob {
        /// The sequence number of the entry.
        seq: u64,
        /// The hash of the text or the image.
        blob: Hash,
    },
    /// The hash fits, but the body is no event that this build knows.
    #[error("entry {seq} is not readable: {why}")]
    Unreadable {
        /// The sequence number of the entry.
        seq: u64,
        /// What the JSON reader or the catalogue says of it.
        why: String,
    },
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
const BODY_BYTES_EXPECTED: usize = 384;

impl Entry {
    /// Makes the entry of an event that follows `prev`.
    pub(crate) fn seal(header: Header, event: Event) -> Self {
        // Every event has string keys and no failing serializer, so this cannot fail.
        let mut body = Vec::with_capacity(BODY_BYTES_EXPECTED);
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
        mut blob: impl FnMut(&Hash) -> Option<Blob>,
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
        let missing = |blob: Hash| BadEntry::MissingBlob { seq, blob };
        let mut event: Event =
            serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))?;
        for text in event.texts_mut() {
            let Some(reference) = text.blob().filter(|_| !text.is_resolved()) else {
                continue;
            };
            let content = blob(&reference.hash).and_then(Blob::into_text);
            text.resolve(content.ok_or(missing(reference.hash))?);
        }
        for image in event.images_mut() {
            let hash = image.blob().hash;
            image.resolve(blob(&hash).ok_or(missing(hash))?);
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

    /// The head of a log that ends with this entry.
    pub fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }
}
