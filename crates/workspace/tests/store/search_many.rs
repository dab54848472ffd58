//! Search where many notes match.

use std::collections::BTreeSet;

use bonded_workspace::store::{Page, SearchQuery, SearchSort, TextHits};
use bonded_workspace_rules::Change;
use futures_util::future::join_all;

use crate::common::{OWNER, WORKSPACE, World, by, edit, new_note, note_id, world};

/// More than are ranked by the weight of their words.
const MANY: u64 = 130;

/// More than are listed.
const TOO_MANY: u64 = 520;

/// So many are listed at most.
const LISTED_MAX: u64 = 500;

/// A world with so many notes that say the same, the last of them written last.
async fn with_notes(count: u64) -> World {
    let world = world().await;
    // At the same time, so that they share their syncs.
    let writes = (0..count).map(|number| {
        let note = new_note(number, &format!("n{number}"), "a pond");
        world.store.write(by(OWNER, Change::CreateNote(note)))
    });
    for written in join_all(writes).await {
        written.expect("the note is made");
    }
    world
}

async fn page(world: &World, text: &str, sort: SearchSort, limit: u64, offset: u64) -> TextHits {
    let query = SearchQuery {
        workspace: WORKSPACE,
        query: text.into(),
        note_kind: None,
        sort,
        page: Page { limit, offset },
    };
    let found = world.store.search_text(query).await;
    found.expect("it searches")
}

fn titles(found: TextHits) -> Vec<String> {
    found.hits.into_iter().map(|hit| hit.note.title).collect()
}

#[tokio::test]
async fn many_notes_go_by_where_the_words_stand_then_by_when_they_were_written() {
    let world = with_notes(MANY).await;
    world.add(1000, "The pond", "water").await;
    world.add(1001, "headed", "# My pond\n\nwater").await;
    world.add(1002, "A pond, too", "# The pond\n\na pond").await;
    world.add(1003, "last", "in the pond").await;
    world
        .write(edit(5, 1, "still a pond"))
        .await
        .expect("it fits");
    let metadata = Change::SetMetadata {
        note_id: note_id(7),
        base_version: None,
        key: "colour".into(),
        value: "green".into(),
    };
    world.write(metadata).await.expect("it is set");
    let table: [(SearchSort, &[&str]); 2] = [
        (
            SearchSort::Relevance,
            &[
                "A pond, too",
                "The pond",
                "headed",
                "n7",
                "n5",
                "last",
                "n129",
                "n128",
            ],
        ),
        (
            SearchSort::Updated,
            &["n7", "n5", "last", "A pond, too", "headed", "The pond"],
        ),
    ];
    for (sort, expected) in table {
        let found = page(&world, "POND", sort, expected.len() as u64, 0).await;
        assert!(
            found
                .hits
                .windows(2)
                .all(|pair| pair[0].score >= pair[1].score)
        );
        assert_eq!(titles(found), expected, "{sort:?}");
    }
    let rare = page(&world, "pond still", SearchSort::Relevance, 10, 0).await;
    assert_eq!((rare.total, titles(rare)), (1, vec!["n5".to_owned()]));
}

#[tokio::test]
async fn no_more_notes_are_listed_than_are_counted_and_each_once() {
    let world = with_notes(TOO_MANY).await;
    world.add(1000, "an old pond", "water").await;
    for number in 0..30 {
        world
            .write(edit(number, 1, "another pond"))
            .await
            .expect("it fits");
    }
    for (sort, limit) in [(SearchSort::Relevance, 77), (SearchSort::Updated, 100)] {
        let mut seen = BTreeSet::new();
        for offset in (0..LISTED_MAX + limit).step_by(limit as usize) {
            let found = page(&world, "pond", sort, limit, offset).await;
            assert_eq!(found.total, LISTED_MAX);
            let expected = LISTED_MAX.saturating_sub(offset).min(limit);
            assert_eq!(found.hits.len() as u64, expected, "{sort:?} from {offset}");
            for hit in found.hits {
                assert!(seen.insert(hit.note.note_id), "{} twice", hit.note.title);
            }
        }
        assert!(seen.contains(&note_id(1000)), "{sort:?}");
        assert!(seen.contains(&note_id(0)), "{sort:?}");
    }
    let beyond = page(&world, "pond", SearchSort::Relevance, 10, u64::MAX).await;
    assert_eq!((beyond.total, beyond.hits), (LISTED_MAX, vec![]));
}
