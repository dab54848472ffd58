//! Ctrl-C stops a run, and it can be resumed; twice ends the program at once. So do a signal and a closed window.

use crate::place::{Place, call, done, never};
use crate::screen::{at, check};
use crate::terminal::{CTRL_C, Size, Terminal};
use serde_json::json;

/// A run that waits for its model in the second turn.
fn begun(place: &Place) -> Terminal {
    let script = place.script(&[call("list", json!({})), never()]);
    let words = ["run", "--id", "stopped", "--model", &script, "wait"];
    let terminal = at(place, &words, Size::USUAL);
    terminal.wait_for("turn 2");
    terminal
}

#[test]
fn ctrl_c_once_stops_the_run_and_names_the_command_that_resumes_it() {
    let place = Place::new();
    let mut terminal = begun(&place);
    terminal.type_keys(CTRL_C);
    assert_eq!(terminal.wait_for_end(), Some(130), "{}", terminal.screen());
    check("ctrl-c", &terminal.coloured());
    let screen = terminal.screen();
    assert!(
        screen.ends_with("Resume: bonded resume stopped"),
        "{screen}"
    );
    assert_eq!(place.status("stopped").as_deref(), Some("interrupted"));
    // The same file, with an end.
    place.script(&[call("list", json!({})), done("It is resumed.")]);
    let mut resumed = at(&place, &["resume", "stopped"], Size::USUAL);
    assert_eq!(resumed.wait_for_end(), Some(0), "{}", resumed.screen());
    check("resume", &resumed.coloured());
}

#[test]
fn no_live_line_is_left_after_ctrl_c() {
    let place = Place::new();
    let terminal = begun(&place);
    terminal.type_keys(CTRL_C);
    let (_, screen) = terminal.end();
    assert!(!screen.contains("waiting for"), "{screen}");
}

#[test]
fn ctrl_c_twice_ends_the_program_at_once() {
    let place = Place::new();
    let mut terminal = begun(&place);
    // While the store is locked nothing can be recorded, so that the first takes its time.
    let lock = rusqlite::Connection::open(place.path("store.db")).expect("the store can be opened");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the store can be locked");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("press Ctrl-C again");
    terminal.type_keys(CTRL_C);
    assert_eq!(terminal.wait_for_end(), Some(130), "{}", terminal.screen());
    check("ctrl-c-twice", &terminal.coloured());
    lock.execute_batch("ROLLBACK")
        .expect("the store can be unlocked");
    assert_eq!(place.status("stopped").as_deref(), Some("interrupted"));
}

#[test]
fn a_window_that_is_closed_interrupts_the_run_and_it_can_be_resumed() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), never()]);
    let mut terminal = at(
        &place,
        &["run", "--id", "closed", "--model", &script, "go"],
        Size::USUAL,
    );
    terminal.wait_for("turn 2 of");
    terminal.hang_up();
    let (code, _) = terminal.end();
    assert_ne!(code, Some(0));
    assert_eq!(place.status("closed").as_deref(), Some("interrupted"));
}

#[test]
fn what_is_said_meanwhile_stands_below_the_call_before_it() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), never()]);
    let mut terminal = at(&place, &["run", "--model", &script, "go"], Size::USUAL);
    terminal.wait_for("turn 2 of");
    let pid = terminal.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    terminal.wait_for_end();
    let screen = terminal.screen();
    let at = |text: &str| {
        screen
            .find(text)
            .unwrap_or_else(|| panic!("{text} in\n{screen}"))
    };
    assert!(at("✓ list .") < at("interrupted: "), "{screen}");
    assert_eq!(screen.matches("✓ list .").count(), 1, "{screen}");
    assert!(!screen.contains("turn 2 of"), "{screen}");
}
