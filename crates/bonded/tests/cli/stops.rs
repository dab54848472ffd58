//! Stopping a run from outside: another process, Ctrl-C, SIGTERM, and two processes at one run.

use std::fs::File;
use std::process::Child;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::done::{kill, text};
use crate::place::{Place, call, done, finish, start};
use crate::watch::{is_running, never, of_kind, read, signal, wait_until, write};

/// Generous for a busy machine, and far below the ten minutes that the hanging things would take.
const SOON: Duration = Duration::from_secs(10);

/// A command with a child of its own that would go on for ten minutes, also where nobody is left who reads its output.
fn hang_in_a_tool(place: &Place) -> Value {
    let begun = begun(place);
    let command = format!(": > {begun}; tail -f {begun} > /dev/null & echo begun > {begun}; wait");
    call("run", json!({ "command": command }))
}

/// The file that the command makes, which all of its processes have on their command lines.
fn begun(place: &Place) -> String {
    place.work().join("begun").display().to_string()
}

fn start_hanging_in_a_tool(place: &Place) -> Child {
    let child = place.start_until(&[hang_in_a_tool(place), done("ok")], 1, "tool_invoked");
    let begun = place.work().join("begun");
    wait_until("the command has begun", || read(&begun).ends_with('\n'));
    child
}

fn expect_no_processes_left(place: &Place) {
    let begun = begun(place);
    wait_until("the command and its child are gone", || !is_running(&begun));
}

fn expect_cancelled(place: &Place, reason: &str) {
    let entries = place.entries("run");
    let ended = of_kind(&entries, "run_ended");
    assert_eq!(ended.len(), 1);
    assert_eq!(
        ended[0]["termination"],
        json!({ "kind": "cancelled", "reason": reason })
    );
    place.passes_the_audit("run");
}

#[test]
fn a_command_and_its_children_die_with_a_program_that_is_killed() {
    let place = Place::new();
    let driver = start_hanging_in_a_tool(&place);
    assert!(is_running(&begun(&place)));
    kill(driver);
    expect_no_processes_left(&place);
}

#[test]
fn nothing_is_left_of_commands_whose_program_is_killed() {
    let place = Place::new();
    // In the home, which commands do not see.
    let scratch = place.path("scratch");
    let left = scratch.join("bonded-left");
    std::fs::create_dir_all(left.join("tmp/deep")).expect("directories can be made");
    for file in ["held", "tmp/deep/file"] {
        write(&left.join(file), "");
    }
    let script = place.script(&[hang_in_a_tool(&place), done("ok")]);
    let words = ["run", "--id", "run", "--model", &script, "goal"];
    let driver = start(place.command(&words).env("TMPDIR", &scratch));
    let begun = place.work().join("begun");
    wait_until("the command has begun", || read(&begun).ends_with('\n'));
    assert!(!left.exists(), "it was left by another that was killed");
    let names = || std::fs::read_dir(&scratch).expect("it can be read").count();
    assert_eq!(names(), 1);
    kill(driver);
    wait_until("nothing is left", || names() == 0);
}

#[test]
fn cancel_from_another_process_ends_a_run_that_hangs_in_a_tool() {
    let place = Place::new();
    let driver = start_hanging_in_a_tool(&place);
    let asked = Instant::now();
    place
        .bonded(&["cancel", "run", "--reason", "enough"])
        .succeeds();
    let driver = finish(driver);
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(driver.code, Some(1), "{driver:?}");
    expect_no_processes_left(&place);
    expect_cancelled(&place, "enough");
    let entries = place.entries("run");
    let finished = of_kind(&entries, "tool_finished");
    assert_eq!(finished[0]["outcome"], "interrupted");
    assert_eq!(
        text(&finished[0]["output"]),
        "(tool failed: interrupted, outcome unknown)"
    );
}

#[test]
fn cancel_from_another_process_ends_a_run_that_hangs_in_a_request() {
    let place = Place::new();
    let driver = place.start_until(&[never()], 1, "attempt_started");
    let asked = Instant::now();
    let cancelled = place.bonded(&["cancel", "run"]);
    cancelled.succeeds();
    assert!(
        cancelled.stderr.contains("run run is cancelled"),
        "{cancelled:?}"
    );
    let driver = finish(driver);
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(driver.code, Some(1), "{driver:?}");
    expect_cancelled(&place, "cancelled by the user");
}

#[test]
fn cancel_ends_a_run_that_nobody_drives() {
    let place = Place::new();
    place.interrupt_in(&[done("never reached")], 1);
    place.bonded(&["cancel", "run"]).succeeds();
    expect_cancelled(&place, "cancelled by the user");
    assert_eq!(place.resume().code, Some(1));
}

#[test]
fn cancel_leaves_a_run_that_has_ended_as_it_is() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let log = place.log("run");
    let cancelled = place.bonded(&["cancel", "run"]);
    cancelled.succeeds();
    assert!(
        cancelled.stderr.contains("has already finished (done)"),
        "{cancelled:?}"
    );
    assert_eq!(place.log("run"), log);
}

/// What a person sends, a machine that goes down, and a terminal that is closed.
const STOPS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

#[test]
fn a_run_that_a_signal_stops_can_be_resumed_and_its_command_is_stopped() {
    for (sent, code) in STOPS {
        let place = Place::new();
        let driver = start_hanging_in_a_tool(&place);
        let asked = Instant::now();
        signal(&driver, sent);
        let driver = finish(driver);
        assert!(asked.elapsed() < SOON, "{sent:?}: {:?}", asked.elapsed());
        assert_eq!(driver.code, Some(code), "{driver:?}");
        assert!(
            driver.stderr.ends_with("  Resume: bonded resume run\n"),
            "{driver:?}"
        );
        expect_no_processes_left(&place);
        let listed = place.bonded(&["runs", "--json"]).json();
        assert_eq!(listed["status"], "interrupted");
        let before = place.entries("run").len();
        place.script(&[hang_in_a_tool(&place), done("went on")]);
        let resumed = place.resume();
        assert_eq!(resumed.stdout, "went on\n", "{resumed:?}");
        let entries = place.entries("run");
        let finished = of_kind(&entries[before..], "tool_finished");
        assert_eq!(finished[0]["outcome"], "interrupted");
        place.passes_the_audit("run");
    }
}

#[test]
fn what_ends_within_a_moment_of_the_signal_is_in_the_log() {
    let place = Place::new();
    let begun = begun(&place);
    let command = format!("echo begun > {begun}; sleep 0.4; echo once >> counted");
    let lines = [call("run", json!({ "command": command })), done("ok")];
    let driver = place.start_until(&lines, 1, "tool_invoked");
    wait_until("the command has begun", || !read(begun.as_ref()).is_empty());
    signal(&driver, Signal::TERM);
    finish(driver).fails_with(143, "interrupted");
    let entries = place.entries("run");
    assert_eq!(of_kind(&entries, "tool_finished")[0]["outcome"], "ok");
    place.resume().succeeds();
    assert_eq!(read(&place.work().join("counted")), "once\n");
}

#[test]
fn a_process_that_was_told_to_ignore_the_end_of_its_session_does() {
    let place = Place::new();
    let script = place.script(&[never(), done("ok")]);
    let program = env!("CARGO_BIN_EXE_bonded");
    let line = format!("trap '' HUP; exec {program} run --id run --model {script} goal");
    let mut command = place.command_of("sh".as_ref(), &["-c", &line]);
    let driver = start(&mut command);
    place.wait_for_entry("run", 1, "attempt_started");
    signal(&driver, Signal::HUP);
    place.bonded(&["cancel", "run"]).succeeds();
    assert_eq!(finish(driver).code, Some(1));
}

#[test]
fn a_second_signal_ends_the_process_at_once_and_the_run_can_be_resumed() {
    let place = Place::new();
    let lines = [never(), done("not yet")];
    let script = place.script(&lines);
    let stderr = place.path("stderr");
    let file = File::create(&stderr).expect("a file can be made");
    let mut command = place.command(&["run", "--id", "run", "--model", &script, "the goal"]);
    let driver = start(command.stderr(file));
    place.wait_for_entry("run", 1, "attempt_started");
    // While the store is locked the end of the attempt cannot be recorded, so the first signal takes time.
    let lock = Connection::open(place.path("store.db")).expect("the store can be opened");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the store can be locked");
    signal(&driver, Signal::INT);
    wait_until("the first signal was noticed", || {
        read(&stderr).contains("stopping")
    });
    signal(&driver, Signal::INT);
    assert_eq!(finish(driver).code, Some(130));
    lock.execute_batch("ROLLBACK")
        .expect("the store can be unlocked");
    drop(lock);
    assert_eq!(
        place.bonded(&["runs", "--json"]).json()["status"],
        "interrupted"
    );
    place.script(&[done("went on")]);
    let resumed = place.resume();
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "went on\n"),
        "{resumed:?}"
    );
    place.passes_the_audit("run");
}

#[test]
fn a_run_that_another_process_drives_cannot_be_resumed() {
    let place = Place::new();
    place.interrupt_in(&[done("ok")], 1);
    place.script(&[never()]);
    let first = start(&mut place.command(&["resume", "run"]));
    place.wait_for_entry("run", 1, "run_resumed");
    let second = place.resume();
    second.fails_with(3, "run-held");
    let named = format!("process {}", first.id());
    assert!(second.stderr.contains(&named), "{}", second.stderr);
    kill(first);
    place.script(&[done("went on")]);
    assert_eq!(place.resume().stdout, "went on\n");
    place.passes_the_audit("run");
}

#[test]
fn of_many_processes_that_resume_a_run_at_the_same_time_one_drives_it() {
    let place = Place::new();
    let mark = call(
        "run",
        json!({ "command": "echo x >> marks; wc -l < marks" }),
    );
    let lines = [mark.clone(), mark.clone(), mark, done("ok")];
    place.interrupt_in(&lines, 1);
    let racers: Vec<Child> = (0..4)
        .map(|_| start(&mut place.command(&["resume", "run"])))
        .collect();
    let ends: Vec<_> = racers.into_iter().map(finish).collect();
    assert!(ends.iter().any(|end| end.code == Some(0)), "{ends:?}");
    for end in ends.iter().filter(|end| end.code != Some(0)) {
        end.fails_with(3, "run-held");
    }
    assert_eq!(read(&place.work().join("marks")), "x\nx\nx\n");
    assert_eq!(of_kind(&place.entries("run"), "run_resumed").len(), 1);
    place.passes_the_audit("run");
}

#[test]
fn of_many_processes_that_start_the_same_id_at_the_same_time_one_drives_it() {
    let place = Place::new();
    let mark = call(
        "run",
        json!({ "command": "echo x >> marks; wc -l < marks" }),
    );
    let script = place.script(&[mark.clone(), mark, done("ok")]);
    let arguments = ["run", "--id", "run", "--model", &script, "the goal"];
    let racers: Vec<Child> = (0..4)
        .map(|_| start(&mut place.command(&arguments)))
        .collect();
    let ends: Vec<_> = racers.into_iter().map(finish).collect();
    assert!(ends.iter().any(|end| end.code == Some(0)), "{ends:?}");
    for end in ends.iter().filter(|end| end.code != Some(0)) {
        assert_eq!(end.code, Some(3), "{end:?}");
        assert!(["run-held", "taken-over"].contains(&end.error()), "{end:?}");
    }
    assert_eq!(read(&place.work().join("marks")), "x\nx\n");
    assert_eq!(of_kind(&place.entries("run"), "run_started").len(), 1);
    place.passes_the_audit("run");
}
