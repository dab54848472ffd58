//! Connections that are cut in the middle of an append.

use std::thread;

use bonded_postgres::PostgresStore;
use bonded_state::{Store as _, StoreError};
use bonded_testkit::proxy::{Proxy, Way};
use bonded_testkit::stores::logs::Log;

use crate::place::{Place, open};

#[tokio::test]
async fn an_append_whose_answer_or_question_is_lost_is_there_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let store = open(&place.address_through(&proxy)).expect("it opens");
    let mut log = Log::with_turns("r", 4);
    log.end();
    for step in 0..log.steps.len() {
        // The first step makes this process a worker, which is asked before.
        if step > 0 {
            proxy.close_next([Way::Answers, Way::Questions][step % 2]);
        }
        log.append(&store, step).await.expect("it is settled");
    }
    assert_eq!(proxy.closed() as usize, log.steps.len() - 1);
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    assert_eq!(
        place.sql("SELECT count(*) FROM bonded.step"),
        log.steps.len().to_string()
    );
}

#[tokio::test]
async fn a_run_that_is_begun_without_an_answer_is_begun_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let store = open(&place.address_through(&proxy)).expect("it opens");
    // Both statements of a start are prepared, and the worker is there.
    Log::start("earlier", "be first").append_all(&store).await;
    let log = Log::with_turns("r", 1);
    proxy.close_next(Way::Answers);
    log.append_all(&store).await;
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    assert_eq!(proxy.closed(), 1);
}

#[tokio::test]
async fn who_was_overtaken_while_an_append_was_in_doubt_is_told_so() {
    let Some(place) = Place::new().await else {
        return;
    };
    let log = Log::with_turns("r", 1);
    let store = place.open();
    log.append(&store, 0).await.expect("it appends");
    // The append waits for the lock; its connection is cut, and another process takes over before it can be settled.
    let name = place.database.name.clone();
    let server = place.database.server;
    let taker = thread::spawn(move || {
        server.sql(
            &name,
            "BEGIN; UPDATE bonded.drive SET epoch = epoch + 1, worker = NULL; \
             DO $$ BEGIN FOR i IN 1..1000 LOOP \
                 IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()) \
                 THEN EXIT; END IF; PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND datname = current_database(); COMMIT",
        )
    });
    let waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'bonded.drive'::regclass AND mode = 'RowExclusiveLock'";
    while place.sql(waiting) == "0" {}
    let late = log.append(&store, 1).await;
    taker.join().expect("it is taken");
    assert_eq!(
        late,
        Err(StoreError::TakenOver {
            run: log.id.clone()
        })
    );
    assert_eq!(store.head(&log.id).await, Ok(Some(log.steps[0].after())));
}

/// Appends a step whose answer is lost, and lets nobody connect for longer than that is waited for.
async fn append_without_an_answer(
    place: &Place,
    proxy: &Proxy,
    store: &PostgresStore,
    log: &Log,
    step: usize,
) {
    let name = &place.database.name;
    place.sql(&format!("ALTER DATABASE {name} CONNECTION LIMIT 0"));
    proxy.close_next(Way::Answers);
    let failed = log.append(store, step).await;
    assert!(failed.is_err_and(|error| error.may_pass()));
    place.sql(&format!("ALTER DATABASE {name} CONNECTION LIMIT -1"));
}

#[tokio::test]
async fn an_append_that_stays_in_doubt_is_settled_by_a_write_and_not_by_a_read() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let address = format!("{}?bonded_lease_ms=1000", place.address_through(&proxy));
    let store = open(&address).expect("it opens");
    let epoch = |log: &Log| {
        let id = log.id.as_str();
        place.sql(&format!(
            "SELECT epoch FROM bonded.drive JOIN bonded.run USING (run) WHERE id = '{id}'"
        ))
    };
    let first = Log::with_turns("first", 1);
    first.append(&store, 0).await.expect("it appends");
    append_without_an_answer(&place, &proxy, &store, &first, 1).await;
    assert_eq!(epoch(&first), "1");
    assert_eq!(
        store.head(&first.id).await,
        Ok(Some(first.steps[1].after()))
    );
    assert_eq!(epoch(&first), "2");
    // It is settled once.
    assert_eq!(
        store.head(&first.id).await,
        Ok(Some(first.steps[1].after()))
    );
    assert_eq!(epoch(&first), "2");
    // A run that began so is held.
    let second = Log::with_turns("second", 1);
    append_without_an_answer(&place, &proxy, &store, &second, 0).await;
    assert_eq!(
        store.head(&second.id).await,
        Ok(Some(second.steps[0].after()))
    );
    assert_eq!(epoch(&second), "2");
    place.sql("UPDATE bonded.drive SET epoch = epoch + 1");
    let run = second.id.clone();
    assert_eq!(
        second.append(&store, 1).await,
        Err(StoreError::TakenOver { run })
    );
}
