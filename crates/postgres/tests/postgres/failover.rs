//! A primary that is lost, and a standby that takes its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bonded_postgres::PostgresStore;
use bonded_state::Store as _;
use bonded_testkit::patience::wait_until;
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_testkit::stores::logs::Log;

use crate::place::{Place, open};

const TASKS: usize = 16;
const TURNS: u32 = 20;
/// Acknowledged when the primary is lost: about half of all.
const BEFORE: usize = TASKS * TURNS as usize;

/// Appends a log from its beginning; counts what is acknowledged.
async fn append(store: Arc<PostgresStore>, log: Arc<Log>, count: Arc<AtomicUsize>) {
    for step in 0..log.steps.len() {
        let done = log.append(&*store, step).await;
        done.unwrap_or_else(|error| panic!("step {step} of {}: {error}", log.id));
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_after_a_failover_and_appends_go_on() {
    let Some(primary) = PostgresServer::start(&[]) else {
        return;
    };
    let place = Place::on(primary).await;
    let primary = place.database.server;
    let standby = primary.synchronous_standby();
    let address = place.database.address_on_either(&standby, "app");
    let store = Arc::new(open(&address).expect("it opens"));
    let logs: Vec<Arc<Log>> = (0..TASKS)
        .map(|task| Arc::new(Log::with_turns(&format!("r{task}"), TURNS)))
        .collect();
    let acknowledged = Arc::<AtomicUsize>::default();
    let tasks: Vec<_> = logs
        .iter()
        .map(|log| {
            let append = append(store.clone(), log.clone(), acknowledged.clone());
            tokio::spawn(append)
        })
        .collect();
    let count = || acknowledged.load(Ordering::SeqCst);
    tokio::task::block_in_place(|| {
        wait_until("half is acknowledged", || count() >= BEFORE);
        primary.kill_with_all();
        standby.promote();
    });
    for task in tasks {
        task.await.expect("every append is acknowledged in the end");
    }
    let survivor: &'static PostgresServer = Box::leak(Box::new(standby));
    let database = Database {
        server: survivor,
        name: place.database.name.clone(),
    };
    let reader = open(&database.address("app")).expect("it is a primary now");
    for log in logs {
        assert_eq!(reader.load(&log.id, 0).await, Ok(log.entries()));
    }
    let rows = "SELECT count(*) FROM bonded.step";
    assert_eq!(database.sql(rows), count().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_standby_that_was_cancelled_acknowledges_nothing() {
    let Some(primary) = PostgresServer::start(&[]) else {
        return;
    };
    let place = Place::on(primary).await;
    let server = place.database.server;
    let store = Arc::new(place.open());
    let log = Arc::new(Log::with_turns("r", 1));
    log.append(&*store, 0).await.expect("it appends");
    server.wait_for_standbys("nobody");
    let late = tokio::spawn({
        let (store, log) = (store.clone(), log.clone());
        async move { log.append(&*store, 1).await }
    });
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let cancel = |part: &str| {
        let sql =
            format!("SELECT count(pg_cancel_backend(pid)) {waiting} AND query LIKE '%{part}%'");
        wait_until("one of them waits and is cancelled", || {
            place.sql(&sql) != "0"
        });
    };
    tokio::task::block_in_place(|| {
        cancel("INSERT INTO bonded.step");
        // The server has answered that as a success. What settles it is a write, which waits as well, however often.
        cancel("SET epoch = epoch + 1");
        let settling =
            format!("SELECT count(*) {waiting} AND query LIKE '%SET epoch = epoch + 1%'");
        wait_until("it is still being settled", || place.sql(&settling) != "0");
    });
    assert!(!late.is_finished(), "it was taken as acknowledged");
    tokio::task::block_in_place(|| server.wait_for_standbys(""));
    let done = late.await.expect("it does not panic");
    done.expect("it is acknowledged when a standby has it, or none is waited for");
    assert_eq!(store.head(&log.id).await, Ok(Some(log.steps[1].after())));
    assert_eq!(place.sql("SELECT count(*) FROM bonded.step"), "2");
}
