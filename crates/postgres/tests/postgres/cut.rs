//! Connections that are cut in the middle of an append.

use std::thread;

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

/// Appends while nobody can connect for longer than that is waited for, and an answer is lost; whether that of the append was.
async fn is_left_in_doubt(
    place: &Place,
    proxy: &Proxy,
    append: impl Future<Output = Result<(), StoreError>>,
) -> bool {
    let name = &place.database.name;
    place.sql(&format!("ALTER DATABASE {name} CONNECTION LIMIT 0"));
    proxy.close_next(Way::Answers);
    let done = append.await;
    place.sql(&format!("ALTER DATABASE {name} CONNECTION LIMIT -1"));
    done.is_err_and(|error| error.may_pass())
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
    // The first step of a run, and a later one.
    for step in [0, 1] {
        // The answer that is lost is that of a renewal now and then.
        let mut tries = (0..20).map(|number| {
            let name = |what| format!("{what}-{step}-{number}");
            [
                Log::with_turns(&name("before"), 1),
                Log::with_turns(&name("log"), 1),
            ]
        });
        let log = loop {
            let [before, log] = tries.next().expect("one of them is left in doubt");
            // What is asked is prepared, and the worker is there.
            before.append_all(&store).await;
            for earlier in 0..step {
                log.append(&store, earlier).await.expect("it appends");
            }
            let append = log.append(&store, step);
            if is_left_in_doubt(&place, &proxy, append).await && epoch(&log) == "1" {
                let head = store.head(&log.id).await;
                if head == Ok(Some(log.steps[step].after())) {
                    break log;
                }
            }
        };
        assert_eq!(epoch(&log), "2");
        // It is settled once.
        store.head(&log.id).await.expect("it is read");
        assert_eq!(epoch(&log), "2");
        // Who appended holds the run.
        place.sql("UPDATE bonded.drive SET epoch = epoch + 1");
        let run = log.id.clone();
        let overtaken = log.append(&store, step + 1).await;
        assert_eq!(overtaken, Err(StoreError::TakenOver { run }));
    }
}
