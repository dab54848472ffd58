//! What only the store in a file does: append-only tables, blobs once, groups, and what survives.

use std::path::PathBuf;

use bonded_state::{SqliteStore, Store, StoreError};
use futures_util::FutureExt;
use futures_util::future::join_all;
use rusqlite::Connection;
use tempfile::TempDir;

use bonded_testkit::stores::logs::{Log, long};

pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { dir }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.file()).expect("the store opens")
    }

    /// A connection as anybody could open one.
    pub(crate) fn plain(&self) -> Connection {
        Connection::open(self.file()).expect("the file opens")
    }

    pub(crate) fn count(&self, sql: &str) -> i64 {
        let count = self.plain().query_row(sql, [], |row| row.get(0));
        count.expect("it counts")
    }
}

#[tokio::test]
async fn the_log_is_append_only_for_everybody() {
    let place = Place::new();
    let store = place.open();
    Log::start("r", &long("goal ")).append_all(&store).await;
    let plain = place.plain();
    let forbidden = [
        "UPDATE run SET goal = 'x'",
        "UPDATE entry SET body = x'00'",
        "UPDATE OR REPLACE entry SET id = id + 1",
        "UPDATE blob SET bytes = x'00'",
        "DELETE FROM run",
        "DELETE FROM entry",
        "DELETE FROM blob",
        "INSERT OR REPLACE INTO run SELECT key, id, 'x' FROM run",
        "INSERT OR REPLACE INTO run (id, goal) SELECT id, 'x' FROM run",
        "INSERT OR REPLACE INTO entry SELECT id, format, at, turn, x'00', hash FROM entry",
        "INSERT OR REPLACE INTO blob SELECT hash, x'00' FROM blob",
        "INSERT OR REPLACE INTO blob (rowid, hash, bytes) VALUES (1, x'01', x'00')",
    ];
    for recursive_triggers in [false, true] {
        let set = plain.pragma_update(None, "recursive_triggers", recursive_triggers);
        set.expect("the pragma is known");
        for sql in forbidden {
            let refused = plain.execute(sql, []).expect_err(sql);
            assert!(
                refused.to_string().contains("append-only"),
                "{sql}: {refused}"
            );
        }
    }
}

#[tokio::test]
async fn a_text_that_is_said_often_is_stored_once() {
    let place = Place::new();
    let store = place.open();
    for name in ["r", "s"] {
        let mut log = Log::start(name, &long("goal "));
        for output in ["same ", "same ", "other ", "same "] {
            log.turn(&long(output));
        }
        log.append_all(&store).await;
    }
    assert_eq!(place.count("SELECT count(*) FROM blob"), 3);
}

#[tokio::test]
async fn everything_is_there_after_the_store_was_opened_again() {
    let place = Place::new();
    let mut log = Log::start("r", &long("goal "));
    log.turn("output");
    let store = place.open();
    log.append_all(&store).await;
    drop(store);
    assert!(!place.dir.path().join("store.db-wal").exists());
    let store = SqliteStore::open_existing(&place.file()).expect("the store is there");
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    log.turn("more");
    log.append(&store, 3).await.expect("it goes on");
}

#[tokio::test]
async fn appends_at_the_same_time_share_their_commits() {
    let place = Place::new();
    let store = place.open();
    let logs: Vec<Log> = (0..256)
        .map(|i| Log::with_turns(&format!("r{i}"), 0))
        .collect();
    join_all(logs.iter().map(|log| log.append_all(&store))).await;
    let commits = store.commits();
    assert!(
        (1..=32).contains(&commits),
        "{commits} commits for 256 appends"
    );
}

#[tokio::test]
async fn a_refused_append_does_not_touch_the_others_of_its_group() {
    let place = Place::new();
    let store = place.open();
    let good: Vec<Log> = (0..8)
        .map(|i| Log::with_turns(&format!("r{i}"), 1))
        .collect();
    let bad: Vec<Log> = (0..8)
        .map(|i| Log::with_turns(&format!("s{i}"), 1))
        .collect();
    let firsts = good.iter().chain(&bad).map(|log| log.append(&store, 0));
    join_all(firsts).await;
    let pairs = good.iter().zip(&bad);
    let seconds = pairs.flat_map(|(g, b)| [g.append(&store, 1), b.append(&store, 2)]);
    for (number, result) in join_all(seconds).await.into_iter().enumerate() {
        assert_eq!(
            result.is_ok(),
            number % 2 == 0,
            "append {number}: {result:?}"
        );
    }
}

#[tokio::test]
async fn a_group_that_fails_is_rolled_back_and_said_to_have_failed() {
    let place = Place::new();
    let store = place.open();
    let logs: Vec<Log> = (0..8)
        .map(|i| Log::with_turns(&format!("r{i}"), 1))
        .collect();
    // The second entry of each append fails, after the first was written.
    let trap = "CREATE TRIGGER trap BEFORE INSERT ON entry WHEN NEW.id & 1 = 0 \
                BEGIN SELECT RAISE(ABORT, 'trap'); END";
    place.plain().execute_batch(trap).expect("the trap is set");
    for result in join_all(logs.iter().map(|log| log.append(&store, 0))).await {
        let error = result.expect_err("it runs into the trap");
        assert!(
            matches!(&error, StoreError::Io { why, .. } if why.contains("trap")),
            "{error}"
        );
    }
    for table in ["run", "entry", "blob", "lease"] {
        assert_eq!(
            place.count(&format!("SELECT count(*) FROM {table}")),
            0,
            "{table}"
        );
    }
    place
        .plain()
        .execute_batch("DROP TRIGGER trap")
        .expect("the trap is gone");
    join_all(logs.iter().map(|log| log.append_all(&store))).await;
    for log in &logs {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
}

#[tokio::test]
async fn what_was_queued_is_written_before_the_store_closes() {
    let place = Place::new();
    let store = place.open();
    let log = Log::start("r", "queued");
    let mut append = log.append(&store, 0).boxed_local();
    let _ = futures_util::poll!(&mut append);
    drop(append);
    drop(store);
    let store = place.open();
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
}

#[tokio::test]
async fn a_store_that_stays_locked_is_reported_with_its_file() {
    let place = Place::new();
    let store = place.open();
    let plain = place.plain();
    plain
        .execute_batch("BEGIN IMMEDIATE")
        .expect("it is locked");
    let log = Log::start("r", "wait");
    let error = log.append(&store, 0).await.expect_err("it is locked");
    assert!(
        matches!(&error, StoreError::Locked { file, .. } if *file == place.file()),
        "{error}"
    );
    plain.execute_batch("ROLLBACK").expect("it is unlocked");
    log.append(&store, 0).await.expect("it goes on");
}

#[tokio::test]
async fn a_worker_leaves_a_file_only_while_it_lives_and_holds() {
    let place = Place::new();
    let workers = place.dir.path().join("store.db.workers");
    let count = || std::fs::read_dir(&workers).map_or(0, Iterator::count);
    let (store, other) = (place.open(), place.open());
    assert_eq!(count(), 0);
    let log = Log::start("r", "hold");
    log.append_all(&store).await;
    assert_eq!(count(), 1);
    drop(store);
    assert_eq!(count(), 0);
    // A file that a killed process left is removed by whoever meets it.
    let stale = place
        .plain()
        .query_row("SELECT worker FROM lease", [], |row| {
            row.get::<_, String>(0)
        });
    let stale = workers.join(stale.expect("the lease is there"));
    std::fs::write(&stale, "").expect("it is written");
    other.claim(&log.id).await.expect("its holder is gone");
    assert!(!stale.exists());
    assert_eq!(count(), 1);
}

#[test]
fn many_may_create_a_store_at_the_same_time() {
    for _ in 0..5 {
        let place = Place::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| drop(place.open()));
            }
        });
        assert_eq!(place.count("SELECT count(*) FROM run"), 0);
    }
}
