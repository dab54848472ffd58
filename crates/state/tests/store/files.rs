//! Files that are not what they should be.

use std::fs;
use std::path::{Path, PathBuf};

use bonded_state::{SqliteStore, Store, StoreError};
use rusqlite::Connection;

use crate::sqlite::Place;
use bonded_testkit::stores::logs::Log;

struct Case {
    name: &'static str,
    make: fn(&Path),
    class: &'static str,
}

/// A store with something in it, closed.
fn make_store(file: &Path) {
    let store = SqliteStore::open(file).expect("the store opens");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("the runtime starts");
    runtime.block_on(Log::with_turns("r", 20).append_all(&store));
}

fn execute(file: &Path, sql: &str) {
    let connection = Connection::open(file).expect("the file opens");
    connection.execute_batch(sql).expect("the statement runs");
}

#[test]
fn a_file_that_is_no_usable_store_is_refused_by_its_class_and_name() {
    let cases = [
        Case {
            name: "a directory",
            make: |file| fs::create_dir(file).expect("it is made"),
            class: "NotAFile",
        },
        Case {
            name: "a short text",
            make: |file| fs::write(file, "hello\n").expect("it is written"),
            class: "NotAStore",
        },
        Case {
            name: "a long text",
            make: |file| fs::write(file, "hello\n".repeat(5000)).expect("it is written"),
            class: "NotAStore",
        },
        Case {
            name: "a database of another program",
            make: |file| execute(file, "CREATE TABLE t (x)"),
            class: "NotAStore",
        },
        Case {
            name: "a database with another application id",
            make: |file| execute(file, "PRAGMA application_id = 7"),
            class: "NotAStore",
        },
        Case {
            name: "a store of a newer build",
            make: |file| {
                make_store(file);
                execute(file, "PRAGMA user_version = 999");
            },
            class: "NewerFormat",
        },
        Case {
            name: "a store that was cut",
            make: |file| {
                make_store(file);
                let bytes = fs::read(file).expect("it is read");
                fs::write(file, &bytes[..bytes.len() / 2]).expect("it is written");
            },
            class: "Corrupt",
        },
        Case {
            name: "a store that was cut in its first page",
            make: |file| {
                make_store(file);
                let bytes = fs::read(file).expect("it is read");
                fs::write(file, &bytes[..700]).expect("it is written");
            },
            class: "Corrupt",
        },
    ];
    for case in cases {
        let place = Place::new();
        (case.make)(&place.file());
        let file = place.file();
        for opened in [SqliteStore::open(&file), SqliteStore::open_existing(&file)] {
            let error = opened.expect_err(case.name);
            let debug = format!("{error:?}");
            assert!(debug.starts_with(case.class), "{}: {debug}", case.name);
            let message = error.to_string();
            assert!(message.contains("store.db"), "{}: {message}", case.name);
        }
    }
}

#[test]
fn a_missing_store_is_made_only_where_that_is_asked() {
    let place = Place::new();
    let refused = SqliteStore::open_existing(&place.file());
    assert!(
        matches!(refused, Err(StoreError::Missing { .. })),
        "{refused:?}"
    );
    assert!(!place.file().exists());
    drop(place.open());
    SqliteStore::open_existing(&place.file()).expect("now it is there");
}

#[test]
fn an_empty_file_is_a_new_store() {
    let place = Place::new();
    fs::write(place.file(), "").expect("it is written");
    make_store(&place.file());
    assert_eq!(place.count("SELECT count(*) FROM run"), 1);
}

#[cfg(unix)]
#[test]
fn a_new_store_is_for_its_users_eyes_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let outer = place.file().with_file_name("outer");
    let file = outer.join("inner").join("store.db");
    let store = SqliteStore::open(&file).expect("the directories are made");
    let mode = |path: &Path| {
        let metadata = fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(&outer), 0o700);
    assert_eq!(mode(&outer.join("inner")), 0o700);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&file.with_file_name(name)), 0o600, "{name}");
    }
    drop(store);
}

/// A place where nothing can be written: a directory without permission, or, for a user whom
/// permissions do not bind, a part of the system that takes no files.
#[cfg(target_os = "linux")]
fn unwritable(place: &Place) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let dir = place.file().with_file_name("sealed");
    fs::create_dir(&dir).expect("it is made");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).expect("it is sealed");
    if fs::write(dir.join("probe"), "").is_ok() {
        return "/sys/store.db".into();
    }
    dir.join("store.db")
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_is_said_to_be_read_only() {
    let place = Place::new();
    let file = unwritable(&place);
    let error = SqliteStore::open(&file).expect_err("nothing can be written there");
    assert!(matches!(&error, StoreError::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().contains("store.db"), "{error}");
}

#[tokio::test]
async fn a_new_store_has_the_first_format_and_small_pages() {
    let place = Place::new();
    let (store, log) = (place.open(), Log::start("r", "stay"));
    log.append_all(&store).await;
    drop(store);
    assert_eq!(
        place.count("SELECT user_version FROM pragma_user_version"),
        1
    );
    assert_eq!(place.count("SELECT page_size FROM pragma_page_size"), 512);
    assert_eq!(place.open().load(&log.id, 0).await, Ok(log.entries()));
}
