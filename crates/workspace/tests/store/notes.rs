//! Notes: versions, history, streams, keys.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{NoteFilter, NoteSort, Page};
use bonded_workspace_rules::{Change, NoteEdit, NoteWrite, PatchOp, Role};

use crate::common::{OWNER, WORKSPACE, by, edit, keyed, new_note, note, note_id, world};

#[tokio::test]
async fn a_note_is_readable_at_every_version_it_had() {
    let world = world().await;
    let texts = ["short".to_owned(), "long ".repeat(1000), "x".repeat(40_000)];
    world.add(1, "first", "start").await;
    for version in 1..200 {
        let text = format!("{version} {}", texts[version as usize % 3]);
        let change = edit(1, version, &text);
        world.write(change).await.expect("the version is right");
    }
    for version in [1, 2, 63, 64, 65, 128, 199, 200] {
        let found = world.store.note_at(note_id(1), version).await;
        let found = found.expect("the store works").expect("it had the version");
        let expected = match version {
            1 => "start".to_owned(),
            _ => format!("{} {}", version - 1, texts[(version as usize - 1) % 3]),
        };
        assert_eq!(
            (found.version, found.markdown.as_str()),
            (version, expected.as_str())
        );
    }
    let beyond = world.store.note_at(note_id(1), 201).await;
    assert_eq!(beyond.expect("the store works"), None);
    let page = Page {
        limit: 3,
        offset: 1,
    };
    let history = world
        .store
        .history(note_id(1), page)
        .await
        .expect("it reads");
    let versions: Vec<_> = history.iter().map(|event| event.version).collect();
    assert_eq!(versions, [Some(199), Some(198), Some(197)]);
}

#[tokio::test]
async fn an_untitled_note_has_the_clock_as_its_title() {
    let world = world().await;
    let mut new = new_note(1, "", "text");
    new.title = None;
    let written = world.write(Change::CreateNote(new)).await;
    let made = note(written.expect("it is made"));
    assert_eq!(made.title, "2023-11-14 22:13:20");
    let read = world.store.note(made.note_id).await.expect("it reads");
    assert_eq!(read, Some(made));
}

#[tokio::test]
async fn a_write_for_another_version_changes_nothing_and_names_the_current_one() {
    let world = world().await;
    world.add(1, "first", "one").await;
    world.write(edit(1, 1, "two")).await.expect("it fits");
    for base in [0, 1, 3, u64::MAX] {
        let refused = world.write(edit(1, base, "three")).await;
        let refused = refused.expect_err("the version is wrong");
        assert_eq!(refused.code().as_str(), "VERSION_CONFLICT");
        assert_eq!(refused.details()["expected_version"], base);
        assert_eq!(refused.details()["current_version"], 2);
    }
    let read = world.store.note(note_id(1)).await.expect("it reads");
    assert_eq!(read.expect("it is there").markdown.as_str(), "two");
    assert_eq!(
        world
            .store
            .last_event_seq(WORKSPACE)
            .await
            .expect("it reads"),
        4
    );
}

#[tokio::test]
async fn a_patch_is_applied_to_the_version_it_was_made_for() {
    let world = world().await;
    world.add(1, "first", "héllo world").await;
    let patch = vec![
        PatchOp::Retain(5),
        PatchOp::Delete(6),
        PatchOp::Insert("!".into()),
    ];
    let change = |base_version, patch| {
        Change::UpdateNote(NoteWrite {
            note_id: note_id(1),
            base_version,
            edit: NoteEdit {
                patch: Some(patch),
                ..NoteEdit::default()
            },
        })
    };
    let written = world.write(change(1, patch)).await.expect("it fits");
    assert_eq!(note(written).markdown.as_str(), "héllo!");
    let refused = world.write(change(2, vec![PatchOp::Delete(7)])).await;
    assert_eq!(
        refused.expect_err("it is too long").code().as_str(),
        "INVALID_PATCH"
    );
}

#[tokio::test]
async fn a_repeated_key_gives_the_first_answer_and_writes_once() {
    let world = world().await;
    let first = world
        .send(keyed("k1", Change::CreateNote(new_note(1, "one", "text"))))
        .await
        .expect("it is made");
    // Whoever asks again draws another id.
    let again = keyed("k1", Change::CreateNote(new_note(2, "one", "text")));
    world.write(edit(1, 1, "changed")).await.expect("it fits");
    let second = world.send(again).await.expect("it is answered");
    assert!(!first.replayed && second.replayed);
    assert_eq!(
        (&first.events, &first.outcome),
        (&second.events, &second.outcome)
    );
    assert_eq!(world.store.note(note_id(2)).await.expect("it reads"), None);
    let other = keyed("k1", Change::CreateNote(new_note(3, "one", "other text")));
    let refused = world.send(other).await.expect_err("the key is taken");
    assert_eq!(refused.code().as_str(), "BAD_REQUEST");
    // A day later the key is still known; after the time that it is kept it is not, once others come.
    let later = |key: &str, hours: u64| {
        let mut write = keyed(key, Change::CreateNote(new_note(4, "one", "text")));
        write.at = Millis(write.at.0 + hours * 3_600_000);
        write
    };
    assert!(
        world
            .send(later("k1", 24))
            .await
            .expect("it is answered")
            .replayed
    );
    let mut other = later("k2", 49);
    other.change = Change::CreateNote(new_note(5, "two", "text"));
    world.send(other).await.expect("it is made");
    assert!(
        !world
            .send(later("k1", 49))
            .await
            .expect("it is made")
            .replayed
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_writers_for_one_version_exactly_one_wins() {
    let world = Arc::new(world().await);
    world.add(1, "counter", "0").await;
    let mut writers = Vec::new();
    for writer in 0..8 {
        let world = world.clone();
        writers.push(tokio::spawn(async move {
            let mut won = 0;
            while won < 20 {
                let now = world.store.note(note_id(1)).await.expect("it reads");
                let now = now.expect("it is there");
                let text = format!("{}{writer}", now.markdown);
                match world.write(edit(1, now.version, &text)).await {
                    Ok(_) => won += 1,
                    Err(refused) => assert_eq!(refused.code().as_str(), "VERSION_CONFLICT"),
                }
            }
        }));
    }
    for writer in writers {
        writer.await.expect("no writer panics");
    }
    let last = world.store.note(note_id(1)).await.expect("it reads");
    let last = last.expect("it is there");
    assert_eq!(last.version, 161);
    for writer in '0'..='7' {
        let count = last.markdown[1..].matches(writer).count();
        assert_eq!(count, 20, "a write of {writer} was lost");
    }
}

#[tokio::test]
async fn a_deleted_note_is_gone_from_lists_until_it_is_undeleted() {
    let world = world().await;
    world.add(1, "first", "one").await;
    world.add(2, "second", "two").await;
    let deleted = Change::DeleteNote {
        note_id: note_id(1),
        base_version: Some(1),
    };
    world.write(deleted.clone()).await.expect("it is deleted");
    let filter = |include_deleted| NoteFilter {
        workspace: WORKSPACE,
        note_kind: None,
        keyword: None,
        folder: None,
        include_deleted,
        sort: NoteSort::Title,
        page: Page::default(),
    };
    let titles = async |include| -> Vec<String> {
        let notes = world.store.notes(filter(include)).await.expect("it reads");
        notes.into_iter().map(|note| note.title).collect()
    };
    assert_eq!(titles(false).await, ["second"]);
    assert_eq!(titles(true).await, ["first", "second"]);
    for change in [edit(1, 2, "x"), deleted] {
        let refused = world.write(change).await.expect_err("it is deleted");
        assert_eq!(refused.code().as_str(), "NOTE_NOT_FOUND");
    }
    let back = Change::UndeleteNote {
        note_id: note_id(1),
        base_version: Some(2),
    };
    let back = note(world.write(back).await.expect("it comes back"));
    assert_eq!((back.version, back.deleted_at), (3, None));
    assert_eq!(titles(false).await, ["first", "second"]);
}

#[tokio::test]
async fn what_somebody_may_not_do_is_refused_at_the_commit() {
    let world = world().await;
    let viewer = world.member(10, Role::Viewer).await;
    let editor = world.member(11, Role::Editor).await;
    let stranger = UserId::from_bytes([12; 16]);
    let make = || Change::CreateNote(new_note(1, "t", "m"));
    let invite = || Change::SetMember {
        workspace_id: WORKSPACE,
        user_id: stranger,
        role: Role::Viewer,
    };
    let table = [
        (viewer, make(), Some("ROLE_FORBIDDEN")),
        (stranger, make(), Some("WORKSPACE_FORBIDDEN")),
        (editor, invite(), Some("ROLE_FORBIDDEN")),
        (editor, make(), None),
        (OWNER, invite(), None),
    ];
    for (user, change, code) in table {
        let result = world.send(by(user, change.clone())).await;
        let found = result.err().map(|refused| refused.code().as_str());
        assert_eq!(found, code, "{user} {change:?}");
    }
    let gone = Change::RemoveMember {
        workspace_id: WORKSPACE,
        user_id: editor,
    };
    world.write(gone).await.expect("it is removed");
    let late = world.send(by(editor, edit(1, 1, "late"))).await;
    assert_eq!(
        late.expect_err("no member").code().as_str(),
        "WORKSPACE_FORBIDDEN"
    );
    let last = Change::RemoveMember {
        workspace_id: WORKSPACE,
        user_id: OWNER,
    };
    let refused = world.write(last).await.expect_err("the last owner stays");
    assert_eq!(refused.code().as_str(), "BAD_REQUEST");
}

#[tokio::test]
async fn a_stream_is_read_without_gap_and_wakes_those_who_wait() {
    let world = world().await;
    let other = world.place.open();
    for number in 1..=20 {
        world.add(number, &format!("note {number}"), "text").await;
    }
    let mut seen: Vec<u64> = Vec::new();
    loop {
        let after = seen.last().copied().unwrap_or(0);
        let events = world.store.events(WORKSPACE, after, 3).await;
        let events = events.expect("it reads");
        if events.is_empty() {
            break;
        }
        seen.extend(events.iter().map(|event| event.event_seq));
    }
    assert_eq!(seen, (1..=22).collect::<Vec<u64>>());
    let waiting = other.changed(WORKSPACE, 22);
    let waiting_any = other.changed_any(22);
    let writing = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        world.add(21, "last", "text").await;
    };
    let all = async { tokio::join!(waiting, waiting_any, writing) };
    let done = tokio::time::timeout(Duration::from_secs(5), all).await;
    let (one, any, ()) = done.expect("a write of another process is seen");
    assert_eq!((one, any), (Ok(()), Ok(())));
}

#[tokio::test]
async fn links_lead_to_the_exact_title_then_any_case_then_the_id() {
    let world = world().await;
    let by_id = note_id(3).to_string();
    world.add(1, "Plan", "no link").await;
    world.add(2, "plan", "no link").await;
    world.add(3, "Other", "no link").await;
    let text = format!(
        "[[Plan]] and [[PLAN|shown]] and [[{by_id}]] but not `[[plan]]`\n```\n[[plan]]\n```\n"
    );
    world.add(4, "source", &text).await;
    let titles = async |number| -> Vec<String> {
        let found = world.store.backlinks(note_id(number)).await;
        found
            .expect("it reads")
            .into_iter()
            .map(|note| note.title)
            .collect()
    };
    assert_eq!(titles(1).await, ["source"]);
    assert_eq!(titles(2).await, Vec::<String>::new());
    assert_eq!(titles(3).await, ["source"]);
    world.write(edit(4, 1, "[[plan]]")).await.expect("it fits");
    assert_eq!(titles(1).await, Vec::<String>::new());
    assert_eq!(titles(2).await, ["source"]);
}
