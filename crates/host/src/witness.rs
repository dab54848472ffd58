//! What is said of a log outside of it, and whether the log agrees.
//!
//! A chain of hashes shows that no entry was changed, and not that none is missing at its end: a log from which whole
//! steps were taken looks like one that was interrupted. Only what was kept elsewhere tells the two apart.

use bonded_kernel::{Hash, Run, RunId, replay, replay_on};
use bonded_state::Store;

use crate::error::HostError;
use crate::load::PART_ENTRIES;

/// What something outside a log says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What says so, for a person to find it.
    pub source: String,
    /// How many entries the log had at least.
    pub entries: Option<u64>,
    /// The hash of the last of them.
    pub hash: Option<Hash>,
    /// Whether that was the end of the run.
    pub is_end: bool,
    /// `None` where nothing was signed, as with a ledger of one's own.
    pub signer: Option<Signer>,
}

/// Who signed what says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// Names the key, for a person to find it.
    pub key_id: String,
    /// Whether somebody vouches for the key: a signature by any other proves nothing but that it is one.
    pub is_known: bool,
}

impl Claim {
    /// Whether a log that agrees was held against something.
    pub fn counts(&self) -> bool {
        self.signer.as_ref().is_none_or(|signer| signer.is_known)
    }
}

/// A log that is whole in itself.
#[derive(Debug)]
pub struct Log {
    /// The run that the log comes to.
    pub run: Run,
    hashes: Vec<Hash>,
}

impl Log {
    /// Reads a run and the hash of each of its entries.
    pub async fn load(store: &dyn Store, id: &RunId) -> Result<Self, HostError> {
        let bad_log = |source| HostError::BadLog {
            run: id.clone(),
            source,
        };
        let mut part = store.load_part(id, 0, PART_ENTRIES).await?;
        let mut run = replay(&part).map_err(bad_log)?;
        let mut hashes: Vec<Hash> = part.iter().map(|entry| entry.hash).collect();
        while part.len() >= PART_ENTRIES {
            part = store.load_part(id, run.head().seq, PART_ENTRIES).await?;
            replay_on(&mut run, &part).map_err(bad_log)?;
            hashes.extend(part.iter().map(|entry| entry.hash));
        }
        Ok(Self { run, hashes })
    }

    /// What is wrong with the log where a claim is true.
    ///
    /// The first one, in words for a person; `None` where the log agrees with the claim.
    pub fn contradiction(&self, claim: &Claim) -> Option<String> {
        let (source, entries) = (&claim.source, self.hashes.len() as u64);
        if let Some(had) = claim.entries.filter(|had| *had > entries) {
            return Some(format!(
                "{source} records entry {had}, but the log has {entries}: its end was cut off"
            ));
        }
        let place = match (claim.hash, claim.entries) {
            (Some(hash), Some(had)) => had.checked_sub(1).filter(|at| self.is_at(*at, hash)),
            (Some(hash), None) => self.hashes.iter().position(|it| *it == hash).map(at),
            (None, _) => Some(claim.entries.unwrap_or(entries).saturating_sub(1)),
        };
        let Some(place) = place else {
            return Some(self.other(claim));
        };
        let is_last = place + 1 == entries || claim.hash.is_none() && claim.entries.is_none();
        match claim.is_end {
            true if self.run.termination().is_none() => Some(format!(
                "{source} says that the run had ended, but the log has no end: it was cut off"
            )),
            true if !is_last => Some(format!(
                "{source} says that the run ended with entry {}, but the log continues",
                place + 1
            )),
            _ => None,
        }
    }

    /// Counted from 0.
    fn is_at(&self, at: u64, hash: Hash) -> bool {
        let at = usize::try_from(at).ok();
        at.and_then(|at| self.hashes.get(at)) == Some(&hash)
    }

    /// The log holds other entries than what a claim names.
    fn other(&self, claim: &Claim) -> String {
        let (source, hash) = (&claim.source, claim.hash.unwrap_or(Hash::ZERO));
        let what = match self.run.termination() {
            Some(_) => "this is a different log",
            None => "its end was cut off, or this is a different log",
        };
        format!("{source} names the head {hash}, which the log does not hold: {what}")
    }
}

fn at(place: usize) -> u64 {
    place as u64
}
