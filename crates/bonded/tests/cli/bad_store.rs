//! Stores that cannot be used, were tampered with, or run out of space.

use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::place::{Done, Place, call, done, finish, start, with};
use crate::watch::{of_kind, read, write};

/// A run whose texts are long enough to lie in blobs.
fn three_turns() -> Vec<Value> {
    let content = "long ".repeat(2000);
    vec![
        call("write", json!({ "path": "a.txt", "content": content })),
        call("read", json!({ "path": "a.txt" })),
        done("ok"),
    ]
}

/// The sequence number of an entry, in SQL.
const SEQ: &str = "id & 0xffffff";

/// Changes the store behind the program's back, past the triggers that forbid it.
pub(crate) fn tamper(place: &Place, sql: &str) {
    let store = Connection::open(place.path("store.db")).expect("the store can be opened");
    let mut names = store
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .expect("the schema can be read");
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect)
        .expect("the triggers have names");
    for name in names {
        store
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .expect("a trigger can be dropped");
    }
    store.execute_batch(sql).expect("the change can be made");
    assert!(store.changes() > 0, "{sql} changed nothing");
}

fn every_look(place: &Place) -> Vec<Done> {
    let commands: [&[&str]; 4] = [
        &["show", "run"],
        &["replay", "run"],
        &["verify", "run"],
        &["resume", "run"],
    ];
    commands
        .iter()
        .map(|command| place.bonded(command))
        .collect()
}

#[test]
fn the_log_refuses_to_be_changed_by_anyone_who_does_not_drop_its_triggers() {
    let place = Place::new();
    place.play(&three_turns()).succeeds();
    let store = Connection::open(place.path("store.db")).expect("the store can be opened");
    for sql in [
        "UPDATE entry SET turn = 9",
        "DELETE FROM entry",
        "UPDATE blob SET bytes = x'00'",
        "DELETE FROM run",
    ] {
        let refused = store.execute_batch(sql).expect_err(sql).to_string();
        assert!(refused.contains("append-only"), "{sql}: {refused}");
    }
}

#[test]
fn a_log_that_was_tampered_with_is_refused_with_file_run_and_entry() {
    let swap = "CAST(replace(CAST(body AS TEXT), 'write', 'wrote') AS BLOB)";
    // A step of two entries is proved by the hash of its second.
    let table = [
        (
            format!("UPDATE entry SET body = {swap} WHERE {SEQ} = 3"),
            3..=4,
        ),
        (
            format!("UPDATE entry SET at = at + 1 WHERE {SEQ} = 5"),
            5..=6,
        ),
        (format!("UPDATE entry SET turn = 7 WHERE {SEQ} = 2"), 2..=2),
        (
            format!("UPDATE entry SET hash = zeroblob(32) WHERE {SEQ} = 4"),
            4..=4,
        ),
        (format!("DELETE FROM entry WHERE {SEQ} = 6"), 6..=8),
        (format!("DELETE FROM entry WHERE {SEQ} = 7"), 7..=8),
        (format!("DELETE FROM entry WHERE {SEQ} = 1"), 1..=2),
        ("UPDATE run SET goal = 'another'".to_owned(), 1..=2),
        (
            "UPDATE blob SET bytes = CAST('changed' AS BLOB)".to_owned(),
            1..=3,
        ),
        ("DELETE FROM blob".to_owned(), 1..=3),
    ];
    for (sql, entries) in table {
        let place = Place::new();
        place.play(&three_turns()).succeeds();
        tamper(&place, &sql);
        for look in every_look(&place) {
            let mut entries = entries.clone();
            assert_eq!(
                (look.code, look.error()),
                (Some(1), "broken-log"),
                "{sql}: {look:?}"
            );
            for part in ["store.db", "run run"] {
                assert!(look.stderr.contains(part), "{sql}: {part}: {}", look.stderr);
            }
            let is_named = entries.any(|entry| look.stderr.contains(&format!("entry {entry}")));
            assert!(is_named, "{sql}: {}", look.stderr);
        }
    }
}

#[test]
fn a_log_that_was_cut_at_its_end_is_a_run_that_has_not_ended() {
    let place = Place::new();
    place.play(&three_turns()).succeeds();
    tamper(&place, &format!("DELETE FROM entry WHERE {SEQ} > 6"));
    let resumed = place.resume();
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "ok\n"),
        "{resumed:?}"
    );
    assert_eq!(of_kind(&place.entries("run"), "run_ended").len(), 1);
}

#[test]
fn a_log_that_was_cut_inside_a_step_is_refused() {
    let place = Place::new();
    place.play(&three_turns()).succeeds();
    tamper(&place, &format!("DELETE FROM entry WHERE {SEQ} > 7"));
    for look in every_look(&place) {
        look.fails_with(1, "broken-log");
        assert!(look.stderr.contains("store.db"), "{}", look.stderr);
    }
}

#[test]
fn verify_of_all_runs_tells_the_damaged_from_the_whole() {
    let place = Place::new();
    let script = place.script(&three_turns());
    for id in ["good-1", "run", "good-2"] {
        place
            .bonded(&["run", "--id", id, "--model", &script, "the goal"])
            .succeeds();
    }
    tamper(
        &place,
        "UPDATE entry SET at = at + 1 WHERE id >> 24 = 2 AND id & 0xffffff = 5",
    );
    let all = place.bonded(&["verify", "--all"]);
    all.fails_with(1, "broken-log");
    assert!(
        all.stderr.contains("1 of 3 logs are damaged"),
        "{}",
        all.stderr
    );
    for (id, state) in [
        ("good-1", "log intact"),
        ("good-2", "log intact"),
        ("run", "DAMAGED"),
    ] {
        let line = all
            .stdout
            .lines()
            .find(|line| line.starts_with(&format!("run {id}:")));
        assert!(
            line.is_some_and(|line| line.contains(state)),
            "{id}: {}",
            all.stdout
        );
    }
}

#[test]
fn a_store_of_a_newer_build_is_refused_and_left_as_it_is() {
    let place = Place::new();
    place.play(&three_turns()).succeeds();
    tamper(
        &place,
        "PRAGMA user_version = 99; UPDATE lease SET worker = ''; INSERT INTO lease VALUES (1, 'x')",
    );
    for look in every_look(&place) {
        look.fails_with(3, "store-newer");
        assert!(look.stderr.contains("format 99"), "{}", look.stderr);
    }
    let place = Place::new();
    place.play(&three_turns()).succeeds();
    tamper(
        &place,
        "UPDATE entry SET format = 99 WHERE id & 0xffffff = 4",
    );
    for look in every_look(&place) {
        look.fails_with(3, "store-newer");
        assert!(
            look.stderr.contains("entry 4 has format 99"),
            "{}",
            look.stderr
        );
    }
}

#[test]
fn what_is_not_a_store_is_refused_and_not_touched() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let text = place.path("notes.txt");
    write(&text, "my notes, dear to me\n".repeat(100));
    let other = place.path("other.db");
    let database = Connection::open(&other).expect("a database can be made");
    database
        .execute_batch("CREATE TABLE mine (x)")
        .expect("a table can be made");
    drop(database);
    for path in [&text, &other] {
        let before = std::fs::read(path).expect("the file is there");
        let store = path.display().to_string();
        for command in [&["run", "--model", &script, "the goal"][..], &["runs"]] {
            let refused = place.bonded(&[&["--store", &store], command].concat());
            refused.fails_with(4, "store-not-a-store");
            assert!(refused.stderr.contains(&store), "{}", refused.stderr);
        }
        assert_eq!(std::fs::read(path).expect("the file is there"), before);
    }
    let directory = place.work().display().to_string();
    let refused = place.bonded(&["--store", &directory, "run", "--model", &script, "the goal"]);
    refused.fails_with(4, "store-not-a-store");
}

#[test]
fn an_empty_file_is_a_new_store() {
    let place = Place::new();
    write(&place.path("store.db"), "");
    place.play(&[done("ok")]).succeeds();
    place.passes_the_audit("run");
}

#[test]
fn a_store_that_was_cut_off_is_reported_as_damaged_or_as_no_store() {
    let whole = Place::new();
    whole.play(&three_turns()).succeeds();
    let bytes = std::fs::read(whole.path("store.db")).expect("the store is there");
    for kept in [50, 512, 5_000, bytes.len() / 2, bytes.len() - 512] {
        let place = Place::new();
        write(&place.path("store.db"), &bytes[..kept]);
        let shown = place.bonded(&["show", "run"]);
        let said = (shown.code, shown.error());
        let clear = [
            (Some(3), "store-corrupt"),
            (Some(4), "store-not-a-store"),
            (Some(1), "broken-log"),
        ];
        assert!(clear.contains(&said), "{kept} bytes: {shown:?}");
        assert!(shown.stderr.contains("store.db"), "{}", shown.stderr);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    for store in ["/proc/store.db", "/proc/none/store.db"] {
        let refused = place.bonded(&["--store", store, "run", "--model", &script, "the goal"]);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(
            ["store-io", "store-read-only"].contains(&refused.error()),
            "{refused:?}"
        );
        assert!(refused.stderr.contains(store), "{}", refused.stderr);
    }
}

#[test]
fn a_store_that_another_program_keeps_locked_is_given_up_after_a_while() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let lock = Connection::open(place.path("store.db")).expect("the store can be opened");
    lock.execute_batch("BEGIN EXCLUSIVE")
        .expect("the store can be locked");
    let script = place.script(&[done("ok")]);
    let refused = place.bonded(&["run", "--id", "other", "--model", &script, "the goal"]);
    refused.fails_with(3, "store-locked");
    assert!(refused.stderr.contains("5000 ms"), "{}", refused.stderr);
    lock.execute_batch("ROLLBACK")
        .expect("the store can be unlocked");
    place
        .bonded(&["run", "--id", "other", "--model", &script, "the goal"])
        .succeeds();
}

/// Replies that fill a store: each has another text of 30,000 characters.
fn filling() -> Vec<Value> {
    let mut lines: Vec<Value> = (0..20)
        .map(|n| {
            let content = format!("{n} {}", "fill ".repeat(6000));
            call("write", json!({ "path": "fill.txt", "content": content }))
        })
        .collect();
    lines.push(with(done("ok"), "expect", json!(["\"bytes\":"])));
    lines
}

#[test]
fn a_file_that_may_not_grow_stops_the_run_and_it_goes_on_when_it_may() {
    let place = Place::new();
    let script = place.script(&filling());
    // Ignored, so that a write beyond the limit fails instead of ending the process.
    let limited = "trap '' XFSZ; ulimit -f 400; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_bonded");
    let words = [
        "-c", limited, "sh", program, "run", "--id", "run", "--model", &script, "the goal",
    ];
    let stopped = finish(start(&mut place.command_of(Path::new("sh"), &words)));
    assert_eq!(stopped.code, Some(3), "{stopped:?}");
    assert!(
        ["store-full", "store-io"].contains(&stopped.error()),
        "{stopped:?}"
    );
    place.resume().succeeds();
    assert_eq!(of_kind(&place.entries("run"), "run_ended").len(), 1);
    place.passes_the_audit("run");
}

/// Runs the program in a mount of its own that is almost full, then makes room and resumes.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=256k tmpfs "$1" || exit 77
bonded=$2 script=$3
"$bonded" --store "$1/store.db" run --id run --model "$script" "the goal"
echo "stopped with $?"
mount -o remount,size=32m "$1" || exit 77
"$bonded" --store "$1/store.db" resume run
echo "resumed with $?"
"$bonded" --store "$1/store.db" verify run
[ $? = 7 ] && "$bonded" --store "$1/store.db" replay run
echo "audited with $?"
"#;

#[test]
fn a_full_disk_stops_the_run_with_store_full_and_it_goes_on_after_space_was_freed() {
    if !can_mount() {
        // Mounting needs namespaces; the test above proves the same with a limit of file size.
        return;
    }
    let place = Place::new();
    let script = place.script(&filling());
    let disk = place.path("disk");
    std::fs::create_dir(&disk).expect("a directory can be made");
    let disk = disk.display().to_string();
    let program = env!("CARGO_BIN_EXE_bonded");
    let words = ["-rm", "sh", "-c", FULL_DISK, "sh", &disk, program, &script];
    let end = finish(start(&mut place.command_of(Path::new("unshare"), &words)));
    assert_eq!(end.code, Some(0), "{end:?}");
    end.fails_with(0, "store-full");
    for part in ["stopped with 3", "ok\nresumed with 0", "audited with 0"] {
        assert!(end.stdout.contains(part), "{part}: {end:?}");
    }
    assert!(read(&place.work().join("fill.txt")).starts_with("19 fill"));
}

pub(crate) fn can_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

#[test]
fn a_store_that_is_removed_or_replaced_under_a_run_stops_it() {
    let ways: [fn(&Place); 2] = [
        |place| {
            for name in ["store.db", "store.db-wal", "store.db-shm"] {
                std::fs::remove_file(place.path(name)).expect("it can be removed");
            }
        },
        |place| {
            std::fs::rename(place.path("store.db"), place.path("old.db")).expect("it can be moved");
            std::fs::copy(place.path("old.db"), place.path("store.db")).expect("it can be copied");
        },
    ];
    for change in ways {
        let place = Place::new();
        let wait = "while [ ! -e go ]; do sleep 0.05; done";
        let lines = [call("run", json!({ "command": wait })), done("ok")];
        let driver = place.start_until(&lines, 1, "tool_invoked");
        change(&place);
        write(&place.work().join("go"), "");
        let driver = finish(driver);
        driver.fails_with(3, "store-replaced");
        assert_eq!(driver.stdout, "");
    }
}

/// Looks at everything on a mount that nobody can write to.
const READ_ONLY: &str = r#"
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77
bonded=$2 dir=$1
look() { "$bonded" "$@" > /dev/null; code=$?; echo "$1 $code"; }
look runs --store "$dir/store.db"
look show run --store "$dir/store.db"
look verify --all --store "$dir/store.db"
look replay run --store "$dir/store.db"
look doctor --store "$dir/store.db"
look note --data "$dir/data" list
look user --data "$dir/data" list
look user --data "$dir/data" tokens owner
look rule --data "$dir/data" list
look export out --data "$dir/data"
look cancel run --store "$dir/store.db"
"#;

#[test]
fn what_only_looks_works_on_a_mount_that_is_read_only() {
    if !can_mount() {
        return;
    }
    for with_wal in [false, true] {
        let place = Place::new();
        let disk = place.path("disk");
        std::fs::create_dir(&disk).expect("a directory can be made");
        let store = disk.join("store.db").display().to_string();
        let script = place.script(&[done("ok")]);
        let words = [
            "run", "--store", &store, "--id", "run", "--model", &script, "goal",
        ];
        place.bonded(&words).succeeds();
        let data = disk.join("data").display().to_string();
        place.bonded(&["init", &data]).succeeds();
        let open = Connection::open(&store).expect("the store can be opened");
        if with_wal {
            // A program that has it open keeps the WAL.
            let _: i64 = open
                .query_row("SELECT count(*) FROM entry", [], |row| row.get(0))
                .expect("it can be read");
            let late = [
                "run", "--store", &store, "--id", "late", "--model", &script, "goal",
            ];
            place.bonded(&late).succeeds();
        }
        let program = env!("CARGO_BIN_EXE_bonded");
        let disk = disk.display().to_string();
        let words = ["-rm", "sh", "-c", READ_ONLY, "sh", &disk, program];
        let end = finish(start(&mut place.command_of(Path::new("unshare"), &words)));
        let codes: Vec<&str> = end.stdout.lines().collect();
        let expected = [
            "runs 0", "show 0", "verify 7", "replay 0", "doctor 0", "note 0", "user 0", "user 0",
            "rule 0", "export 0", "cancel 3",
        ];
        assert_eq!(codes, expected, "{with_wal}: {end:?}");
    }
}
