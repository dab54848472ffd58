//! What only a server has: several processes that write, and roles.

use bonded_kernel::NoteId;
use bonded_workspace::store::{WorkspaceStore, WriteOutcome};
use bonded_workspace_rules::Change;
use futures_util::future::join_all;

use crate::common::{OWNER, WORKSPACE, by, edit, keyed, new_note, note_id, world};

#[tokio::test]
async fn events_of_several_processes_are_numbered_without_gap() {
    let world = world().await;
    let processes: Vec<WorkspaceStore> = (0..4).map(|_| world.place.open()).collect();
    let write = |number: u64| {
        let store = &processes[number as usize % processes.len()];
        let title = format!("note {number}");
        let new = new_note(number, &title, "text");
        store.write(by(OWNER, Change::CreateNote(new)))
    };
    let written = join_all((0..80).map(write)).await;
    assert!(written.iter().all(Result::is_ok), "{written:?}");
    let events = world
        .store
        .events(WORKSPACE, 0, 1000)
        .await
        .expect("it reads");
    let seqs: Vec<u64> = events.iter().map(|event| event.event_seq).collect();
    assert_eq!(seqs, (1..=82).collect::<Vec<u64>>());
    let all = world.store.events_all(0, 1000).await.expect("it reads");
    let rows: Vec<u64> = all.iter().map(|(row, _)| *row).collect();
    assert_eq!(rows, (1..=82).collect::<Vec<u64>>());
}

#[tokio::test]
async fn of_several_processes_that_write_the_same_version_one_does() {
    let world = world().await;
    world.add(1, "first", "text").await;
    let processes: Vec<WorkspaceStore> = (0..4).map(|_| world.place.open()).collect();
    let write = |number: usize| {
        let text = format!("by {number}");
        processes[number].write(by(OWNER, edit(1, 1, &text)))
    };
    let written = join_all((0..4).map(write)).await;
    assert_eq!(
        written.iter().filter(|it| it.is_ok()).count(),
        1,
        "{written:?}"
    );
    let refused = written.iter().filter_map(|it| it.as_ref().err()?.refused());
    assert!(
        refused
            .clone()
            .all(|it| it.code().as_str() == "VERSION_CONFLICT")
    );
    assert_eq!(refused.count(), 3);
}

#[tokio::test]
async fn a_write_that_several_processes_are_asked_for_with_one_key_is_made_once() {
    let world = world().await;
    let processes: Vec<WorkspaceStore> = (0..4).map(|_| world.place.open()).collect();
    let write = |number: usize| {
        let new = new_note(number as u64, "made once", "text");
        processes[number].write(keyed("the key", Change::CreateNote(new)))
    };
    let written = join_all((0..4).map(write)).await;
    let ids: Vec<NoteId> = written
        .into_iter()
        .map(|written| match written.expect("it is answered").outcome {
            WriteOutcome::Note(note) => note.note_id,
            other => panic!("no note: {other:?}"),
        })
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let events = world.store.last_event_seq(WORKSPACE).await;
    assert_eq!(events, Ok(3));
}

#[tokio::test]
async fn texts_with_every_character_come_back_as_they_were() {
    let world = world().await;
    let text = "a NUL \0, what stands for it \u{1}0, and \\u0000 \u{1}1\u{1}";
    world.add(1, "odd", text).await;
    let change = Change::SetMetadata {
        note_id: note_id(1),
        base_version: None,
        key: "k".into(),
        value: text.into(),
    };
    world.write(change).await.expect("it is written");
    let note = world.store.note(note_id(1)).await.expect("it reads");
    let note = note.expect("it is there");
    assert_eq!(note.markdown.as_str(), text);
    assert_eq!(note.metadata.get("k"), Some(&text.into()));
    let listed = world.store.notes(bonded_workspace::store::NoteFilter {
        workspace: WORKSPACE,
        note_kind: None,
        keyword: Some("none".into()),
        folder: Some("none".into()),
        include_deleted: false,
        sort: Default::default(),
        page: Default::default(),
    });
    assert_eq!(listed.await, Ok(vec![]));
}

#[tokio::test]
async fn what_happened_cannot_be_changed_or_taken_away() {
    let world = world().await;
    world.add(1, "first", &"long ".repeat(1000)).await;
    let table = [
        "UPDATE bonded_workspace.event SET body = ''",
        "DELETE FROM bonded_workspace.event",
        "TRUNCATE bonded_workspace.event CASCADE",
        "UPDATE bonded_workspace.blob SET packed = 0",
        "DELETE FROM bonded_workspace.blob",
    ];
    for sql in table {
        for (role, why) in [
            ("bonded_app", "permission denied"),
            ("owner", "append-only"),
        ] {
            let attempt = format!(
                "DO $do$ BEGIN SET LOCAL ROLE {role}; {sql}; RAISE EXCEPTION 'it was done'; \
                 EXCEPTION WHEN OTHERS THEN CREATE TEMP TABLE said AS SELECT SQLERRM AS text; END $do$; SELECT text FROM said"
            );
            if let Some(said) = world.place.sql(&attempt) {
                assert!(said.contains(why), "{role}: {sql}: {said}");
            }
        }
    }
}
