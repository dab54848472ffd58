//! The schema: made once, and never changed but by its owner.

use bonded_postgres::Initialised;
use bonded_state::{ListFilter, Store as _, StoreError};
use bonded_testkit::stores::logs::{Log, long};
use futures_util::future::join_all;

use crate::place::Place;

#[tokio::test]
async fn many_who_make_the_store_at_once_make_it_once() {
    let Some(place) = Place::empty() else {
        return;
    };
    let all = join_all((0..6).map(|_| place.init())).await;
    let made = |before| Ok(Initialised { before, after: 4 });
    assert_eq!(
        all.iter().filter(|it| **it == made(0)).count(),
        1,
        "{all:?}"
    );
    assert_eq!(
        all.iter().filter(|it| **it == made(4)).count(),
        5,
        "{all:?}"
    );
}

#[tokio::test]
async fn a_store_of_the_version_before_is_refused_until_it_is_brought_up_to_date() {
    let Some(place) = Place::new().await else {
        return;
    };
    let first = include_str!("../../src/001.sql");
    place.sql(&format!(
        "DROP SCHEMA bonded CASCADE; CREATE SCHEMA bonded; CREATE TABLE bonded.migration (version int PRIMARY KEY, \
         program text NOT NULL, at timestamptz NOT NULL DEFAULT now()); {first}; \
         INSERT INTO bonded.migration VALUES (1, 'bonded'); \
         INSERT INTO bonded.worker (name, expires, dead) VALUES ('old', now(), true); \
         INSERT INTO bonded.drive VALUES (7, 1, 1, 1, 'hash')"
    ));
    let refused = crate::place::open(&place.database.address("app"));
    let refused = refused.expect_err("it is older").to_string();
    assert!(refused.contains("bonded store init"), "{refused}");
    let brought = Initialised {
        before: 1,
        after: 4,
    };
    assert_eq!(place.init().await, Ok(brought));
    let store = place.open();
    store.sweep().await.expect("it sweeps");
    let kept = place.sql("SELECT worker, state FROM bonded.drive");
    assert_eq!(kept, "1|4", "a run that was begun before is no worker's");
}

#[tokio::test]
async fn the_log_is_append_only_for_the_role_of_the_store_and_for_its_owner() {
    let Some(place) = Place::new().await else {
        return;
    };
    let store = place.open();
    let log = Log::start("r", &long("goal "));
    log.append_all(&store).await;
    let forbidden = [
        "UPDATE bonded.run SET goal = 'x'",
        "UPDATE bonded.step SET body = ''",
        "UPDATE bonded.blob SET bytes = ''",
        "DELETE FROM bonded.run",
        "DELETE FROM bonded.step",
        "DELETE FROM bonded.blob",
        "TRUNCATE bonded.step",
        "INSERT INTO bonded.step SELECT * FROM bonded.step ON CONFLICT (run, first) DO UPDATE SET body = ''",
    ];
    for sql in forbidden {
        for (role, why) in [
            ("bonded_app", "permission denied"),
            ("owner", "append-only"),
        ] {
            let attempt = format!(
                "DO $do$ BEGIN SET LOCAL ROLE {role}; {sql}; RAISE EXCEPTION 'it was done'; \
                 EXCEPTION WHEN OTHERS THEN CREATE TEMP TABLE said AS SELECT SQLERRM AS text; END $do$; SELECT text FROM said"
            );
            let said = place.sql(&attempt);
            assert!(said.contains(why), "{role}: {sql}: {said}");
        }
    }
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
}

#[tokio::test]
async fn a_log_that_its_owner_changed_all_the_same_is_found_out() {
    let Some(place) = Place::new().await else {
        return;
    };
    let damages = [
        "UPDATE bonded.step SET body = overlay(body PLACING '\\x00' FROM 40) WHERE run = {run} AND first = 1",
        "UPDATE bonded.step SET hash = decode(repeat('00', 32), 'hex') WHERE run = {run} AND first > 1",
        "DELETE FROM bonded.step WHERE run = {run} AND first = 1",
        "DELETE FROM bonded.step WHERE run = {run} AND first = (SELECT max(first) FROM bonded.step WHERE run = {run})",
        "DELETE FROM bonded.blob WHERE run = {run}",
    ];
    let store = place.open();
    for (number, sql) in damages.iter().enumerate() {
        let mut log = Log::start(&format!("r{number}"), "be damaged");
        log.turn(&long("output "));
        log.turn("output");
        log.append_all(&store).await;
        let key = place.sql(&format!(
            "SELECT run FROM bonded.run WHERE id = '{}'",
            log.id
        ));
        let sql = sql.replace("{run}", &key);
        place.sql(&format!("SET session_replication_role = replica; {sql}"));
        let loaded = store.load(&log.id, 0).await;
        assert!(
            matches!(loaded, Err(StoreError::BadLog { .. })),
            "{sql}: {loaded:?}"
        );
    }
    Log::start("whole", "be whole").append_all(&store).await;
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    assert!(listed[0].ends.is_ok(), "a damaged run hides no other");
}
