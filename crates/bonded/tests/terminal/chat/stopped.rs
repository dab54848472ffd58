//! A turn that is stopped, or whose process is killed: nothing is lost, and nothing is done twice.

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{READY, hold, holds, leave, run_of, say, says, talking, writes};
use crate::place::{Place, call, never, of_kind};
use crate::screen::at;
use crate::terminal::{CTRL_C, Size};

/// A command that leaves a mark, and then does not end.
const HANGS: &str = "echo once >> ran.txt; sleep 600";

fn hangs() -> serde_json::Value {
    call("run", json!({ "command": HANGS }))
}

fn marks(place: &Place) -> String {
    std::fs::read_to_string(place.work().join("ran.txt")).unwrap_or_default()
}

#[test]
fn ctrl_c_stops_the_turn_and_the_next_message_continues_the_run() {
    let place = Place::new();
    let lines = [hangs(), says("It was stopped.")];
    let mut terminal = talking(&place, &lines, &["--no-ask"]);
    terminal.type_keys("run it\r");
    terminal.wait_for("run echo once");
    terminal.wait_until("a mark", |_| marks(&place) == "once\n");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("stopped in turn 1");
    assert_eq!(place.statuses(), ["interrupted"]);
    say(&terminal, "what happened?", "It was stopped.");
    let screen = leave(&mut terminal);
    hold("chat-stopped", &place, &screen);
    let entries = holds(&place);
    let ended: Vec<_> = of_kind(&entries, "run_ended")
        .iter()
        .map(|it| it["termination"]["kind"].clone())
        .collect();
    assert_eq!(ended, ["cancelled", "done"]);
    // The command had begun: nobody knows what came of it, and the model is told so.
    let finished = of_kind(&entries, "tool_finished");
    assert_eq!(finished[0]["outcome"], "interrupted", "{finished:?}");
    assert_eq!(marks(&place), "once\n");
}

#[test]
fn what_was_stopped_is_resumed_where_the_person_says_so() {
    let place = Place::new();
    let lines = [hangs(), says("It was begun once.")];
    let mut terminal = talking(&place, &lines, &["--no-ask"]);
    terminal.type_keys("run it\r");
    terminal.wait_until("a mark", |_| marks(&place) == "once\n");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("stopped in turn 1");
    say(&terminal, "/resume", "It was begun once.");
    say(&terminal, "/resume", "nothing was stopped");
    leave(&mut terminal);
    let entries = holds(&place);
    assert_eq!(of_kind(&entries, "run_ended").len(), 1);
    assert_eq!(marks(&place), "once\n");
}

#[test]
fn ctrl_c_at_a_question_decides_nothing_and_gives_the_prompt_back() {
    let place = Place::new();
    let lines = [writes("a.txt"), says("Then not.")];
    let mut terminal = talking(&place, &lines, &[]);
    terminal.type_keys("write it\r");
    terminal.wait_for("? help");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("/resume asks again");
    assert_eq!(place.statuses(), ["awaiting_review"]);
    say(&terminal, "leave it", "Then not.");
    leave(&mut terminal);
    let entries = holds(&place);
    assert_eq!(of_kind(&entries, "call_reviewed").len(), 0);
    assert!(!place.work().join("a.txt").exists());
}

#[test]
fn ctrl_c_twice_quits_at_once_and_names_the_command_that_continues() {
    let place = Place::new();
    let mut terminal = talking(&place, &[never()], &[]);
    terminal.type_keys("wait\r");
    terminal.wait_for("turn 1 of");
    // While the store is locked nothing can be recorded, so that the first takes its time.
    let lock = rusqlite::Connection::open(place.path("store.db")).expect("the store can be opened");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the store can be locked");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("press Ctrl-C again");
    terminal.type_keys(CTRL_C);
    assert_eq!(terminal.wait_for_end(), Some(130), "{}", terminal.screen());
    lock.execute_batch("ROLLBACK")
        .expect("the store can be unlocked");
    let screen = terminal.screen();
    let id = run_of(&place);
    let last = format!("Continue: bonded chat --continue {}", &id[..8]);
    assert!(screen.trim_end().ends_with(&last), "{screen}");
}

#[test]
fn a_conversation_that_was_killed_in_a_turn_is_continued_whole_and_nothing_is_repeated() {
    let place = Place::new();
    let lines = [says("One."), hangs(), says("It was begun once.")];
    let mut terminal = talking(&place, &lines, &["--no-ask"]);
    say(&terminal, "first", "One.");
    terminal.type_keys("run it\r");
    terminal.wait_until("a mark", |_| marks(&place) == "once\n");
    kill_process(terminal.pid(), Signal::KILL).expect("it is there");
    assert_eq!(terminal.wait_for_end(), None);
    let id = run_of(&place);
    let words = ["chat", "--no-ask", "--continue", &id];
    let mut terminal = at(&place, &words, Size::USUAL);
    terminal.wait_for(READY);
    terminal.wait_for("\"run it\" was interrupted in turn 2");
    say(&terminal, "/resume", "It was begun once.");
    leave(&mut terminal);
    let entries = holds(&place);
    assert_eq!(of_kind(&entries, "goal_given").len(), 1);
    assert_eq!(of_kind(&entries, "tool_invoked").len(), 1);
    assert_eq!(marks(&place), "once\n");
}
