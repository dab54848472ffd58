//! What is wrong with a server is said so that a person knows what to do.

use bonded_postgres::{PostgresStore, initialise};
use bonded_state::{ListFilter, ServerProblem, Store as _, StoreError};
use bonded_testkit::patience::wait_until;
use bonded_testkit::pooler::Pooler;
use bonded_testkit::postgres::{PASSWORD, PostgresServer, free_port};
use bonded_testkit::stores::logs::{Log, long};

use crate::place::{Place, address, open};

#[track_caller]
fn problem(opened: Result<PostgresStore, StoreError>) -> ServerProblem {
    match opened {
        Err(StoreError::Server { problem, at }) => {
            assert!(at.starts_with("postgres://"), "{at}");
            assert!(!at.contains(PASSWORD), "{at}");
            problem
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_server_is_one_that_cannot_be_reached() {
    let port = free_port();
    let found = problem(open(&format!("postgres://app@127.0.0.1:{port}/d")));
    assert!(
        matches!(found, ServerProblem::Unreachable { .. }),
        "{found}"
    );
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_the_right_one_opens() {
    let Some(place) = Place::new().await else {
        return;
    };
    let found = problem(open(&place.database.address_on_port("app", "guessed")));
    assert!(
        matches!(&found, ServerProblem::Denied { why } if why.contains("password")),
        "{found}"
    );
    open(&place.database.address_on_port("app", PASSWORD)).expect("it opens");
}

#[tokio::test]
async fn a_database_that_does_not_exist_and_a_user_who_is_no_member_are_denied() {
    let Some(place) = Place::new().await else {
        return;
    };
    let elsewhere = place
        .database
        .address("app")
        .replace(&place.database.name, "nowhere");
    let found = problem(open(&elsewhere));
    assert!(
        matches!(&found, ServerProblem::Denied { why } if why.contains("nowhere")),
        "{found}"
    );
    place.sql("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN");
    let found = problem(open(&place.database.address("stranger")));
    assert!(matches!(&found, ServerProblem::Denied { .. }), "{found}");
}

#[test]
fn a_database_without_a_store_is_told_from_one_with_another_schema() {
    let Some(place) = Place::empty() else {
        return;
    };
    assert_eq!(
        problem(open(&place.database.address("owner"))),
        ServerProblem::NoStore
    );
    place.sql("CREATE SCHEMA bonded");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let made = runtime
        .expect("a runtime can be had")
        .block_on(place.init());
    assert!(
        matches!(made, Err(StoreError::NotAStore { .. })),
        "{made:?}"
    );
}

#[tokio::test]
async fn an_older_and_a_newer_schema_are_refused() {
    let Some(place) = Place::new().await else {
        return;
    };
    let owner = place.database.address("app");
    place.sql("INSERT INTO bonded.migration VALUES (99, 'bonded')");
    let newer = open(&owner);
    assert!(
        matches!(newer, Err(StoreError::NewerFormat { found: 99, .. })),
        "{newer:?}"
    );
    let made = place.init().await;
    assert!(
        matches!(made, Err(StoreError::NewerFormat { found: 99, .. })),
        "{made:?}"
    );
    place.sql("DELETE FROM bonded.migration");
    let found = problem(open(&owner));
    assert!(
        matches!(found, ServerProblem::OlderFormat { found: 0, .. }),
        "{found}"
    );
}

#[tokio::test]
async fn settings_that_lose_what_was_acknowledged_are_refused_unless_they_are_allowed() {
    let Some(place) = Place::new().await else {
        return;
    };
    for weaker in ["off", "local", "remote_write"] {
        let name = &place.database.name;
        place.sql(&format!(
            "ALTER DATABASE {name} SET synchronous_commit = {weaker}"
        ));
        let found = problem(open(&place.database.address("app")));
        let setting = format!("synchronous_commit = {weaker}");
        assert_eq!(found, ServerProblem::Unsynced { setting });
        let allowed = format!(
            "{}&bonded_allow_unsynced=yes",
            place.database.address("app")
        );
        open(&allowed).expect("it is allowed");
    }
}

#[tokio::test]
async fn a_full_database_and_one_that_takes_no_writes_are_told_apart() {
    let Some(place) = Place::new().await else {
        return;
    };
    let name = &place.database.name;
    place.sql(&format!("ALTER DATABASE {name} CONNECTION LIMIT 0"));
    let found = problem(open(&place.database.address("app")));
    assert!(
        matches!(found, ServerProblem::NoConnection { .. }),
        "{found}"
    );
    place.sql(&format!(
        "ALTER DATABASE {name} CONNECTION LIMIT -1; ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    let found = problem(open(&place.database.address("app")));
    assert!(matches!(found, ServerProblem::ReadOnly { .. }), "{found}");
}

/// More than an empty store needs.
const SMALL_DISK_BYTES: u64 = 4 << 20;

#[tokio::test]
async fn a_server_whose_disk_is_full_has_appended_nothing_and_goes_on_when_there_is_room() {
    let Some(server) = PostgresServer::with_small_disk(SMALL_DISK_BYTES) else {
        return;
    };
    let place = Place::on(server).await;
    place.sql("CREATE TABLE filler (bytes text)");
    let store = place.open();
    let mut log = Log::start("r", "say something");
    for turn in 0..100 {
        log.turn(&format!("{turn} {}", long("a text that lies in the log, ")));
    }
    log.append(&store, 0).await.expect("it appends");
    // Until there is no room for another row.
    place.sql(
        "DO $$ BEGIN LOOP INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 8); END LOOP; \
         EXCEPTION WHEN disk_full THEN NULL; END $$",
    );
    let mut step = 1;
    let full = loop {
        match log.append(&store, step).await {
            Ok(()) => step += 1,
            Err(full) => break full,
        }
    };
    assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
    let before = log.steps[step].before();
    assert_eq!(store.head(&log.id).await, Ok(Some(before)));
    place.sql("DROP TABLE filler");
    for step in step..log.steps.len() {
        log.append(&store, step).await.expect("there is room again");
    }
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
}

#[tokio::test]
async fn a_server_that_takes_no_more_connections_says_so_and_is_waited_for() {
    // Three are the superuser's.
    let Some(server) = PostgresServer::start(&["max_connections=11"]) else {
        return;
    };
    let place = Place::on(server).await;
    let address = place.database.address("app");
    let mut stores = vec![];
    let found = loop {
        match open(&address) {
            Ok(store) => stores.push(store),
            refused => break problem(refused),
        }
    };
    assert!(
        matches!(found, ServerProblem::NoConnection { .. }),
        "{found}"
    );
    // One of them wants more connections at once than there are.
    let logs: Vec<Log> = (0..8)
        .map(|n| Log::with_turns(&format!("r{n}"), 3))
        .collect();
    let store = &stores[0];
    let appends = logs.iter().map(|log| log.append_all(store));
    futures_util::future::join_all(appends).await;
    for log in &logs {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
    drop(stores.pop());
    wait_until("there is a place again", || open(&address).is_ok());
}

#[tokio::test]
async fn a_standby_is_read_and_refuses_to_be_written() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let place = Place::on(server).await;
    let log = Log::with_turns("r", 1);
    log.append_all(&place.open()).await;
    let standby = place.database.server.standby();
    let there = place.database.address_on(&standby, "app");
    let found = problem(open(&there));
    assert!(matches!(found, ServerProblem::ReadOnly { .. }), "{found}");
    let reader = PostgresStore::open_to_read(address(&there), "beside".into());
    let reader = reader.expect("it is read");
    assert_eq!(reader.load(&log.id, 0).await, Ok(log.entries()));
    let listed = reader.list(ListFilter::default()).await.expect("it lists");
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn what_makes_a_store_refuses_a_pooler() {
    let Some(place) = Place::empty() else {
        return;
    };
    for ignored in ["extra_float_digits", "options,extra_float_digits"] {
        let Some(pooler) = Pooler::start(place.database.server, ignored) else {
            return;
        };
        let owner = address(&pooler.address(&place.database, "owner"));
        let found = match initialise(&owner, &[]).await {
            Err(StoreError::Server { problem, .. }) => problem,
            other => panic!("{other:?}"),
        };
        assert!(
            matches!(found, ServerProblem::Pooler { .. }),
            "{ignored}: {found}"
        );
    }
}
