//! Whatever is written: a note is the fold of its events, now and at every version.

use bonded_kernel::folded;
use bonded_workspace::store::{NoteFilter, NoteSort, Page};
use bonded_workspace_rules::{Change, Note, NoteEdit, NoteWrite, PatchOp, StoredEvent, apply};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{WORKSPACE, World, new_note, note_id, world};

/// Something that somebody may do to one of three notes, sensible or not.
#[derive(Clone, Debug)]
enum Deed {
    Create(String, String),
    Retitle(u64, String),
    Rewrite(u64, String),
    Patch(u64, u64, u64, String),
    Keywords(u64, Vec<String>),
    Set(u64, String),
    Unset(u64, String),
    Delete,
    Undelete,
}

fn deed() -> impl Strategy<Value = Deed> {
    // How far behind the note its writer is: mostly not at all.
    let behind = || prop_oneof![8 => Just(0u64), 1 => 1u64..3];
    let text = || prop_oneof!["[a-zé #\\[\\]\n]{0,40}", "[ab]{600,1200}", "(word ){4000}"];
    let key = || prop_oneof!["[a-c]", Just("system.x".to_owned()), Just("Bad".to_owned())];
    prop_oneof![
        2 => ("[A-Ba-b]{0,3}", text()).prop_map(|(title, text)| Deed::Create(title, text)),
        1 => (behind(), "[A-Ba-b]{0,3}").prop_map(|(behind, title)| Deed::Retitle(behind, title)),
        3 => (behind(), text()).prop_map(|(behind, text)| Deed::Rewrite(behind, text)),
        3 => (behind(), 0u64..30, 0u64..30, text())
            .prop_map(|(behind, keep, cut, text)| Deed::Patch(behind, keep, cut, text)),
        1 => (behind(), prop::collection::vec("[a-c]{0,3}", 0..4))
            .prop_map(|(behind, keywords)| Deed::Keywords(behind, keywords)),
        1 => (behind(), key()).prop_map(|(behind, key)| Deed::Set(behind, key)),
        1 => (behind(), key()).prop_map(|(behind, key)| Deed::Unset(behind, key)),
        1 => Just(Deed::Delete),
        1 => Just(Deed::Undelete),
    ]
}

fn change(number: u64, version: u64, deed: Deed) -> Change {
    let base = |behind| version.saturating_sub(behind);
    let edited = |behind, edit| {
        Change::UpdateNote(NoteWrite {
            note_id: note_id(number),
            base_version: base(behind),
            edit,
        })
    };
    let edit = NoteEdit::default();
    let (note_id, base_version) = (note_id(number), Some(version));
    match deed {
        Deed::Create(title, text) => Change::CreateNote(new_note(number, &title, &text)),
        Deed::Retitle(behind, title) => edited(
            behind,
            NoteEdit {
                title: Some(title),
                ..edit
            },
        ),
        Deed::Rewrite(behind, text) => edited(
            behind,
            NoteEdit {
                markdown: Some(text),
                ..edit
            },
        ),
        Deed::Patch(behind, keep, cut, text) => {
            let ops = vec![
                PatchOp::Retain(keep),
                PatchOp::Insert(text),
                PatchOp::Delete(cut),
            ];
            edited(
                behind,
                NoteEdit {
                    patch: Some(ops),
                    ..edit
                },
            )
        }
        Deed::Keywords(behind, keywords) => edited(
            behind,
            NoteEdit {
                keywords: Some(keywords),
                ..edit
            },
        ),
        Deed::Set(behind, key) => Change::SetMetadata {
            note_id,
            base_version: Some(base(behind)),
            key,
            value: json!({ "set": version }),
        },
        Deed::Unset(behind, key) => Change::DeleteMetadata {
            note_id,
            base_version: Some(base(behind)),
            key,
        },
        Deed::Delete => Change::DeleteNote {
            note_id,
            base_version,
        },
        Deed::Undelete => Change::UndeleteNote {
            note_id,
            base_version,
        },
    }
}

/// Every state that a note had, from its events alone.
fn fold(events: &[StoredEvent]) -> Vec<Note> {
    let mut note = None;
    let mut states = Vec::new();
    for event in events {
        apply(&mut note, event);
        states.extend(note.clone());
    }
    states
}

async fn check(world: &World, accepted: u64) {
    let events = world
        .store
        .events(WORKSPACE, 0, usize::MAX)
        .await
        .expect("it reads");
    let seqs: Vec<u64> = events.iter().map(|event| event.event_seq).collect();
    assert_eq!(seqs, (1..=accepted + 2).collect::<Vec<u64>>());
    let mut living = Vec::new();
    for number in 0..3 {
        let id = note_id(number);
        let events = world
            .store
            .events_of_note(id, 0, usize::MAX)
            .await
            .expect("it reads");
        let states = fold(&events);
        let now = world.store.note(id).await.expect("it reads");
        assert_eq!(now.as_ref(), states.last());
        for (state, version) in states.iter().zip(1..) {
            assert_eq!(state.version, version);
            let read = world.store.note_at(id, version).await.expect("it reads");
            assert_eq!(read.as_ref(), Some(state));
        }
        living.extend(now.filter(|note| note.deleted_at.is_none()));
    }
    living.sort_by_key(|note| (folded(&note.title), note.note_id));
    let filter = NoteFilter {
        workspace: WORKSPACE,
        note_kind: None,
        keyword: None,
        folder: None,
        include_deleted: false,
        sort: NoteSort::Title,
        page: Page::default(),
    };
    let listed = world.store.notes(filter).await.expect("it reads");
    let expected: Vec<_> = living.into_iter().map(Into::into).collect();
    assert_eq!(listed, expected);
}

#[test]
fn a_note_is_the_fold_of_its_events_at_every_version() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("it starts");
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24)
    };
    let deeds = prop::collection::vec((0u64..3, deed()), 1..120);
    proptest!(config, |(deeds in deeds)| {
        runtime.block_on(async {
            let world = world().await;
            let mut accepted = 0;
            for (number, deed) in deeds {
                let now = world.store.note(note_id(number)).await.expect("it reads");
                let version = now.map_or(0, |note| note.version);
                if let Ok(written) = world.write(change(number, version, deed)).await {
                    accepted += written.events.len() as u64;
                }
            }
            check(&world, accepted).await;
        });
    });
}
