//! What is typed and pasted, and what becomes of the terminal.

use super::{LEAVE, READY, leave, run_of, say, says, talking};
use crate::place::{Place, of_kind};
use crate::terminal::{ENTER, Size};

/// The first goal of the one run.
fn asked(place: &Place) -> String {
    let entries = place.entries(&run_of(place));
    let goal = &of_kind(&entries, "run_started")[0]["goal"];
    goal.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("Read.")], &[]);
    terminal.type_keys("\u{1b}[200~one\rtwo\rthree\u{1b}[201~");
    let screen = terminal.wait_for("three");
    assert!(screen.contains("> one\n  two\n  three"), "{screen}");
    say(&terminal, "", "Read.");
    leave(&mut terminal);
    assert_eq!(asked(&place), "one\ntwo\nthree");
}

#[test]
fn a_paste_of_five_megabytes_is_refused_in_a_sentence_and_nothing_is_sent() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("Read.")], &[]);
    let pasted = "x".repeat(5 << 20);
    terminal.type_keys(&format!("\u{1b}[200~{pasted}\u{1b}[201~"));
    terminal.wait_for("not inserted: 5,242,880 bytes, and a message has at most 1,048,576");
    say(&terminal, "short", "Read.");
    leave(&mut terminal);
    assert_eq!(asked(&place), "short");
}

#[test]
fn a_message_is_edited_before_it_is_sent() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("Read.")], &[]);
    terminal.type_keys("thx tset");
    terminal.type_keys("\u{17}test");
    terminal.type_keys("\u{1}\u{6}\u{6}\u{1b}[3~e");
    terminal.wait_for("> the test");
    terminal.type_keys("\u{5}\nfails");
    terminal.wait_for("  fails");
    say(&terminal, "", "Read.");
    leave(&mut terminal);
    assert_eq!(asked(&place), "the test\nfails");
}

#[test]
fn what_is_typed_while_the_agent_works_is_the_next_message() {
    let place = Place::new();
    let slow = crate::place::with(says("One."), "delay_ms", 1_500);
    let mut terminal = talking(&place, &[slow, says("Two.")], &[]);
    terminal.type_keys("first\r");
    terminal.wait_for("waiting for");
    terminal.type_keys("second");
    terminal.wait_for("One.");
    terminal.wait_for("> second");
    assert_eq!(terminal.screen().matches("second").count(), 1);
    say(&terminal, "", "Two.");
    leave(&mut terminal);
}

#[test]
fn messages_that_are_typed_at_once_are_sent_one_after_the_other() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("One."), says("Two.")], &[]);
    terminal.type_keys("first\rsecond\r");
    terminal.wait_for("Two.");
    leave(&mut terminal);
    assert_eq!(asked(&place), "first");
    let entries = place.entries(&run_of(&place));
    assert_eq!(of_kind(&entries, "goal_given")[0]["goal"], "second");
}

#[test]
fn a_message_stands_once_whatever_size_the_terminal_gets() {
    let place = Place::new();
    let terminal = talking(&place, &[says("unused")], &[]);
    let message = "a message that is longer than half a row of this terminal, so that it wraps";
    terminal.type_keys(message);
    terminal.wait_for("wraps");
    for width in [40, 100, 60] {
        terminal.resize(Size(width, 40));
        terminal.type_keys("!");
        terminal.wait_until("the message once", |screen| {
            let letters: String = screen.split_whitespace().collect();
            let is_typed = letters.contains("wraps!");
            is_typed && letters.matches("amessagethatis").count() == 1
        });
    }
}

#[test]
fn ctrl_c_clears_the_message_and_twice_leaves() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("unused")], &[]);
    terminal.type_keys("never mind");
    terminal.wait_for("never mind");
    terminal.type_keys("\u{3}");
    terminal.wait_until("an empty prompt", |screen| !screen.contains("never mind"));
    terminal.type_keys("\u{3}");
    terminal.wait_for("Ctrl-C again or Ctrl-D quits");
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    assert_eq!(place.listed().len(), 0);
}

#[test]
fn the_terminal_is_as_it_was_however_the_conversation_ends() {
    for keys in [LEAVE, "/exit\r", "\u{3}\u{3}"] {
        let place = Place::new();
        let script = place.script(&[says("One.")]);
        let mut shell = std::process::Command::new("sh");
        let inner = place.command(&["chat", "--model", &script, "hello"]);
        let program = inner.get_program().to_string_lossy().into_owned();
        let arguments: Vec<_> = inner.get_args().map(|it| it.to_string_lossy()).collect();
        let line = format!("{program} '{}'; stty -a", arguments.join("' '"));
        shell.args(["-c", &line]).current_dir(place.work());
        for (name, value) in inner.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let mut terminal = crate::terminal::Terminal::start(&shell, Size::USUAL);
        terminal.wait_for(READY);
        terminal.type_keys(keys);
        terminal.wait_for_end();
        let screen = terminal.screen();
        let mut modes = screen.split_whitespace();
        for mode in ["icrnl", "isig", "icanon", "echo"] {
            assert!(modes.any(|it| it == mode), "{keys:?}, {mode}: {screen}");
        }
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        assert!(bytes.matches("[?2004h").count() == bytes.matches("[?2004l").count());
    }
}

#[test]
fn a_window_that_is_closed_ends_the_conversation_and_it_is_kept() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("One.")], &[]);
    say(&terminal, "hello", "done");
    terminal.hang_up();
    let (code, _) = terminal.end();
    assert_eq!(code, Some(129));
    assert_eq!(place.statuses(), ["succeeded"]);
}

#[test]
fn an_empty_line_sends_nothing() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("unused")], &[]);
    terminal.type_keys(&ENTER.repeat(3));
    terminal.type_keys("  \r");
    leave(&mut terminal);
    assert_eq!(place.listed().len(), 0);
}
