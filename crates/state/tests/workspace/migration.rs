//! Files of older builds.

use bonded_kernel::workspace::Change;
use bonded_state::workspace::{Page, SearchQuery, SearchSort, WorkspaceStore};
use rusqlite::Connection;

use crate::common::{WORKSPACE, World, edit, note_id, world};

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
    let World { store, dir } = world;
    drop(store);
    let file = dir.path().join("workspace.db");
    let connection = Connection::open(&file).expect("the file opens");
    connection
        .execute_batch(BACK_TO_FORMAT_1)
        .expect("it is taken back");
    drop(connection);
    let store = WorkspaceStore::open_existing(&file).expect("it is brought to this format");
    assert_eq!(
        titles(&store, "heron", None).await,
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
        assert_eq!(titles(&store, text, kind).await, expected, "{text}");
    }
    let world = World { store, dir };
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
