//! Leases: what a process may do that could not show that it lives, and what it may not.

use std::time::SystemTime;

use bonded_state::{Holder, ListFilter, Store, StoreError};
use bonded_testkit::patience::{PATIENCE, wait_until};
use bonded_testkit::stores::logs::Log;
use futures_util::FutureExt as _;

use crate::place::Place;

const END_FIRST: &str =
    "UPDATE bonded.worker SET expires = clock_timestamp() - interval '1 ms' WHERE id = 1";

async fn held(store: &dyn Store) -> Holder {
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    listed[0].held
}

#[tokio::test]
async fn who_was_overtaken_cannot_append_any_more() {
    let Some(place) = Place::new().await else {
        return;
    };
    let (here, there) = (place.open(), place.open());
    let log = Log::with_turns("r", 2);
    log.append(&here, 0).await.expect("it appends");
    there.claim(&log.id).await.expect_err("its lease lasts");
    place.sql(END_FIRST);
    assert_eq!(held(&there).await, Holder::Nobody);
    there.claim(&log.id).await.expect("its lease is over");
    let late = log.append(&here, 1).await;
    assert_eq!(
        late,
        Err(StoreError::TakenOver {
            run: log.id.clone()
        })
    );
    // It knows now, and is no guest because of that.
    let again = log.append(&here, 1).await;
    assert!(
        matches!(again, Err(StoreError::TakenOver { .. })),
        "{again:?}"
    );
    assert!(matches!(
        here.lost(&log.id).await,
        StoreError::TakenOver { .. }
    ));
    assert_eq!(there.head(&log.id).await, Ok(Some(log.steps[0].after())));
    log.append(&there, 1).await.expect("it is the holder now");
    here.release(&log.id)
        .await
        .expect("there is nothing to release");
    assert_eq!(held(&here).await, Holder::Other);
}

#[tokio::test]
async fn a_lease_that_is_over_is_not_renewed_and_the_process_begins_anew() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open_for(1000);
    let log = Log::with_turns("r", 1);
    log.append(&store, 0).await.expect("it appends");
    place.sql(END_FIRST);
    let lost = tokio::time::timeout(PATIENCE, store.lost(&log.id)).await;
    assert!(matches!(lost, Ok(StoreError::LeaseLost { .. })), "{lost:?}");
    store.claim(&log.id).await.expect("nobody else has it");
    assert!(
        store.lost(&log.id).now_or_never().is_none(),
        "it is held again"
    );
    log.append(&store, 1).await.expect("it is the holder");
    assert_eq!(place.sql("SELECT count(*) FROM bonded.worker"), "2");
}

#[tokio::test]
async fn a_lease_is_kept_while_the_process_lives() {
    let Some(place) = Place::new().await else {
        return;
    };
    let (here, there) = (place.open_for(4000), place.open());
    let log = Log::with_turns("r", 1);
    log.append(&here, 0).await.expect("it appends");
    place.sql("CREATE TABLE began AS SELECT expires FROM bonded.worker");
    wait_until("the first lease would have ended", || {
        place.sql("SELECT clock_timestamp() > expires FROM began") == "t"
    });
    there.claim(&log.id).await.expect_err("it lives");
    log.append(&here, 1).await.expect("it is the holder");
}

#[tokio::test]
async fn who_cannot_renew_is_told_so_before_others_may_take_over() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open_for(5000);
    let log = Log::with_turns("r", 1);
    log.append(&store, 0).await.expect("it appends");
    let name = &place.database.name;
    place.database.server.sql(
        "postgres",
        &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
    );
    place.database.server.sql(
        "postgres",
        &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
    );
    let lost = tokio::time::timeout(PATIENCE, store.lost(&log.id)).await;
    let told = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let told = told.expect("it is later than 1970").as_secs_f64();
    let server = place.database.server;
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"),
    );
    let left = format!("SELECT extract(epoch FROM expires) > {told} FROM bonded.worker");
    let left = place.sql(&left);
    assert!(matches!(lost, Ok(StoreError::LeaseLost { .. })), "{lost:?}");
    assert_eq!(left, "t", "the lease was over when it was told");
}
