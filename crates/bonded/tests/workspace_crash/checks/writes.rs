//! Every acknowledged write is there, once, and everything that is there follows from the events.

use std::collections::BTreeMap;

use bonded_workspace_rules::{Note, StoredEvent, apply};

use crate::notes::Kept;
use crate::remains::Remains;

/// Gives how many writes there were.
pub(super) fn check(remains: &Remains) -> usize {
    for events in remains.events.values() {
        let seqs: Vec<u64> = events.iter().map(|it| it.event_seq).collect();
        let wanted: Vec<u64> = (1..=seqs.len() as u64).collect();
        assert_eq!(seqs, wanted, "the events are numbered without a gap");
    }
    let history = History::of(remains);
    check_fold(remains, &history);
    check_acknowledged(remains, &history);
    let refused = remains.told.iter().flat_map(|it| &it.refused);
    for key in refused {
        assert_eq!(remains.left.get(key), None, "{key} was refused");
    }
    remains.told.iter().map(|it| it.writes.len()).sum()
}

/// Every version of every note, as the events give it.
pub(super) struct History(BTreeMap<(String, u64), Note>);

impl History {
    pub(super) fn of(remains: &Remains) -> Self {
        let mut now: BTreeMap<String, Option<Note>> = BTreeMap::new();
        let mut all = BTreeMap::new();
        for event in remains.events.values().flatten() {
            let Some(id) = event.note_id else { continue };
            let note = now.entry(id.to_string()).or_default();
            apply(note, event);
            let note = note.clone().expect("a note begins with its creation");
            let before = all.insert((id.to_string(), note.version), note);
            assert_eq!(before, None, "a version was made twice: {event:?}");
        }
        Self(all)
    }

    /// The note that an event is about, after it.
    pub(super) fn after(&self, event: &StoredEvent) -> Option<&Note> {
        let place = (event.note_id?.to_string(), event.version?);
        self.0.get(&place)
    }
}

fn kept(note: &Note) -> Kept {
    Kept {
        id: note.note_id.to_string(),
        version: note.version,
        title: note.title.clone(),
        markdown: note.markdown.to_string(),
        is_deleted: note.deleted_at.is_some(),
    }
}

/// The notes that the server shows are the fold of their events.
fn check_fold(remains: &Remains, history: &History) {
    let mut folded = BTreeMap::new();
    // Versions come in order, so that the last of each note stays.
    for ((id, _), note) in &history.0 {
        let metadata = serde_json::json!(note.metadata);
        folded.insert(id.clone(), (kept(note), metadata));
    }
    assert_eq!(folded, remains.notes);
}

fn check_acknowledged(remains: &Remains, history: &History) {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, told) in remains.told.iter().flat_map(|it| &it.writes) {
        let found = history.0.get(&(told.id.clone(), told.version)).map(kept);
        assert_eq!(found.as_ref(), Some(told), "{key} was acknowledged");
        assert_eq!(remains.left.get(key), Some(&1), "{key} left one event");
        last.insert(&told.id, told.version);
    }
    let by_agents = |id: &str| {
        let (_, metadata) = &remains.notes[id];
        metadata.get("created_by_agent").is_some()
    };
    for (id, (note, _)) in &remains.notes {
        match last.get(id.as_str()) {
            Some(version) => assert_eq!(note.version, *version, "{note:?}"),
            None => assert!(by_agents(id), "nobody made {note:?}"),
        }
    }
}
