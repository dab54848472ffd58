//! Ctrl-C stops a run, and it can be resumed; twice ends the program at once.

use crate::place::{Place, call, done, never};
use crate::terminal::{CTRL_C, Size, Terminal};
use serde_json::json;

/// A run that waits for its model in the second turn.
fn begun(place: &Place) -> Terminal {
    let script = place.script(&[call("list", json!({})), never()]);
    let run = place.command(&["run", "--id", "stopped", "--model", &script, "wait"]);
    let terminal = Terminal::start(&run, Size::USUAL);
    terminal.wait_for("turn 2");
    terminal
}

#[test]
fn ctrl_c_once_stops_the_run_and_names_the_command_that_resumes_it() {
    let place = Place::new();
    let terminal = begun(&place);
    terminal.type_keys(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert!(
        screen.ends_with("Resume: bonded resume stopped"),
        "{screen}"
    );
    assert_eq!(place.status("stopped").as_deref(), Some("interrupted"));
    // The same file, with an end.
    place.script(&[call("list", json!({})), done("resumed")]);
    let resumed = Terminal::start(&place.command(&["resume", "stopped"]), Size::USUAL);
    let (code, screen) = resumed.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("resumed"), "{screen}");
}
