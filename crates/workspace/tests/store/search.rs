//! Search by words.

use bonded_kernel::{Millis, WorkspaceId};
use bonded_workspace::store::{Page, SearchQuery, SearchSort, TextHits};
use bonded_workspace_rules::{Change, NoteEdit, NoteWrite};
use proptest::prelude::*;

use crate::common::{OWNER, WORKSPACE, World, by, edit, new_note, note_id, world};

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        workspace: WORKSPACE,
        query: text.into(),
        note_kind: None,
        sort: SearchSort::Relevance,
        page: Page::default(),
    }
}

async fn found(world: &World, text: &str) -> TextHits {
    world
        .store
        .search_text(query(text))
        .await
        .expect("it searches")
}

async fn titles(world: &World, text: &str) -> Vec<String> {
    let hits = found(world, text).await.hits;
    hits.into_iter().map(|hit| hit.note.title).collect()
}

#[tokio::test]
async fn a_word_counts_most_in_the_title_then_in_headings_then_in_the_body() {
    let world = world().await;
    let filler = "lorem ipsum dolor sit amet ".repeat(4);
    world
        .add(1, "in the body", &format!("text\n\nheron {filler}"))
        .await;
    world
        .add(2, "in a heading", &format!("# heron\n\ntext {filler}"))
        .await;
    world
        .add(3, "heron title", &format!("text\n\nbird {filler}"))
        .await;
    world.add(4, "elsewhere", &filler).await;
    let expected = ["heron title", "in a heading", "in the body"];
    assert_eq!(titles(&world, "HERON").await, expected);
    let hits = found(&world, "heron").await.hits;
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    assert!(
        hits[2].snippet.contains("<mark>heron</mark>"),
        "{}",
        hits[2].snippet
    );
}

#[tokio::test]
async fn all_words_must_stand_in_a_note_and_a_star_at_the_end_is_the_only_operator() {
    let world = world().await;
    world.add(1, "one", "red green blue").await;
    world.add(2, "two", "red green").await;
    world
        .add(3, "near", "OR NOT AND foo-bar c++ \"quoted\"")
        .await;
    let table: [(&str, &[&str]); 16] = [
        ("\u{e000}note", &[]),
        ("\u{e000}red blue", &["one"]),
        ("red blue", &["one"]),
        ("RED", &["two", "one"]),
        ("red OR blue", &[]),
        ("red NOT green", &[]),
        ("title : one", &[]),
        ("foo-bar", &["near"]),
        ("c++", &["near"]),
        ("\"quoted\"", &["near"]),
        ("NEAR(red green)", &[]),
        ("re*", &["two", "one"]),
        ("*re", &[]),
        ("r*d", &[]),
        ("w1", &[]),
        ("* \" ( ) -", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(titles(&world, text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn notes_that_are_written_several_times_at_once_are_found_as_they_are_at_the_end() {
    let world = world().await;
    let create =
        |number, title: &str, text: &str| Change::CreateNote(new_note(number, title, text));
    let delete = |number| Change::DeleteNote {
        note_id: note_id(number),
        base_version: Some(1),
    };
    let changes = vec![
        create(1, "edited", "alpha"),
        edit(1, 1, "beta"),
        create(2, "deleted", "gamma"),
        delete(2),
        create(3, "kept", "delta"),
        // It is refused, and changes nothing.
        edit(3, 7, "epsilon"),
    ];
    let writes = changes
        .into_iter()
        .map(|change| by(OWNER, change))
        .collect();
    let results = world.store.write_all(writes).await.expect("it writes");
    assert_eq!(results.iter().filter(|it| it.is_err()).count(), 1);
    let table: [(&str, &[&str]); 5] = [
        ("alpha", &[]),
        ("beta", &["edited"]),
        ("gamma", &[]),
        ("delta", &["kept"]),
        ("epsilon", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(titles(&world, text).await, expected, "{text}");
    }
    // At the same time, so that they share a transaction: one that is refused takes none of the others with it.
    let (one, two, three) = tokio::join!(
        world.write(edit(3, 1, "zeta")),
        world.write(edit(1, 7, "eta")),
        world.write(create(4, "beside", "theta")),
    );
    assert!(one.is_ok() && two.is_err() && three.is_ok());
    let table: [(&str, &[&str]); 5] = [
        ("delta", &[]),
        ("zeta", &["kept"]),
        ("eta", &[]),
        ("beta", &["edited"]),
        ("theta", &["beside"]),
    ];
    for (text, expected) in table {
        assert_eq!(titles(&world, text).await, expected, "{text}");
    }
    // Nothing is left of what they held meanwhile.
    assert_eq!(
        world.place.indexed(),
        3,
        "one for each note that is not deleted"
    );
}

#[tokio::test]
async fn ties_go_by_time_then_by_id_on_every_page() {
    let world = world().await;
    for number in 0..30 {
        let mut write = by(
            OWNER,
            Change::CreateNote(new_note(number, "same", "same text")),
        );
        write.at = Millis(write.at.0 + number % 3);
        world.send(write).await.expect("it is made");
    }
    let mut expected: Vec<_> = (0..30)
        .map(|n| (std::cmp::Reverse(n % 3), note_id(n)))
        .collect();
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|(_, id)| id).collect();
    for sort in [SearchSort::Relevance, SearchSort::Updated] {
        let mut paged = Vec::new();
        for offset in [0, 7, 14, 21, 28] {
            let page = Page { limit: 7, offset };
            let found = world
                .store
                .search_text(SearchQuery {
                    sort,
                    page,
                    ..query("same")
                })
                .await;
            let found = found.expect("it searches");
            assert_eq!(found.total, 30);
            paged.extend(found.hits.into_iter().map(|hit| hit.note.note_id));
        }
        assert_eq!(paged, expected, "{sort:?}");
    }
}

#[tokio::test]
async fn what_is_found_follows_every_change_of_a_note() {
    let world = world().await;
    world.add(1, "first", "heron").await;
    assert_eq!(titles(&world, "heron").await, ["first"]);
    world.write(edit(1, 1, "stork")).await.expect("it fits");
    assert_eq!(titles(&world, "heron").await, Vec::<String>::new());
    let rename = Change::UpdateNote(NoteWrite {
        note_id: note_id(1),
        base_version: 2,
        edit: NoteEdit {
            title: Some("Zürich".into()),
            keywords: Some(vec!["birds of prey".into()]),
            note_kind: Some("field_note".into()),
            ..NoteEdit::default()
        },
    });
    world.write(rename).await.expect("it fits");
    for text in ["zurich", "Zürich", "stork", "prey birds"] {
        assert_eq!(titles(&world, text).await, ["Zürich"], "{text}");
    }
    for (kind, count) in [
        ("field_note", 1),
        ("FIELD_NOTE", 0),
        ("field note", 0),
        ("note", 0),
        ("field", 0),
        ("", 0),
    ] {
        let note_kind = Some(kind.into());
        let found = world
            .store
            .search_text(SearchQuery {
                note_kind,
                ..query("stork")
            })
            .await;
        assert_eq!(found.expect("it searches").total, count, "{kind}");
    }
    let delete = Change::DeleteNote {
        note_id: note_id(1),
        base_version: None,
    };
    world.write(delete).await.expect("it is deleted");
    assert_eq!(found(&world, "stork").await.total, 0);
    let back = Change::UndeleteNote {
        note_id: note_id(1),
        base_version: None,
    };
    world.write(back).await.expect("it is back");
    assert_eq!(found(&world, "stork").await.total, 1);
}

#[tokio::test]
async fn words_of_scripts_without_blanks_are_found_inside_sentences() {
    let world = world().await;
    world.add(1, "議事録", "今日は東京で会議をしました。").await;
    for text in ["東京", "会議", "議事録", "今日は東京"] {
        assert_eq!(titles(&world, text).await, ["議事録"], "{text}");
    }
    assert_eq!(titles(&world, "京東").await, Vec::<String>::new());
}

#[tokio::test]
async fn another_workspace_is_never_searched() {
    let world = world().await;
    world.add(1, "first", "heron").await;
    let other = WorkspaceId::from_bytes([9; 16]);
    let make = Change::CreateWorkspace {
        workspace_id: other,
        name: "other".into(),
    };
    world.write(make).await.expect("it is made");
    for (workspace, total) in [
        (WORKSPACE, 1),
        (other, 0),
        (WorkspaceId::from_bytes([8; 16]), 0),
    ] {
        let found = world
            .store
            .search_text(SearchQuery {
                workspace,
                ..query("heron")
            })
            .await;
        assert_eq!(found.expect("it searches").total, total);
    }
}

#[test]
fn no_query_fails() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("it starts");
    let world = runtime.block_on(async {
        let world = world().await;
        world.add(1, "first", "heron \"stork\" AND crane").await;
        world
    });
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(256)
    };
    let text = "[ a-z\"'*():{}^+\\-\\x00ANDORT\u{301}Ⓐ日]{0,40}";
    proptest!(config, |(text in text, any in any::<String>())| {
        for text in [text, any] {
            runtime.block_on(found(&world, &text));
        }
    });
}
