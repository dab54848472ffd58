//! Logs that somebody changed behind the store's back.

use bonded_kernel::BadEntry;
use bonded_state::{ListFilter, Store, StoreError};

use crate::sqlite::Place;
use bonded_testkit::stores::logs::{Log, long};

/// Lifts the protection that the tables have, as somebody with the file could.
const UNPROTECT: &str = "DROP TRIGGER entry_not_updated; DROP TRIGGER entry_not_deleted; \
                         DROP TRIGGER blob_not_updated; DROP TRIGGER blob_not_deleted; ";

struct Damage {
    sql: &'static str,
    expected: fn(&BadEntry) -> bool,
}

#[tokio::test]
async fn a_changed_log_is_refused_with_its_file_its_run_and_its_entry() {
    let table = [
        Damage {
            sql: "UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), 'turn 2', 'turn 3') AS BLOB)",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 8 }),
        },
        Damage {
            sql: "UPDATE entry SET at = at + 1 WHERE id & 0xffffff = 3",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 4 }),
        },
        Damage {
            sql: "UPDATE entry SET turn = turn + 1 WHERE id & 0xffffff = 4",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 4 }),
        },
        Damage {
            sql: "UPDATE entry SET hash = zeroblob(32) WHERE id & 0xffffff = 5",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 5 }),
        },
        Damage {
            sql: "DELETE FROM entry WHERE id & 0xffffff = 6",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 8 }),
        },
        Damage {
            sql: "DELETE FROM entry WHERE id & 0xffffff = 10",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 9 }),
        },
        Damage {
            sql: "DELETE FROM entry WHERE id & 0xffffff = 1",
            expected: |bad| matches!(bad, BadEntry::BrokenChain { seq: 2 }),
        },
        Damage {
            sql: "UPDATE entry SET format = 99 WHERE id & 0xffffff = 2",
            expected: |bad| matches!(bad, BadEntry::NewerFormat { seq: 2, found: 99 }),
        },
        Damage {
            sql: "DELETE FROM blob",
            expected: |bad| matches!(bad, BadEntry::MissingBlob { seq: 5, .. }),
        },
        Damage {
            sql: "UPDATE blob SET bytes = x'78'",
            expected: |bad| matches!(bad, BadEntry::MissingBlob { seq: 5, .. }),
        },
    ];
    for Damage { sql, expected } in table {
        let place = Place::new();
        let store = place.open();
        let mut log = Log::start("r", "be damaged");
        log.turn(&long("output "));
        log.turn("output");
        log.append_all(&store).await;
        place
            .plain()
            .execute_batch(&format!("{UNPROTECT} {sql}"))
            .expect("the damage is done");
        let error = store.load(&log.id, 0).await.expect_err(sql);
        let StoreError::BadLog { file, run, source } = &error else {
            panic!("{sql}: {error:?}");
        };
        assert_eq!((file, run), (&place.file(), &log.id));
        assert!(expected(source), "{sql}: {source}");
        assert!(error.to_string().contains("store.db"), "{error}");
    }
}

#[tokio::test]
async fn a_damaged_run_is_listed_as_damaged_and_hides_no_other() {
    let place = Place::new();
    let store = place.open();
    Log::start("r", "be damaged").append_all(&store).await;
    let sql = format!("{UNPROTECT} DELETE FROM entry");
    place
        .plain()
        .execute_batch(&sql)
        .expect("the damage is done");
    Log::start("s", "be whole").append_all(&store).await;
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    let ends: Vec<_> = listed.iter().map(|one| &one.ends).collect();
    assert!(
        matches!(ends[..], [Ok(_), Err(StoreError::BadLog { .. })]),
        "{ends:?}"
    );
}
