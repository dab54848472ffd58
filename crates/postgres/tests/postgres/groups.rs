//! Appends of several runs that share a statement: each is carried out, refused or settled as if it had been sent alone.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bonded_postgres::PostgresStore;
use bonded_state::{Store as _, StoreError};
use bonded_testkit::patience::wait_until;
use bonded_testkit::pooler::Pooler;
use bonded_testkit::proxy::{Proxy, Way};
use bonded_testkit::stores::logs::{Log, long};
use futures_util::future::join_all;

use crate::place::{Place, open};

const RUNS: usize = 12;

/// The statements that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// How many rows each transaction has added to the log, the most of all.
const LARGEST: &str =
    "SELECT max(n) FROM (SELECT count(*) AS n FROM bonded.step GROUP BY xmin::text) t";

/// Runs that have begun, with one long text each, so that all kinds of columns are in a group.
async fn begun(store: &PostgresStore) -> Vec<Log> {
    let mut logs = vec![];
    for number in 0..RUNS {
        let mut log = Log::start(&format!("r{number}"), "say something");
        match number % 2 {
            0 => log.turn(&long("output ")),
            _ => log.turn("output"),
        }
        log.append(store, 0).await.expect("it begins");
        logs.push(log);
    }
    logs
}

/// Appends a step of each at the same time.
async fn append_all(
    store: &PostgresStore,
    logs: &[Log],
    step: usize,
) -> Vec<Result<(), StoreError>> {
    join_all(logs.iter().map(|log| log.append(store, step))).await
}

/// The first append of a store prepares the statements and makes its connections.
async fn warm(store: &PostgresStore, logs: &[Log]) {
    for done in append_all(store, logs, 1).await {
        done.expect("it appends");
    }
}

fn overtaken(log: &Log) -> Result<(), StoreError> {
    let run = log.id.clone();
    Err(StoreError::TakenOver { run })
}

#[tokio::test]
async fn appends_that_come_together_share_a_transaction() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let logs = begun(&store).await;
    warm(&store, &logs).await;
    for done in append_all(&store, &logs, 2).await {
        done.expect("it appends");
    }
    let largest: usize = place.sql(LARGEST).parse().expect("it is a number");
    assert!(largest > RUNS / 2, "{largest}");
    for log in &logs {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
    // One that is switched off sends each alone.
    let Some(place) = Place::new().await else {
        return;
    };
    let address = place.database.address("app");
    let store = open(&format!("{address}&bonded_group_appends=no")).expect("it opens");
    let logs = begun(&store).await;
    warm(&store, &logs).await;
    assert_eq!(place.sql(LARGEST), "1");
}

#[tokio::test]
async fn the_others_of_a_group_do_not_suffer_from_one_that_is_refused() {
    if let Some(place) = Place::new().await {
        refuses_some(&place, &place.database.address("app")).await;
    }
}

#[tokio::test]
async fn the_same_holds_through_a_pooler() {
    let Some(place) = Place::new().await else {
        return;
    };
    if let Some(pooler) = Pooler::start(place.database.server, "extra_float_digits") {
        refuses_some(&place, &pooler.address(&place.database, "app")).await;
    }
}

async fn refuses_some(place: &Place, address: &str) {
    let store = open(address).expect("it opens");
    let logs = begun(&store).await;
    warm(&store, &logs).await;
    place.sql(
        "UPDATE bonded.drive SET epoch = epoch + 1 WHERE run = (SELECT run FROM bonded.run WHERE id = 'r4')",
    );
    // This one has gone on elsewhere, under the same claim.
    place.sql(
        "UPDATE bonded.drive SET head = head + 1 WHERE run = (SELECT run FROM bonded.run WHERE id = 'r5')",
    );
    // Another text lies where that of the head was.
    place.sql(
        "UPDATE bonded.drive SET hash = '\\x00' WHERE run = (SELECT run FROM bonded.run WHERE id = 'r6')",
    );
    let done = append_all(&store, &logs, 2).await;
    for (number, (log, done)) in logs.iter().zip(done).enumerate() {
        match number {
            4 => assert_eq!(done, overtaken(log)),
            5 | 6 => assert!(matches!(done, Err(StoreError::Conflict { .. })), "{done:?}"),
            _ => assert_eq!(done, Ok(()), "{number}"),
        }
    }
    for log in logs.iter().take(4) {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
}

#[tokio::test]
async fn an_error_of_one_run_is_not_that_of_the_others() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let logs = begun(&store).await;
    warm(&store, &logs).await;
    place.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN IF new.run = 3 THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF; \
            RETURN new; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON bonded.step FOR EACH ROW EXECUTE FUNCTION full_disk()",
    );
    let done = append_all(&store, &logs, 2).await;
    for (number, done) in (1..).zip(done) {
        match number {
            3 => assert!(matches!(done, Err(StoreError::Full { .. })), "{done:?}"),
            _ => assert_eq!(done, Ok(()), "{number}"),
        }
    }
}

#[tokio::test]
async fn a_group_that_is_cut_either_way_is_settled_for_each() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let store = open(&place.address_through(&proxy)).expect("it opens");
    let mut logs = begun(&store).await;
    warm(&store, &logs).await;
    for log in &mut logs {
        for _ in 0..8 {
            log.turn("more");
        }
    }
    for step in 2..logs[0].steps.len() {
        let before = proxy.closed();
        proxy.close_next([Way::Answers, Way::Questions][step % 2]);
        for done in append_all(&store, &logs, step).await {
            done.expect("it is settled");
        }
        assert_eq!(proxy.closed(), before + 1);
    }
    for log in &logs {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
}

/// Holds what the owner has locked until it is told to let go.
fn lock(place: &Place, sql: &str) -> JoinHandle<String> {
    place.sql("CREATE TABLE go (now int)");
    let (server, name) = (place.database.server, place.database.name.clone());
    let text = format!(
        "BEGIN; {sql}; DO $$ BEGIN FOR i IN 1..6000 LOOP \
             IF EXISTS (SELECT 1 FROM public.go) THEN EXIT; END IF; \
             PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT"
    );
    let locked = thread::spawn(move || server.sql(&name, &text));
    wait_until("the rows are locked", || {
        place.sql("SELECT count(*) FROM pg_locks WHERE relation = 'bonded.drive'::regclass AND mode = 'RowExclusiveLock'") != "0"
    });
    locked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_somebody_has_locked_does_not_hold_up_the_others() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = Arc::new(place.open());
    let logs = Arc::new(begun(&store).await);
    warm(&store, &logs).await;
    let locked = lock(&place, "UPDATE bonded.drive SET head = head WHERE run = 1");
    let (there, theirs) = (Arc::clone(&store), Arc::clone(&logs));
    let all = tokio::spawn(async move { append_all(&there, &theirs, 2).await });
    let others = "SELECT count(*) FROM bonded.step WHERE first > 1 AND run > 1";
    wait_until("the others are there", || {
        place.sql(others) == (2 * (RUNS - 1)).to_string()
    });
    assert!(!all.is_finished(), "the first is still locked");
    assert_eq!(place.sql(WAITING), "1");
    place.sql("INSERT INTO go VALUES (1)");
    locked.join().expect("it lets go");
    for done in all.await.expect("it appends") {
        assert_eq!(done, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_connection_the_server_ends_is_there_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = Arc::new(place.open());
    let logs = Arc::new(begun(&store).await);
    warm(&store, &logs).await;
    let locked = lock(
        &place,
        "LOCK TABLE bonded.step IN SHARE MODE; UPDATE bonded.drive SET head = head WHERE run = 0",
    );
    let (there, theirs) = (Arc::clone(&store), Arc::clone(&logs));
    let all = tokio::spawn(async move { append_all(&there, &theirs, 2).await });
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%unnest%'";
    wait_until("a group was ended", || place.sql(kill) != "0");
    place.sql("INSERT INTO go VALUES (1)");
    locked.join().expect("it lets go");
    for done in all.await.expect("it appends") {
        assert_eq!(done, Ok(()));
    }
    for log in logs.iter() {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
}

#[tokio::test]
async fn the_appends_of_one_run_keep_their_order() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let logs = begun(&store).await;
    // All at once: the second of a run follows the first.
    let steps = (1..3).flat_map(|step| logs.iter().map(move |log| (log, step)));
    let done = join_all(steps.map(|(log, step)| log.append(&store, step))).await;
    for done in done {
        assert_eq!(done, Ok(()));
    }
}
