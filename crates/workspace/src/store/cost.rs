//! What reading costs, measured in steps of SQLite's machine: they are the same on every computer.

use bonded_kernel::{EventId, Millis, NoteId, RuleId, UserId, WorkspaceId};
use bonded_workspace_rules::{Actor, Chain, Change, NewNote};
use tempfile::TempDir;

use super::rows::steps;
use super::{
    NoteFilter, NoteSort, Page, RunFilter, SearchQuery, SearchSort, WorkspaceStore, Write,
};

pub(super) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([1; 16]);

fn note_id(number: u64) -> NoteId {
    NoteId::derived(&[&number.to_le_bytes()])
}

async fn write(store: &WorkspaceStore, change: Change) {
    let write = Write {
        actor: Actor::System,
        at: Millis(1_700_000_000_000),
        request_id: "test".into(),
        key: None,
        chain: Chain::default(),
        change,
    };
    store.write(write).await.expect("it is written");
}

/// A store with so many notes, every hundredth of which is about herons, and each of which links to the one before.
pub(super) async fn filled(dir: &TempDir, notes: u64) -> WorkspaceStore {
    let store = WorkspaceStore::open(&dir.path().join(notes.to_string())).expect("it opens");
    let workspace = Change::CreateWorkspace {
        workspace_id: WORKSPACE,
        name: "home".into(),
    };
    write(&store, workspace).await;
    let mut writes = Vec::new();
    for number in 0..notes {
        let about = if number % 100 == 7 && number < 1000 {
            "heron"
        } else {
            "pond"
        };
        let new = NewNote {
            note_id: note_id(number),
            workspace_id: WORKSPACE,
            title: Some(format!("note {number}")),
            markdown: format!("# About {about}\n\n[[note {}]]", number.wrapping_sub(1)),
            note_kind: None,
            access_scope: Default::default(),
            keywords: vec![],
            metadata: Default::default(),
        };
        writes.push(write(&store, Change::CreateNote(new)));
    }
    // At the same time, so that they share their syncs.
    futures_util::future::join_all(writes).await;
    store
}

/// What each kind of read costs.
async fn costs(store: &WorkspaceStore) -> Vec<(&'static str, i64)> {
    let mut costs = Vec::new();
    let page = Page {
        limit: 10,
        offset: 0,
    };
    macro_rules! cost {
        ($($name:literal => $read:expr;)*) => {$(
            steps::take();
            $read.await.expect("it reads");
            costs.push(($name, steps::take()));
        )*};
    }
    let list = |sort, kind: Option<&str>| {
        store.notes(NoteFilter {
            workspace: WORKSPACE,
            note_kind: kind.map(Into::into),
            keyword: None,
            folder: None,
            include_deleted: false,
            sort,
            page,
        })
    };
    let found = |query: &str, sort| {
        store.search_text(SearchQuery {
            workspace: WORKSPACE,
            query: query.into(),
            note_kind: Some("note".into()),
            sort,
            page,
        })
    };
    let (rule, event) = (RuleId::from_bytes([3; 16]), EventId::from_bytes([3; 16]));
    cost! {
        "a note" => store.note(note_id(500));
        "a note at a version" => store.note_at(note_id(500), 1);
        "a history" => store.history(note_id(500), page);
        "backlinks" => store.backlinks(note_id(500));
        "a link" => store.link_target(WORKSPACE, "note 500".into());
        "the notes of a title" => store.notes_titled(WORKSPACE, "note 500".into(), 10);
        "the last notes" => list(NoteSort::Updated, None);
        "the newest notes" => list(NoteSort::Created, None);
        "the first titles" => list(NoteSort::Title, None);
        "the last of a kind" => list(NoteSort::Updated, Some("note"));
        "events" => store.events(WORKSPACE, 500, 10);
        "events of a note" => store.events_of_note(note_id(500), 0, 10);
        "events of all" => store.events_all(500, 10);
        "the last event" => store.last_row();
        "the first event" => store.min_event_seq(WORKSPACE);
        "a role" => store.role(WORKSPACE, UserId::from_bytes([9; 16]));
        "rules" => store.rules(WORKSPACE);
        "enabled rules" => store.enabled_rules();
        "runs" => store.runs(RunFilter { workspace: Some(WORKSPACE), ..RunFilter::default() });
        "the run of an event" => store.run_of(rule, event);
        "a token" => store.user_by_token("token");
        "a session" => store.session("session");
        "a rare word" => found("heron", SearchSort::Relevance);
        "a rare word and a common one" => found("about heron", SearchSort::Relevance);
        "a word of all notes" => found("about", SearchSort::Relevance);
        "a word of all notes by time" => found("about", SearchSort::Updated);
    }
    costs
}

#[tokio::test]
async fn what_reading_costs_does_not_grow_with_the_notes() {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let small = costs(&filled(&dir, 1000).await).await;
    let large = costs(&filled(&dir, 4000).await).await;
    for ((name, small), (_, large)) in small.into_iter().zip(large) {
        assert!(large <= small + 20, "{name}: {small} steps, then {large}");
        assert!(large < 5000, "{name}: {large} steps");
    }
}
