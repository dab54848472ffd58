//! The queue below the program: what is taken, by whom, and at what cost to appends.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::RunId;
use bonded_postgres::{PostgresStore, TakenRun, WaitsFor, WorkerOffer};
use bonded_state::{RunQueues as _, Store as _, StoreError, Submission};
use bonded_testkit::patience::wait_until;
use bonded_testkit::proxy::Proxy;
use bonded_testkit::stores::logs::Log;
use futures_util::future::join_all;

use crate::place::{Place, open};

fn submission(submitter: &str) -> Submission {
    Submission {
        queue: "q".into(),
        submitter: submitter.into(),
        needs: vec![],
        dir: "/".into(),
        at_hand: vec![],
        agent: String::new(),
    }
}

async fn submit(store: &PostgresStore, log: &Log, submitter: &str) -> bool {
    let entries = Arc::clone(log.steps[0].entries());
    let submitted = store.submit(entries, submission(submitter)).await;
    submitted.expect("it is queued")
}

async fn offer(store: &PostgresStore) {
    let offer = WorkerOffer {
        queues: vec!["q".into()],
        labels: vec![],
        concurrent: 8,
    };
    store.offer(offer).await.expect("it is a worker");
}

async fn take(store: &PostgresStore) -> Option<RunId> {
    let taken = store.take(vec![]).await.expect("it takes");
    taken.map(|taken: TakenRun| taken.run)
}

#[tokio::test]
async fn many_who_take_at_once_take_each_run_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let stores: Vec<PostgresStore> = (0..4).map(|_| place.open()).collect();
    for n in 0..40 {
        let log = Log::with_turns(&format!("r{n}"), 1);
        assert!(submit(&stores[0], &log, "ada").await);
        assert!(
            !submit(&stores[1], &log, "ada").await,
            "it is there already"
        );
    }
    join_all(stores.iter().map(offer)).await;
    let all = stores.iter().map(|store| async move {
        let mut taken = vec![];
        while let Some(run) = take(store).await {
            taken.push(run);
        }
        taken
    });
    let mut taken = join_all(all).await.concat();
    taken.sort();
    assert_eq!(taken.len(), 40);
    taken.dedup();
    assert_eq!(taken.len(), 40, "one was taken twice");
}

#[tokio::test]
async fn submitters_take_turns_and_who_has_fewer_runs_under_way_comes_first() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    for (id, submitter) in [
        ("a1", "ada"),
        ("a2", "ada"),
        ("a3", "ada"),
        ("b1", "bert"),
        ("b2", "bert"),
        ("c1", "cleo"),
    ] {
        submit(&store, &Log::with_turns(id, 1), submitter).await;
    }
    offer(&store).await;
    let mut order = vec![];
    while let Some(run) = take(&store).await {
        order.push(run.to_string());
    }
    assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
}

#[tokio::test]
async fn a_take_begins_where_the_last_one_was_and_a_sweep_makes_it_look_at_everything() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let (first, late) = (Log::with_turns("first", 1), Log::with_turns("late", 1));
    submit(&store, &first, "ada").await;
    submit(&store, &late, "ada").await;
    offer(&store).await;
    assert_eq!(take(&store).await, Some(first.id));
    // As one that became visible long after the time that it was queued at.
    place.sql("UPDATE bonded.drive SET ready = ready - interval '1 hour' WHERE state = 0");
    assert_eq!(take(&store).await, None);
    store.sweep().await.expect("it sweeps");
    assert_eq!(take(&store).await, Some(late.id));
}

#[tokio::test]
async fn the_runs_of_a_worker_that_died_are_queued_again_and_it_cannot_append() {
    let Some(place) = Place::new().await else {
        return;
    };
    let (here, there) = (place.open(), place.open());
    let log = Log::with_turns("r", 2);
    submit(&here, &log, "ada").await;
    offer(&here).await;
    offer(&there).await;
    assert_eq!(take(&here).await.as_ref(), Some(&log.id));
    there.sweep().await.expect("it sweeps");
    assert_eq!(take(&there).await, None, "it lives");
    place.sql("UPDATE bonded.worker SET expires = clock_timestamp() WHERE id = 1");
    there.sweep().await.expect("it sweeps");
    assert_eq!(take(&there).await.as_ref(), Some(&log.id));
    let late = log.append(&here, 1).await;
    let run = log.id.clone();
    assert_eq!(late, Err(StoreError::TakenOver { run }));
    log.append(&there, 1).await.expect("it is the holder");
}

#[tokio::test]
async fn a_run_that_could_not_be_driven_is_left_for_a_while_and_says_why() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let log = Log::with_turns("r", 1);
    submit(&store, &log, "ada").await;
    offer(&store).await;
    assert_eq!(take(&store).await.as_ref(), Some(&log.id));
    store.release(&log.id).await.expect("it is released");
    let minute = Duration::from_secs(60);
    let postponed = store.postpone(&log.id, "no tools".into(), minute).await;
    postponed.expect("it is postponed");
    assert_eq!(take(&store).await, None);
    let waits = store.waits(vec![log.id.clone()]).await.expect("it says");
    let expected = WaitsFor::Retry("no tools".into());
    assert_eq!(waits, [(log.id.clone(), expected)]);
    store.wake(&log.id).await.expect("it is woken");
    store.sweep().await.expect("it sweeps");
    assert_eq!(take(&store).await, Some(log.id));
}

#[tokio::test]
async fn appends_of_queued_runs_touch_no_index_of_the_queue() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let log = Log::with_turns("r", 60);
    submit(&store, &log, "ada").await;
    offer(&store).await;
    take(&store).await;
    for step in 1..60 {
        log.append(&store, step).await.expect("it appends");
    }
    // Its connections count what they did when they end.
    drop(store);
    let updates = |columns: &str| {
        let sql = format!("SELECT {columns} FROM pg_stat_user_tables WHERE relname = 'drive'");
        place.sql(&sql).parse::<u32>().expect("it is a number")
    };
    wait_until("all are counted", || updates("n_tup_upd") >= 60);
    let cold = updates("n_tup_upd - n_tup_hot_upd");
    assert!(cold <= 6, "{cold} updates wrote to the indexes");
}

/// Holds the lock of every run's row until there is a row in `let_go`.
const HOLD_ALL: &str = "BEGIN; SELECT count(*) FROM (SELECT 1 FROM bonded.drive FOR UPDATE) d; \
    DO $$ BEGIN FOR i IN 1..6000 LOOP IF EXISTS (SELECT 1 FROM let_go) THEN EXIT; END IF; PERFORM pg_sleep(0.01); END LOOP; END $$; \
    COMMIT";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_claimed_again_is_not_freed_by_what_was_sent_before() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let address = format!("{}?bonded_lease_ms=4000", place.address_through(&proxy));
    let here = Arc::new(open(&address).expect("it opens"));
    let there = place.open();
    let log = Log::with_turns("r", 1);
    assert!(submit(&there, &log, "ada").await);
    offer(&here).await;
    offer(&there).await;
    assert_eq!(take(&here).await.as_ref(), Some(&log.id));
    // What it sends to give the run up waits for a lock at the server, and every connection breaks until it gives up.
    place.sql("CREATE TABLE let_go ()");
    let (name, server) = (place.database.name.clone(), place.database.server);
    let holder = std::thread::spawn(move || server.sql(&name, HOLD_ALL));
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
    wait_until("the rows are locked", || place.sql(waiting) == "1");
    let (store, run) = (Arc::clone(&here), log.id.clone());
    let given_up = tokio::spawn(async move { store.release(&run).await });
    while !given_up.is_finished() {
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.forsake();
    }
    let given_up = given_up.await.expect("it does not panic");
    assert!(given_up.is_err_and(|error| error.may_pass()));
    // Somebody resumes it here by its name, and it is found to be held by this process.
    let (store, run) = (Arc::clone(&here), log.id.clone());
    let claimed = tokio::spawn(async move { store.claim(&run).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    place.sql("INSERT INTO let_go DEFAULT VALUES");
    holder.join().expect("it lets go");
    claimed
        .await
        .expect("it does not panic")
        .expect("nobody else has it");
    // All that waited has been carried out.
    let locks = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    wait_until("nothing waits any more", || place.sql(locks) == "0");
    assert_eq!(take(&there).await, None, "two drive it");
    log.append(&*here, 1).await.expect("it is the holder");
}

/// As a take does whose answer is lost.
const TAKE_UNHEARD: &str = "UPDATE bonded.drive SET epoch = epoch + 1, state = 1, \
    worker = (SELECT worker FROM bonded.drive WHERE worker IS NOT NULL) WHERE worker IS NULL";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_process_holds_without_knowing_it_is_given_back() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Proxy::start(place.database.server.port());
    let address = format!("{}?bonded_lease_ms=1000", place.address_through(&proxy));
    let here = open(&address).expect("it opens");
    let there = place.open();
    let (known, unheard) = (Log::with_turns("known", 3), Log::with_turns("unheard", 1));
    assert!(submit(&there, &known, "ada").await);
    offer(&here).await;
    assert_eq!(take(&here).await.as_ref(), Some(&known.id));
    assert!(submit(&there, &unheard, "ada").await);
    place.sql(TAKE_UNHEARD);
    // A connection breaks, so that it has a reason to look.
    proxy.forsake();
    let _lost = take(&here).await;
    let free = "SELECT count(*) FROM bonded.drive d JOIN bonded.run r USING (run) WHERE r.id = 'unheard' AND worker IS NULL";
    wait_until("it is given back", || place.sql(free) == "1");
    offer(&there).await;
    assert_eq!(take(&there).await.as_ref(), Some(&unheard.id));
    known.append(&here, 1).await.expect("that one it drives");
}
