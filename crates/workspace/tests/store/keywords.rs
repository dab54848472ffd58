//! Keywords are counted when notes are written; a recount finds the same.

use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace_rules::{Change, NoteEdit, NoteWrite, Refused};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::common::{WORKSPACE, World, new_note, note, note_id, world};

const OTHER: WorkspaceId = WorkspaceId::from_bytes([7; 16]);
const NOTES: u64 = 6;

/// What happens to a note.
#[derive(Clone, Debug)]
enum Step {
    Create(Vec<String>),
    Keywords(Vec<String>),
    Text,
    Delete,
    Restore,
    /// To the keywords that it had at first.
    RollBack,
    AddKeyword(String),
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-dé]", 0..5)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => words().prop_map(Step::Create),
        3 => words().prop_map(Step::Keywords),
        1 => Just(Step::Text),
        2 => Just(Step::Delete),
        2 => Just(Step::Restore),
        1 => Just(Step::RollBack),
        1 => "[a-d]".prop_map(Step::AddKeyword),
    ]
}

/// The notes as a model has them: at first, now, and whether they are deleted.
#[derive(Default)]
struct Model {
    first: BTreeMap<NoteId, Vec<String>>,
    now: BTreeMap<NoteId, (u64, BTreeSet<String>, bool)>,
}

impl Model {
    /// The change that a step comes to.
    fn change(&self, id: NoteId, number: u64, step: &Step) -> Change {
        let version = self.now.get(&id).map_or(1, |(version, ..)| *version);
        let edit = |edit: NoteEdit| {
            Change::UpdateNote(NoteWrite {
                note_id: id,
                base_version: version,
                edit,
            })
        };
        let keywords = |keywords: &[String]| {
            edit(NoteEdit {
                keywords: Some(keywords.to_vec()),
                ..NoteEdit::default()
            })
        };
        match step {
            Step::Create(words) => {
                let mut note = new_note(number, "title", "text");
                note.keywords.clone_from(words);
                Change::CreateNote(note)
            }
            Step::Keywords(words) => keywords(words),
            Step::Text => edit(NoteEdit {
                markdown: Some(format!("text {version}")),
                ..NoteEdit::default()
            }),
            Step::Delete => Change::DeleteNote {
                note_id: id,
                base_version: None,
            },
            Step::Restore => Change::UndeleteNote {
                note_id: id,
                base_version: None,
            },
            Step::RollBack => keywords(self.first.get(&id).map_or(&[][..], Vec::as_slice)),
            Step::AddKeyword(word) => Change::AddKeyword {
                note_id: id,
                keyword: word.clone(),
            },
        }
    }

    /// The most used first, and then by name.
    fn counted(&self) -> Vec<(String, u64)> {
        let mut counts = BTreeMap::<&str, u64>::new();
        let there = self.now.values().filter(|(.., is_deleted)| !is_deleted);
        for word in there.flat_map(|(_, words, _)| words) {
            *counts.entry(word).or_default() += 1;
        }
        let counts = counts.into_iter();
        let mut counts: Vec<_> = counts
            .map(|(word, count)| (word.to_owned(), count))
            .collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts
    }
}

async fn take(world: &World, model: &mut Model, number: u64, step: &Step) {
    let id = note_id(number);
    let change = model.change(id, number, step);
    match world.write(change).await {
        Ok(written) => {
            let note = note(written);
            if note.version == 1 {
                model.first.insert(id, note.keywords.clone());
            }
            let words = note.keywords.into_iter().collect();
            let now = (note.version, words, note.deleted_at.is_some());
            model.now.insert(id, now);
        }
        // Such as a note that is not there, or that is there already.
        Err(Refused::NoteNotFound { .. } | Refused::BadRequest { .. }) => {}
        Err(refused) => panic!("{step:?}: {refused}"),
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    #[test]
    fn counts_of_keywords_equal_a_recount_after_any_writes(
        steps in prop::collection::vec((0..NOTES, step()), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let world = world().await;
            let name = "other".into();
            let other = Change::CreateWorkspace { workspace_id: OTHER, name };
            world.write(other).await.expect("it is made");
            let mut elsewhere = new_note(99, "title", "text");
            elsewhere.workspace_id = OTHER;
            elsewhere.keywords = vec!["a".into()];
            world.write(Change::CreateNote(elsewhere)).await.expect("it is made");
            let mut model = Model::default();
            for (number, step) in &steps {
                take(&world, &mut model, *number, step).await;
                let counted = world.store.keyword_counts(WORKSPACE).await;
                assert_eq!(counted, Ok(model.counted()), "after {step:?}");
            }
            let counted = world.store.keyword_counts(OTHER).await;
            assert_eq!(counted, Ok(vec![("a".to_owned(), 1)]));
        });
    }
}
