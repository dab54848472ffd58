//! Stores that are copied, from a file to a server and back: what is there afterwards is counted by others than bonded.

use std::path::Path;
use std::thread;
use std::time::Duration;

use bonded_state::SqliteStore;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Done, Place, call, done, never, start};
use bonded_testkit::postgres::{PASSWORD, PostgresServer};
use bonded_testkit::process::Process;
use bonded_testkit::proxy::{Proxy, Way};
use bonded_testkit::rng::{Rng, seed, tell};
use bonded_testkit::stores::logs::{Log, long};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::json;

use crate::shop::Shop;

/// How many runs the store has that is copied while the copy is killed, and how often that is.
const RUNS: usize = 400;
const KILLS: usize = 8;

/// Every row of the log and the texts, in a form that both kinds of stores have: what a run is, and where its steps end.
const STEPS_OF_FILE: &str = "SELECT group_concat(line, char(10)) FROM (SELECT r.id || ' ' || (e.id & 16777215) || ' ' || \
     lower(hex(e.hash)) AS line FROM entry e JOIN run r ON r.key = e.id >> 24 WHERE e.hash IS NOT NULL ORDER BY line)";
const STEPS_OF_SERVER: &str = "SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM (SELECT r.id || ' ' || s.last || ' ' || \
     encode(s.hash, 'hex') AS line FROM bonded.step s JOIN bonded.run r USING (run)) t";

fn copy(place: &Place, from: &str, to: &str, flags: &[&str]) -> Done {
    place.bonded(&[&["store", "copy", from, to], flags].concat())
}

fn ask_file(file: &str, sql: &str) -> String {
    let connection = Connection::open(file).expect("it opens");
    let answer = connection.query_row(sql, [], |row| row.get::<_, Option<String>>(0));
    answer.expect("it can be asked").unwrap_or_default()
}

/// Appends logs to a file, faster than runs are played.
fn fill(file: &Path, logs: &[Log]) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let store = SqliteStore::open(file).expect("it opens");
        futures_util::future::join_all(logs.iter().map(|log| log.append_all(&store))).await;
    });
}

#[test]
fn a_store_that_is_copied_to_a_server_and_back_has_the_same_runs() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let place = Place::new();
    let content = long("a long text ");
    let lines = [
        call("write", json!({ "path": "f", "content": content })),
        done("ok"),
    ];
    place.play(&lines).succeeds();
    let second = ["fork", "run", "--turn", "2", "--id", "second"];
    place.bonded(&second).succeeds();
    let (file, server) = (place.store(), shop.place.store());
    let back = place.path("back.db").display().to_string();
    let there = copy(&place, &file, &server, &[]);
    there.succeeds();
    there.says("copied 2 of 2 runs");
    there.says("logs read back and verified: 2");
    let json = copy(&place, &server, &back, &["--json"]).json();
    assert_eq!(
        (&json["outcome"], &json["verified"]),
        (&json!("same"), &json!(2))
    );
    for run in ["run", "second"] {
        let log = place.log(run);
        for store in [&server, &back] {
            let other = Place::with_store(store);
            assert_eq!(other.log(run), log, "{run} in {store}");
            other.passes_the_audit(run);
        }
    }
    assert_eq!(
        ask_file(&file, STEPS_OF_FILE),
        shop.database.sql(STEPS_OF_SERVER)
    );
    assert_eq!(
        ask_file(&file, STEPS_OF_FILE),
        ask_file(&back, STEPS_OF_FILE)
    );
    let again = copy(&place, &file, &back, &["--check", "--json"]).json();
    assert_eq!(
        (&again["entries"], &again["verified"]),
        (&json!(0), &json!(2))
    );
}

/// Copies, and is killed in the middle as often as that succeeds; then to the end. How often it was killed.
fn copy_with_kills(place: &Place, from: &str, to: &str, rng: &mut Rng) -> usize {
    let mut killed = 0;
    for _ in 0..KILLS {
        let words = ["store", "copy", from, to];
        let mut child = start(&mut place.command(&words));
        // The moment is what is tried.
        thread::sleep(Duration::from_millis(rng.between(20, 250)));
        killed += usize::from(child.try_wait().expect("it can be looked at").is_none());
        bonded_testkit::done::kill(child);
    }
    copy(place, from, to, &["--check"]).succeeds();
    killed
}

#[test]
fn a_copy_that_is_killed_again_and_again_has_every_step_once() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let place = Place::new();
    let mut logs: Vec<Log> = (0..RUNS)
        .map(|number| Log::with_turns(&format!("r{number}"), 2))
        .collect();
    logs.push(Log::with_turns("a-long-one", 1_500));
    logs.iter_mut().step_by(2).for_each(Log::end);
    let mut with_texts = Log::start("texts", &long("goal "));
    (0..20).for_each(|turn| with_texts.turn(&long(&format!("output {turn} "))));
    logs.push(with_texts);
    let file = place.store();
    fill(Path::new(&file), &logs);
    let seed = seed("BONDED_COPY_SEED");
    tell(&format!("BONDED_COPY_SEED={seed}"));
    let mut rng = Rng::new(seed);
    let server = shop.place.store();
    let back = place.path("back.db").display().to_string();
    let killed = copy_with_kills(&place, &file, &server, &mut rng)
        + copy_with_kills(&place, &server, &back, &mut rng);
    assert!(killed > 0, "nothing was under way when it was killed");
    let steps = ask_file(&file, STEPS_OF_FILE);
    assert!(steps.lines().count() > 4 * RUNS, "all steps are there");
    assert_eq!(shop.database.sql(STEPS_OF_SERVER), steps);
    assert_eq!(ask_file(&back, STEPS_OF_FILE), steps);
    // Bodies, times and texts too, not only the hashes over them.
    let connection = Connection::open(&file).expect("it opens");
    connection
        .execute("ATTACH ?1 AS back", [&back])
        .expect("it opens");
    let numbered = "SELECT r.id, e.id & 16777215, e.format, e.at, e.turn, e.body, e.hash";
    for (what, here, there) in [
        (
            "entry",
            format!("{numbered} FROM main.entry e JOIN main.run r ON r.key = e.id >> 24"),
            format!("{numbered} FROM back.entry e JOIN back.run r ON r.key = e.id >> 24"),
        ),
        (
            "blob",
            "SELECT hash, bytes FROM main.blob".to_owned(),
            "SELECT hash, bytes FROM back.blob".to_owned(),
        ),
    ] {
        for difference in [
            format!("{here} EXCEPT {there}"),
            format!("{there} EXCEPT {here}"),
        ] {
            let count = format!("SELECT count(*) FROM ({difference})");
            let count: i64 = { connection.query_row(&count, [], |row| row.get(0)) }.expect(what);
            assert_eq!(count, 0, "{what}: {difference}");
        }
        let counts = format!(
            "SELECT (SELECT count(*) FROM main.{what}) = (SELECT count(*) FROM back.{what})"
        );
        let same: bool = { connection.query_row(&counts, [], |row| row.get(0)) }.expect(what);
        assert!(same, "{what} is there once");
    }
    let cut = "SELECT count(*) FROM bonded.drive d WHERE head <> (SELECT sum(last - first + 1) FROM bonded.step s WHERE s.run = d.run)";
    assert_eq!(shop.database.sql(cut), "0");
}

#[test]
fn a_run_that_has_not_ended_continues_in_one_store_only() {
    let Some(shop) = Shop::new(2_000) else {
        return;
    };
    let place = Place::new();
    let script = place.script(&[never()]);
    let words = ["run", "--id", "run", "--model", &script, "the goal"];
    let driver = Process::begin(&mut place.command(&words));
    place.wait_for_entry("run", 1, "attempt_started");
    let (file, server) = (place.store(), shop.place.store());
    for flags in [&[][..], &["--move"]] {
        let early = copy(&place, &file, &server, flags);
        early.fails_with(6, "copy-unfinished");
        let resumed = shop.place.bonded(&["resume", "run"]);
        resumed.fails_with(3, "run-elsewhere");
        assert!(early.stderr.contains("driven just now"), "{early:?}");
    }
    drop(driver.end(Signal::KILL));
    copy(&place, &file, &server, &[]).says("continue in FROM");
    let there = &shop.place;
    for words in [&["resume", "run"][..], &["cancel", "run"]] {
        there.bonded(words).fails_with(3, "run-elsewhere");
    }
    place.script(&[done("ok")]);
    copy(&place, &file, &server, &["--move"]).says("no longer in FROM");
    for words in [&["resume", "run"][..], &["cancel", "run"]] {
        place.bonded(words).fails_with(3, "run-elsewhere");
    }
    there.bonded(&["resume", "run"]).succeeds();
    // What continued there is ahead of what was moved, and that is no fault.
    copy(&place, &file, &server, &["--move"]).succeeds();
    let longer = there.log("run").len();
    copy(&place, &server, &file, &["--move"]).succeeds();
    assert_eq!(place.log("run").len(), longer);
    assert_eq!(place.statuses(), ["succeeded"]);
}

#[test]
fn queued_runs_and_limits_move_to_the_queues_of_another_server() {
    let (Some(old), Some(new)) = (Shop::new(2_000), Shop::new(2_000)) else {
        return;
    };
    old.queue(
        "later",
        &[done("ok")],
        &["--queue", "nightly", "--submitter", "ann", "--needs", "gpu"],
    );
    let limit = ["store", "queue", "nightly", "--concurrent", "3"];
    old.place.bonded(&limit).succeeds();
    let (from, to) = (old.place.store(), new.place.store());
    copy(&old.place, &from, &to, &[]).says("continue in FROM");
    let queued =
        "SELECT queue, submitter, needs, state FROM bonded.drive JOIN bonded.lane USING (lane)";
    assert_eq!(new.database.sql(queued), "nightly|ann|{gpu}|10");
    copy(&old.place, &from, &to, &["--move"]).says("no longer in FROM");
    assert_eq!(new.database.sql(queued), "nightly|ann|{gpu}|0");
    assert_eq!(old.database.sql(queued), "nightly|ann|{gpu}|10");
    let bound = "SELECT name, concurrent FROM bonded.queue";
    assert_eq!(new.database.sql(bound), "nightly|3");
    let flags = ["--queue", "nightly", "--label", "gpu"];
    let (idle, busy) = (old.worker(&flags), new.worker(&flags));
    new.place.wait_for(&["succeeded"]);
    assert_eq!(old.place.log("later").len(), 1, "nobody continued it there");
    for worker in [idle, busy] {
        worker.end(Signal::TERM).succeeds();
    }
    // A file has no queues.
    new.queue("third", &[done("ok")], &[]);
    let file = new.place.path("file.db").display().to_string();
    let moved = copy(&new.place, &to, &file, &["--move"]);
    moved.succeeds();
    moved.says("a file has no queues: resume them");
    let at_hand = Place::with_store(&file);
    at_hand.bonded(&["resume", "third"]).succeeds();
}

#[test]
fn a_damaged_log_and_one_that_differs_are_named_and_all_others_copied() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let place = Place::new();
    let (file, server) = (place.store(), shop.place.store());
    let logs: Vec<Log> = ["before", "damaged", "after"]
        .map(|name| Log::with_turns(name, 2))
        .into();
    fill(Path::new(&file), &logs);
    let connection = Connection::open(&file).expect("it opens");
    let damage =
        "DROP TRIGGER entry_not_updated; UPDATE entry SET at = at + 1 WHERE id = (2 << 24) + 3";
    connection.execute_batch(damage).expect("it can be damaged");
    let damaged = copy(&place, &file, &server, &["--json"]);
    damaged.fails_with(1, "broken-log");
    assert!(
        damaged
            .stdout
            .contains(r#""outcome":"damaged","runId":"damaged""#),
        "{damaged:?}"
    );
    let there = "SELECT string_agg(id, ' ' ORDER BY run) FROM bonded.run";
    assert_eq!(shop.database.sql(there), "before after");
    let other = Place::new();
    let mut differs = Log::with_turns("after", 2);
    differs.turn("something else");
    fill(
        Path::new(&other.store()),
        &[differs, Log::with_turns("more", 1)],
    );
    copy(&place, &file, &server, &["--move"]).fails_with(1, "broken-log");
    // It goes on where the other ends: the same run, driven elsewhere.
    copy(&other, &other.store(), &server, &[]).succeeds();
    let mut shorter = Log::with_turns("before", 1);
    shorter.turn("another output");
    let third = Place::new();
    fill(
        Path::new(&third.store()),
        &[shorter, Log::with_turns("even-more", 1)],
    );
    let diverged = copy(&third, &third.store(), &server, &[]);
    diverged.fails_with(1, "copy-diverged");
    assert!(
        diverged.stderr.contains("run before: the logs differ"),
        "{diverged:?}"
    );
    assert_eq!(shop.database.sql(there), "before after more even-more");
}

#[test]
fn what_cannot_be_copied_is_refused_and_goes_on_when_it_can() {
    let Some(primary) = PostgresServer::start(&[]) else {
        return;
    };
    let primary: &'static PostgresServer = Box::leak(Box::new(primary));
    let database = primary.database();
    let empty = primary.database().address("app");
    let address = database.address("app");
    let shop = Shop::at(database, &address);
    let place = Place::new();
    let (file, server) = (place.store(), shop.place.store());
    let missing = place.path("missing.db").display().to_string();
    copy(&place, &missing, &server, &[]).fails_with(4, "store-missing");
    place.play(&[done("ok")]).succeeds();
    copy(&place, &file, &file, &[]).fails_with(4, "usage");
    let refused = copy(&place, &file, &empty, &[]);
    refused.fails_with(3, "store-not-ready");
    assert!(refused.stderr.contains("bonded store init"), "{refused:?}");
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON bonded.step EXECUTE FUNCTION full_disk()";
    shop.database.sql(full);
    let refused = copy(&place, &file, &server, &[]);
    refused.fails_with(3, "store-full");
    assert!(
        refused.stderr.contains("the same command continues"),
        "{refused:?}"
    );
    assert_eq!(shop.database.sql("SELECT count(*) FROM bonded.run"), "0");
    shop.database.sql("DROP TRIGGER full_disk ON bonded.step");
    copy(&place, &file, &server, &[]).succeeds();
    // A standby is read, and is the same store as its primary.
    let standby = primary.standby();
    let on_standby = shop.database.address_on(&standby, "app");
    let back = place.path("back.db").display().to_string();
    copy(&place, &on_standby, &back, &[]).succeeds();
    assert_eq!(Place::with_store(&back).log("run"), place.log("run"));
    copy(&place, &on_standby, &server, &[]).fails_with(4, "usage");
    copy(&place, &on_standby, &back, &["--move"]).fails_with(3, "store-read-only");
    copy(&place, &file, &on_standby, &[]).fails_with(3, "store-read-only");
}

#[test]
fn a_copy_whose_answers_are_lost_finds_out_what_was_done_and_continues() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let place = Place::new();
    let logs: Vec<Log> = (0..300)
        .map(|number| Log::with_turns(&format!("r{number}"), 2))
        .collect();
    let file = place.store();
    fill(Path::new(&file), &logs);
    let proxy = Proxy::start(shop.database.server.port());
    let (port, name) = (proxy.port, &shop.database.name);
    let server = format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}");
    // Every part says what it is a copy of.
    proxy.hold_at("copy:", Way::Answers);
    let words = ["store", "copy", &file, &server];
    let copying = Process::begin(&mut place.command(&words));
    proxy.wait_until_held();
    wait_until("it was carried out", || {
        shop.database.sql("SELECT count(*) FROM bonded.run") != "0"
    });
    proxy.close_next(Way::Answers);
    proxy.heal();
    copying.finish().succeeds();
    assert_eq!(proxy.closed(), 1);
    let steps = ask_file(&file, STEPS_OF_FILE);
    assert_eq!(shop.database.sql(STEPS_OF_SERVER), steps);
}
