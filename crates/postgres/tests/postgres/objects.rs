//! Contents of plans and states of copies: what is put stays, only who drives a run says what its copy is, and all of a
//! plan goes at once.

use bonded_kernel::Hash;
use bonded_state::{
    HeldPlan, ObjectPiece, PlanObjects as _, RunQueues as _, Store as _, StoreError, Submission,
};
use bonded_testkit::stores::logs::Log;

use crate::place::Place;

const END_FIRST: &str =
    "UPDATE bonded.worker SET expires = clock_timestamp() - interval '1 ms' WHERE id = 1";

fn piece(content: &[u8], number: u32, count: u32) -> ObjectPiece {
    ObjectPiece {
        hash: Hash::of(content),
        number,
        count,
        bytes: content.to_vec(),
    }
}

#[tokio::test]
async fn a_store_of_the_release_before_is_used_but_for_what_it_has_no_place_for() {
    let Some(place) = Place::new().await else {
        return;
    };
    place.sql(
        "DROP FUNCTION bonded.remove_objects; DROP TABLE bonded.object, bonded.copy_state; \
         DELETE FROM bonded.migration WHERE version = 4",
    );
    let store = place.open();
    let log = Log::start("r", "goal");
    log.append_all(&store).await;
    let refused = [
        store.put("p", vec![piece(b"it", 0, 1)]).await.err(),
        store.held_plans().await.err(),
        store.remove("p").await.err(),
        store.left(&log.id).await.err(),
    ];
    for error in refused {
        let error = error.expect("there is no place").to_string();
        assert!(
            error.contains("has format 3, this build needs 4"),
            "{error}"
        );
    }
    place.init().await.expect("it is brought up to date");
    assert_eq!(store.held_plans().await, Ok(vec![]));
}

#[tokio::test]
async fn a_content_is_there_when_its_last_piece_is_and_stays_as_it_was_put() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let (first, last) = (piece(b"long", 0, 2), piece(b"long", 1, 2));
    let hash = first.hash;
    let missing = async |plan| store.missing(plan, vec![hash]).await.expect("it answers");
    store
        .put("p", vec![first.clone()])
        .await
        .expect("it is put");
    assert_eq!(missing("p").await, [hash], "a piece is no content");
    store.put("p", vec![last]).await.expect("it is put");
    assert_eq!(missing("p").await, []);
    assert_eq!(missing("q").await, [hash], "it is another plan's");
    let other = ObjectPiece {
        bytes: b"other".to_vec(),
        ..first.clone()
    };
    store
        .put("p", vec![other])
        .await
        .expect("it is not refused");
    let found = store.get("p", vec![hash], 0).await;
    assert_eq!(found, Ok(vec![first]));
    assert_eq!(store.get("p", vec![hash], 2).await, Ok(vec![]));
}

#[tokio::test]
async fn who_was_overtaken_cannot_say_what_is_in_a_copy() {
    let Some(place) = Place::new().await else {
        return;
    };
    let (here, there) = (place.open(), place.open());
    let log = Log::with_turns("r", 2);
    log.append(&here, 0).await.expect("it appends");
    assert_eq!(here.left(&log.id).await, Ok(None));
    let (early, late) = (Hash::of(b"early"), Hash::of(b"late"));
    here.leave(&log.id, early).await.expect("it drives the run");
    place.sql(END_FIRST);
    there.claim(&log.id).await.expect("its lease is over");
    let refused = here.leave(&log.id, late).await;
    let run = log.id.clone();
    assert_eq!(refused, Err(StoreError::TakenOver { run }));
    assert_eq!(there.left(&log.id).await, Ok(Some(early)));
    there
        .leave(&log.id, late)
        .await
        .expect("it is the holder now");
    assert_eq!(here.left(&log.id).await, Ok(Some(late)));
}

#[tokio::test]
async fn contents_are_removed_all_at_once_and_not_while_a_run_of_their_plan_is_open() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    for plan in ["0123456789ab", "other"] {
        store
            .put(plan, vec![piece(b"content", 0, 1)])
            .await
            .expect("it is put");
    }
    let log = Log::with_turns("0123456789ab.item", 1);
    let submission = Submission {
        queue: "q".into(),
        submitter: "s".into(),
        needs: vec![],
        dir: "/".into(),
        at_hand: vec![],
        agent: String::new(),
    };
    let entries = log.steps[0].entries().clone();
    store
        .submit(entries, submission)
        .await
        .expect("it is queued");
    assert_eq!(store.remove("0123456789ab").await, Ok(false));
    place.sql("UPDATE bonded.drive SET state = 3");
    assert_eq!(store.remove("0123456789ab").await, Ok(true));
    let held = HeldPlan {
        plan: "other".into(),
        contents: 1,
        bytes: 7,
    };
    assert_eq!(store.held_plans().await, Ok(vec![held]));
}

#[tokio::test]
async fn the_role_of_the_store_can_neither_change_a_content_nor_remove_one() {
    let Some(place) = Place::new().await else {
        return;
    };
    let forbidden = [
        "UPDATE bonded.object SET bytes = ''",
        "DELETE FROM bonded.object",
        "TRUNCATE bonded.object",
        "UPDATE bonded.copy_state SET hash = ''",
        "DELETE FROM bonded.copy_state",
    ];
    for sql in forbidden {
        let attempt = format!(
            "DO $do$ BEGIN SET LOCAL ROLE bonded_app; {sql}; RAISE EXCEPTION 'it was done'; \
             EXCEPTION WHEN OTHERS THEN CREATE TEMP TABLE said AS SELECT SQLERRM AS text; END $do$; SELECT text FROM said"
        );
        let said = place.sql(&attempt);
        assert!(said.contains("permission denied"), "{sql}: {said}");
    }
}
