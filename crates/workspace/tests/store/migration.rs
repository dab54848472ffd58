//! Files of older builds.

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{
    By, IssueState, Page, SearchQuery, SearchSort, UserState, WorkspaceStore,
};
use bonded_workspace_rules::{Change, Issue, NoteEdit, NoteWrite};
use rusqlite::Connection;

use crate::common::{WORKSPACE, World, edit, new_note, note_id, world};

/// What format 7 brought, taken back.
const BACK_TO_FORMAT_6: &str = "
    DROP TRIGGER access_by_user; DROP TRIGGER access_by_deleted_user; DROP TRIGGER access_by_session;
    DROP TRIGGER access_by_ended_session; DROP TRIGGER access_by_token; DROP TRIGGER access_by_deleted_token;
    DROP TRIGGER access_by_new_member; DROP TRIGGER access_by_member; DROP TRIGGER access_by_removed_member;
    DROP TRIGGER access_by_workspace; DROP TRIGGER access_by_deleted_workspace; DROP TABLE access_version;
    PRAGMA user_version = 6;";

/// What format 6 brought, taken back.
const BACK_TO_FORMAT_5: &str = "
    DROP TRIGGER keywords_of_new_note; DROP TRIGGER keywords_of_changed_note; DROP TABLE keyword;
    ALTER TABLE run DROP COLUMN request;
    PRAGMA user_version = 5;";

/// What format 5 brought, taken back.
const BACK_TO_FORMAT_4: &str = "
    DROP TABLE notice_read; DROP TABLE notice; DROP TABLE rule_secret; DROP TABLE attachment;
    DROP INDEX issue_open; ALTER TABLE issue DROP COLUMN closed;
    PRAGMA user_version = 4;";

/// What format 4 brought, taken back.
const BACK_TO_FORMAT_3: &str = "
    DROP TABLE former_title; DROP INDEX run_queued;
    CREATE INDEX run_queued ON run (workspace, key) WHERE status = 'queued';
    PRAGMA user_version = 3;";

/// What format 3 brought, taken back.
const BACK_TO_FORMAT_2: &str = "
    DROP INDEX run_queued; DROP TABLE invitation; DROP INDEX session_of_user; DROP INDEX one_owner;
    ALTER TABLE token DROP COLUMN last_used_at; ALTER TABLE token DROP COLUMN revoked_at;
    ALTER TABLE user DROP COLUMN state;
    PRAGMA user_version = 2;";

/// What format 2 brought, taken back.
const BACK_TO_FORMAT_1: &str = "
    DROP TABLE words; DROP TABLE titles; DROP TABLE headings; DROP TABLE unindexed;
    DROP INDEX note_by_written; ALTER TABLE note DROP COLUMN written;
    CREATE VIRTUAL TABLE words USING fts5 (
        title, headings, body, keywords,
        content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );
    INSERT INTO words (rowid, title, body)
        SELECT (workspace << 32) + key, title, coalesce(text, '') FROM note WHERE deleted_at IS NULL;
    PRAGMA user_version = 1;";

/// Each takes back what one format brought, the newest first.
const BACK: [&str; 6] = [
    BACK_TO_FORMAT_6,
    BACK_TO_FORMAT_5,
    BACK_TO_FORMAT_4,
    BACK_TO_FORMAT_3,
    BACK_TO_FORMAT_2,
    BACK_TO_FORMAT_1,
];

/// The store as a build of a format left it, opened by this one.
fn reopened(world: World, format: usize) -> World {
    let World { store, place } = world;
    drop(store);
    let file = place.file();
    let connection = Connection::open(&file).expect("the file opens");
    for back in &BACK[..7 - format] {
        connection.execute_batch(back).expect("it is taken back");
    }
    drop(connection);
    let store = WorkspaceStore::open_existing(&file).expect("it is brought to this format");
    World { store, place }
}

async fn titles(store: &WorkspaceStore, text: &str, kind: Option<&str>) -> Vec<String> {
    let query = SearchQuery {
        workspace: WORKSPACE,
        query: text.into(),
        note_kind: kind.map(Into::into),
        sort: SearchSort::Relevance,
        page: Page::default(),
    };
    let found = store.search_text(query).await.expect("it searches");
    found.hits.into_iter().map(|hit| hit.note.title).collect()
}

#[tokio::test]
async fn a_file_of_format_1_is_searched_as_it_was() {
    let world = world().await;
    world.add(1, "heron", "# In the reeds\n\nstanding").await;
    world.add(2, "second", "a heron, 東京で会議").await;
    world.add(3, "gone", "a heron").await;
    let long = format!("# Deep heading\n\nheron {}", "water ".repeat(20_000));
    world.add(4, "long", &long).await;
    world
        .write(edit(2, 1, "a heron again, 東京で会議"))
        .await
        .expect("it fits");
    let gone = Change::DeleteNote {
        note_id: note_id(3),
        base_version: None,
    };
    world.write(gone).await.expect("it is deleted");
    let world = reopened(world, 1);
    let store = &world.store;
    assert_eq!(
        titles(store, "heron", None).await,
        ["heron", "second", "long"]
    );
    let table: [(&str, Option<&str>, &[&str]); 6] = [
        ("東京", None, &["second"]),
        ("deep heading", None, &["long"]),
        ("again", Some("note"), &["second"]),
        ("again", Some("template"), &[]),
        ("reeds", None, &["heron"]),
        ("nothing", None, &[]),
    ];
    for (text, kind, expected) in table {
        assert_eq!(titles(store, text, kind).await, expected, "{text}");
    }
    world
        .write(edit(2, 2, "a stork"))
        .await
        .expect("writing goes on");
    assert_eq!(titles(&world.store, "again", None).await, [""; 0]);
    assert_eq!(titles(&world.store, "stork", None).await, ["second"]);
    let back = Change::UndeleteNote {
        note_id: note_id(3),
        base_version: None,
    };
    world.write(back).await.expect("it is back");
    let again = titles(&world.store, "heron", None).await;
    assert!(again.contains(&"gone".to_owned()), "{again:?}");
}

#[tokio::test]
async fn people_and_tokens_of_a_file_of_format_2_are_as_they_were() {
    let world = world().await;
    let now = Millis(1_700_000_000_000);
    let user_id = UserId::from_bytes([9; 16]);
    let store = &world.store;
    store
        .owner(UserId::from_bytes([8; 16]), now)
        .await
        .expect("it is made");
    store
        .add_user(By::Keeper, user_id, "Bob".into(), now)
        .await
        .expect("it is made");
    store
        .set_password(By::Keeper, user_id, "hash".into())
        .await
        .expect("it is set");
    store
        .add_token(By::Keeper, user_id, "token of bob", "laptop".into(), now)
        .await
        .expect("it is kept");
    let world = reopened(world, 2);
    let store = &world.store;
    let found = store.user_by_token("token of bob").await.expect("it reads");
    let found = found.expect("the token is known");
    assert_eq!((found.user_id, found.state), (user_id, UserState::Active));
    assert!(found.has_password);
    let tokens = store.tokens(user_id).await.expect("it reads");
    assert_eq!((tokens.len(), tokens[0].last_used_at), (1, None));
    let owners = store.users().await.expect("it reads");
    assert_eq!(owners.iter().filter(|user| user.is_owner).count(), 1);
}

#[tokio::test]
async fn what_notes_of_a_file_of_format_3_were_called_is_read_from_their_events() {
    let world = world().await;
    world.add(1, "First", "text").await;
    world.add(2, "Other", "see [[first]] and [[Second]]").await;
    for (version, title) in [(1, "Second"), (2, "Third")] {
        let renamed = Change::UpdateNote(NoteWrite {
            note_id: note_id(1),
            base_version: version,
            edit: NoteEdit {
                title: Some(title.into()),
                ..NoteEdit::default()
            },
        });
        world.write(renamed).await.expect("it fits");
    }
    let world = reopened(world, 3);
    let store = &world.store;
    for written in ["first", "SECOND", "Third"] {
        let target = store.link_target(WORKSPACE, written.into()).await;
        assert_eq!(target, Ok(Some(note_id(1))), "{written}");
    }
    let links = store.backlinks(note_id(1)).await.expect("it reads");
    assert_eq!(links.len(), 1);
}

#[tokio::test]
async fn issues_of_a_file_of_format_4_are_open_and_can_be_closed() {
    let world = world().await;
    let issue = Issue {
        key: "look".into(),
        value: "at this".into(),
        metadata: serde_json::Value::Null,
        run_id: None,
    };
    let recorded = Change::RecordIssue {
        workspace_id: WORKSPACE,
        issue,
    };
    world.write(recorded).await.expect("it is recorded");
    let world = reopened(world, 4);
    let listed = async |state| {
        let listed = world.store.listed_issues(WORKSPACE, state, Page::default());
        listed.await.expect("it reads")
    };
    let open = listed(IssueState::Open).await;
    assert_eq!(open.len(), 1);
    let closed = Change::CloseIssue {
        issue_id: open[0].event.event_id,
        reason: Some("done".into()),
    };
    world.write(closed).await.expect("it is closed");
    assert_eq!(listed(IssueState::Open).await.len(), 0);
    let closed = listed(IssueState::Closed).await;
    let reason = closed[0]
        .closed
        .as_ref()
        .and_then(|it| it.reason.as_deref());
    assert_eq!(reason, Some("done"));
}

#[tokio::test]
async fn keywords_of_a_file_of_format_5_are_counted() {
    let world = world().await;
    for (number, keywords) in [(1, ["a", "b"]), (2, ["a", "c"]), (3, ["a", "b"])] {
        let mut note = new_note(number, "title", "text");
        note.keywords = keywords.map(String::from).to_vec();
        let made = world.write(Change::CreateNote(note)).await;
        made.expect("it is made");
    }
    let gone = Change::DeleteNote {
        note_id: note_id(3),
        base_version: None,
    };
    world.write(gone).await.expect("it is deleted");
    let world = reopened(world, 5);
    let counted = world.store.keyword_counts(WORKSPACE).await;
    let expected = [("a", 2), ("b", 1), ("c", 1)].map(|(word, count)| (word.to_owned(), count));
    assert_eq!(counted, Ok(expected.to_vec()));
}
