//! What a run has read of notes. A change is made for the version that was read; what the log says was read before a
//! restart counts too.
//! It prevents a blind overwrite: a reply that asks for a note and changes it at once was written before the note was
//! read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bonded_kernel::{
    Entry, Event, NoteId, Outcome, RECORD_ADD, RECORD_SEARCH, RECORD_UPDATE, ToolFinished,
};
use bonded_workspace_rules::Note;
use serde_json::Value;

/// The versions that a run knows.
#[derive(Debug, Default)]
pub(super) struct SeenNotes(Mutex<BTreeMap<NoteId, KnownVersion>>);

/// The version that is known, and since when.
#[derive(Clone, Copy, Debug)]
struct KnownVersion {
    version: u64,
    /// The loop in which it was shown: what a reply asks for is read by the next one. `None` for what the run wrote.
    shown_in: Option<u32>,
}

impl SeenNotes {
    /// What a note says is before the model from the next loop on.
    pub(super) fn shows(&self, note: &Note, turn: u32) {
        self.add(note.note_id, note.version, Some(turn));
    }

    /// The run wrote this version, and so knows it.
    pub(super) fn wrote(&self, note: &Note) {
        self.add(note.note_id, note.version, None);
    }

    /// A newer version replaces an older one, and has to be read again.
    fn add(&self, note: NoteId, version: u64, shown_in: Option<u32>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.get(&note);
        // Shown again in the same words, it was read before.
        if known.is_none_or(|known| known.version != version) {
            seen.insert(note, KnownVersion { version, shown_in });
        }
    }

    /// The version of a note that was read before this loop.
    pub(super) fn version(&self, note: NoteId, turn: u32) -> Option<u64> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.get(&note);
        let known = known.filter(|it| it.shown_in.is_none_or(|shown_in| shown_in < turn));
        known.map(|it| it.version)
    }

    /// Takes in what the log of the run says was shown and written.
    pub(super) fn recall(&self, entries: &[Entry]) {
        for entry in entries {
            if let Event::ToolFinished(finished) = &entry.event {
                self.recall_one(finished, entry.turn);
            }
        }
    }

    /// Only calls that succeeded count; an answer that cannot be parsed counts as nothing.
    fn recall_one(&self, finished: &ToolFinished, turn: u32) {
        if finished.outcome != Outcome::Ok {
            return;
        }
        let result: Value = serde_json::from_str(&finished.output).unwrap_or_default();
        let named = |note: &Value| -> Option<(NoteId, u64)> {
            let id = note["note_id"].as_str()?.parse().ok()?;
            Some((id, note["version"].as_u64()?))
        };
        match &*finished.tool {
            RECORD_ADD | RECORD_UPDATE => {
                if let Some((note, version)) = named(&result) {
                    self.add(note, version, None);
                }
            }
            RECORD_SEARCH => {
                let found = result["results"].as_array().map_or(&[][..], Vec::as_slice);
                let read = found.iter().filter(|note| note["markdown"].is_string());
                for (note, version) in read.filter_map(named) {
                    self.add(note, version, Some(turn));
                }
            }
            _ => {}
        }
    }
}
