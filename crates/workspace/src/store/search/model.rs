//! The order of a search beside a model of it that reads everything.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{
    Actor, Chain, Change, NewNote, Note, NoteEdit, NoteWrite, headings_and_body,
};
use proptest::prelude::*;
use tempfile::TempDir;

use super::super::cost::WORKSPACE;
use super::super::{Page, WorkspaceStore, Write, WriteOutcome};
use super::{Bounds, SearchQuery, SearchSort, search};

const BOUNDS: Bounds = Bounds {
    listed_max: 8,
    ranked_max: 4,
    telling_max: 5,
};

/// What is done to one of a few notes, by a clock that may go backwards.
#[derive(Clone, Debug)]
struct Act {
    note: u8,
    at: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Makes the note, or writes it anew: title, heading, body and kind.
    Say([String; 3], &'static str),
    SetMetadata,
    Delete,
    Undelete,
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["heron", "pond", "reed", "moss"]);
    prop::collection::vec(word, 0..4).prop_map(|words| words.join(" "))
}

fn act() -> impl Strategy<Value = Act> {
    let kind = prop::sample::select(vec!["note", "field_note"]);
    let what = prop_oneof![
        8 => ([words(), words(), words()], kind).prop_map(|(texts, kind)| What::Say(texts, kind)),
        1 => Just(What::SetMetadata),
        1 => Just(What::Delete),
        1 => Just(What::Undelete),
    ];
    (0_u8..14, 0_u64..4, what).prop_map(|(note, at, what)| Act { note, at, what })
}

/// The notes as they are, and in which order they were written last.
#[derive(Default)]
struct Model {
    notes: BTreeMap<NoteId, (usize, Note)>,
    writes: usize,
}

impl Model {
    async fn make(&mut self, store: &WorkspaceStore, act: &Act) {
        let write = Write {
            actor: Actor::System,
            at: Millis(1_700_000_000_000 + act.at),
            request_id: "test".into(),
            key: None,
            chain: Chain::default(),
            change: self.change(act),
        };
        // What does not fit, as to delete what is deleted, changes nothing.
        let Ok(written) = store.write(write).await else {
            return;
        };
        if let (WriteOutcome::Note(note), false) = (written.outcome, written.events.is_empty()) {
            self.writes += 1;
            self.notes.insert(note.note_id, (self.writes, *note));
        }
    }

    fn change(&self, act: &Act) -> Change {
        let note_id = NoteId::derived(&[&[act.note]]);
        let known = self.notes.get(&note_id).map(|(_, note)| note.version);
        let base_version = None;
        match &act.what {
            What::Say([title, heading, body], kind) => {
                let title = Some(format!("t {title}"));
                let markdown = format!("# {heading}\n\n{body}");
                revised(note_id, known, title, &markdown, kind)
            }
            What::SetMetadata => Change::SetMetadata {
                note_id,
                base_version,
                key: "k".into(),
                value: act.at.into(),
            },
            What::Delete => Change::DeleteNote {
                note_id,
                base_version,
            },
            What::Undelete => Change::UndeleteNote {
                note_id,
                base_version,
            },
        }
    }

    /// How many notes hold the word.
    fn count(&self, word: &str) -> usize {
        let all = self.notes.values();
        all.filter(|(_, note)| note.deleted_at.is_none() && is_in(&everything(note), &[word]))
            .count()
    }

    /// The notes that match, those that were written last first.
    fn matching(&self, query: &SearchQuery, words: &[&str]) -> Vec<&Note> {
        let is_asked = |note: &Note| match &query.note_kind {
            Some(kind) => *kind == note.note_kind,
            None => true,
        };
        let mut found: Vec<&(usize, Note)> = self
            .notes
            .values()
            .filter(|(_, note)| note.deleted_at.is_none() && is_asked(note))
            .filter(|(_, note)| is_in(&everything(note), words))
            .collect();
        found.sort_by_key(|(written, _)| Reverse(*written));
        found.into_iter().map(|(_, note)| note).collect()
    }

    /// What the search must list.
    fn listed(&self, query: &SearchQuery, scores: &BTreeMap<NoteId, f64>) -> Vec<NoteId> {
        let words: Vec<&str> = query.query.split(' ').collect();
        let mut found = self.matching(query, &words);
        let are_few = found.len() <= BOUNDS.ranked_max;
        match query.sort {
            SearchSort::Relevance if are_few && !scores.is_empty() => {
                found.sort_by_key(|note| (Reverse(note.updated_at), note.note_id));
                found.sort_by(|a, b| scores[&b.note_id].total_cmp(&scores[&a.note_id]));
            }
            SearchSort::Relevance => found.sort_by_key(|note| part(note, &words)),
            SearchSort::Updated if are_few => {
                found.sort_by_key(|note| (Reverse(note.updated_at), note.note_id));
            }
            SearchSort::Updated => {}
        }
        found.truncate(BOUNDS.listed_max);
        found.into_iter().map(|note| note.note_id).collect()
    }

    /// The rank of every note by the words that are in few notes, as FTS5 sees it.
    async fn scores(&self, store: &WorkspaceStore, query: &str) -> BTreeMap<NoteId, f64> {
        let words = query.split(' ');
        let telling: Vec<&str> = words
            .filter(|word| self.count(word) <= BOUNDS.telling_max)
            .collect();
        let expression = telling.join(" AND ");
        if expression.is_empty() {
            return BTreeMap::new();
        }
        let read = store.read(move |connection| {
            let sql = "SELECT note.id, -bm25(words, 2.0, 1.5, 1.0, 1.0) FROM words \
                       JOIN note ON note.written = words.rowid & 0xffffffff WHERE words MATCH ?1";
            super::rows::all(connection, sql, [expression], |row| {
                Ok((NoteId::from_bytes(row.get(0)?), row.get(1)?))
            })
        });
        read.await.expect("it reads").into_iter().collect()
    }
}

fn revised(
    note_id: NoteId,
    known: Option<u64>,
    title: Option<String>,
    markdown: &str,
    kind: &str,
) -> Change {
    let note_kind = Some(kind.to_owned());
    let Some(base_version) = known else {
        return Change::CreateNote(NewNote {
            note_id,
            workspace_id: WORKSPACE,
            title,
            markdown: markdown.into(),
            note_kind,
            access_scope: Default::default(),
            keywords: vec![],
            metadata: Default::default(),
        });
    };
    Change::UpdateNote(NoteWrite {
        note_id,
        base_version,
        edit: NoteEdit {
            title,
            markdown: Some(markdown.into()),
            note_kind,
            ..NoteEdit::default()
        },
    })
}

fn everything(note: &Note) -> String {
    format!("{}\n{}", note.title, note.markdown.as_str())
}

fn is_in(text: &str, words: &[&str]) -> bool {
    words
        .iter()
        .all(|word| text.split_whitespace().any(|other| other == *word))
}

/// 0 where all words stand in the title, 1 where they stand in headings.
fn part(note: &Note, words: &[&str]) -> u8 {
    let (headings, _) = headings_and_body(&note.markdown);
    match (is_in(&note.title, words), is_in(&headings, words)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

/// All pages of a search, one after the other, and what it says is on them.
async fn paged(store: &WorkspaceStore, query: &SearchQuery, limit: u64) -> (Vec<NoteId>, usize) {
    let (mut paged, mut total, mut offset) = (Vec::new(), 0, 0);
    loop {
        let page = Page { limit, offset };
        let query = SearchQuery {
            page,
            ..query.clone()
        };
        let found = store.read(move |connection| search(connection, &query, BOUNDS));
        let found = found.await.expect("it searches");
        total = total.max(found.total as usize);
        if found.hits.is_empty() {
            return (paged, total);
        }
        paged.extend(found.hits.into_iter().map(|hit| hit.note.note_id));
        offset += limit;
    }
}

async fn check(acts: Vec<Act>, text: &str, kind: Option<&str>, limit: u64) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let store = super::super::cost::filled(&dir, 0).await;
    let mut model = Model::default();
    for act in &acts {
        model.make(&store, act).await;
    }
    let scores = model.scores(&store, text).await;
    for sort in [SearchSort::Relevance, SearchSort::Updated] {
        let query = SearchQuery {
            workspace: WORKSPACE,
            query: text.into(),
            note_kind: kind.map(Into::into),
            sort,
            page: Page::default(),
        };
        let expected = model.listed(&query, &scores);
        let (paged, total) = paged(&store, &query, limit).await;
        assert_eq!((total, &paged), (expected.len(), &expected), "{query:?}");
    }
}

#[test]
fn a_search_lists_what_the_rule_says_on_every_page() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("it starts");
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    };
    let queries = vec![
        "heron",
        "pond",
        "heron pond",
        "moss reed heron",
        "reed reed",
    ];
    let kinds = vec![None, Some("note"), Some("field_note"), Some("field")];
    proptest!(config, |(
        acts in prop::collection::vec(act(), 0..40),
        text in prop::sample::select(queries),
        kind in prop::sample::select(kinds),
        limit in 1_u64..6,
    )| {
        runtime.block_on(check(acts, text, kind, limit));
    });
}
