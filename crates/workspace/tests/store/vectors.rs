//! Search by meaning.

use bonded_workspace::store::NoteVector;
use bonded_workspace_rules::Change;

use crate::common::{WORKSPACE, World, edit, note_id, world};

async fn wanted(world: &World, model: &str) -> Vec<String> {
    let notes = world.store.notes_without_vector(model.into(), 10).await;
    notes
        .expect("it reads")
        .into_iter()
        .map(|note| note.title)
        .collect()
}

async fn put(world: &World, number: u64, version: u64, numbers: &[f32]) {
    let vector = NoteVector {
        note_id: note_id(number),
        version,
        numbers: numbers.to_vec(),
    };
    world
        .store
        .put_vectors("m".into(), vec![vector])
        .await
        .expect("it is kept");
}

async fn near(world: &World, numbers: &[f32]) -> Vec<(u64, f32)> {
    let nearest = world
        .store
        .nearest(WORKSPACE, "m".into(), numbers.to_vec(), 2)
        .await;
    let number = |id| {
        (1..10)
            .find(|n| note_id(*n) == id)
            .expect("it is one of ours")
    };
    let nearest = nearest.expect("it searches").into_iter();
    nearest
        .map(|near| (number(near.note_id), near.cosine))
        .collect()
}

#[tokio::test]
async fn a_model_is_asked_for_each_text_once() {
    let world = world().await;
    world.add(1, "one", "text").await;
    assert_eq!(wanted(&world, "m").await, ["one"]);
    world.add(2, "two", "text").await;
    assert_eq!(wanted(&world, "m").await, ["one", "two"]);
    put(&world, 1, 1, &[1.0, 0.0]).await;
    assert_eq!(wanted(&world, "m").await, ["two"]);
    assert_eq!(wanted(&world, "other").await, ["one", "two"]);
    // What was made of an older text does not count as done.
    world.write(edit(2, 1, "new")).await.expect("it fits");
    put(&world, 2, 1, &[1.0, 0.0]).await;
    assert_eq!(wanted(&world, "m").await, ["two"]);
    put(&world, 2, 2, &[1.0, 0.0]).await;
    assert_eq!(wanted(&world, "m").await, Vec::<String>::new());
}

#[tokio::test]
async fn the_nearest_come_first_and_deleted_ones_never() {
    let world = world().await;
    for (number, numbers) in [
        (1, [1.0, 0.0, 0.1]),
        (2, [0.9, 0.4, 0.0]),
        (3, [-1.0, 0.0, 0.0]),
    ] {
        world.add(number, &format!("note {number}"), "text").await;
        put(&world, number, 1, &numbers).await;
    }
    let found = near(&world, &[2.0, 0.0, 0.0]).await;
    assert_eq!(found.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2]);
    assert!(
        (found[0].1 - 0.995).abs() < 0.01 && (found[1].1 - 0.914).abs() < 0.01,
        "{found:?}"
    );
    let change = Change::DeleteNote {
        note_id: note_id(1),
        base_version: None,
    };
    world.write(change).await.expect("it is deleted");
    let found = near(&world, &[1.0, 0.0, 0.0]).await;
    assert_eq!(found.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [2, 3]);
    for hostile in [
        &[][..],
        &[0.0; 3],
        &[f32::NAN; 3],
        &[f32::MAX; 3],
        &[1.0; 4],
    ] {
        assert_eq!(near(&world, hostile).await, [], "{hostile:?}");
    }
    put(&world, 2, 1, &[f32::INFINITY, 0.0, 0.0]).await;
    assert_eq!(near(&world, &[1.0, 0.0, 0.0]).await.len(), 2);
}
