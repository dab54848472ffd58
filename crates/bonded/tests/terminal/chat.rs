//! A conversation at a terminal: one run whatever is said, asked about, stopped or killed.

mod keys;
mod killed;
mod stopped;

use serde_json::{Value, json};

use crate::place::{Place, call, of_kind, with};
use crate::provider::{Provider, said_to};
use crate::screen::{at, check, command, without_durations};
use crate::terminal::{ENTER, Size, Terminal};

/// Ctrl-D.
const LEAVE: &str = "\u{4}";
/// What stands below the first prompt.
const READY: &str = "Ctrl-D quit";

fn says(text: &str) -> Value {
    json!({ "text": text })
}

fn writes(path: &str) -> Value {
    call("write", json!({ "path": path, "content": "hello\n" }))
}

/// A conversation that plays these lines, at its first prompt.
fn talking(place: &Place, lines: &[Value], flags: &[&str]) -> Terminal {
    let script = place.script(lines);
    let words = [&["chat", "--model", &script][..], flags].concat();
    let terminal = at(place, &words, Size::USUAL);
    terminal.wait_for(READY);
    terminal
}

/// Sends a message, and waits until this stands on the screen.
#[track_caller]
fn say(terminal: &Terminal, text: &str, shows: &str) {
    terminal.type_keys(text);
    terminal.type_keys(ENTER);
    terminal.wait_for(shows);
}

/// Leaves, and gives the last screen.
#[track_caller]
fn leave(terminal: &mut Terminal) -> String {
    terminal.type_keys(LEAVE);
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    terminal.coloured()
}

/// The one run of the place.
#[track_caller]
fn run_of(place: &Place) -> String {
    let listed = place.listed();
    assert_eq!(listed.len(), 1, "{listed:?}");
    listed[0].id.clone()
}

/// A screen without what differs each time.
#[track_caller]
fn hold(name: &str, place: &Place, screen: &str) {
    let id = run_of(place);
    let person = super::review::person();
    let screen = screen.replace(&id[..8], "RUN     ").replace(&person, "ana");
    // Between the figures of a conversation a longer time takes no spaces before it.
    let row = |row: &str| match row.starts_with("d|so far") {
        true => without_durations(row),
        false => row.to_owned(),
    };
    let screen = screen.lines().map(row).collect::<Vec<_>>().join("\n");
    let dir = place.work().display().to_string();
    check(name, &screen.replace(&dir, "DIR"));
}

/// The log is whole, and every step of it comes out the same again.
#[track_caller]
fn holds(place: &Place) -> Vec<Value> {
    let id = run_of(place);
    place.bonded(&["replay", &id]).succeeds();
    let verified = place.bonded(&["verify", &id]);
    assert!(matches!(verified.code, Some(0 | 7)), "{verified:?}");
    place.entries(&id)
}

#[test]
fn the_model_is_shown_what_was_said_before() {
    let place = Place::new();
    let provider = Provider::answering(|asked| {
        let whole = asked.whole();
        let knows = whole.contains("my name is Ada") && whole.contains("what is my name?");
        let answer = if knows { "You are Ada." } else { "Noted." };
        said_to(asked, &json!({ "role": "assistant", "content": answer }))
    });
    let url = provider.base_url();
    let words = ["chat", "--model", "small", "--base-url", &url];
    let mut terminal = at(&place, &words, Size::USUAL);
    terminal.wait_for(READY);
    say(&terminal, "my name is Ada", "Noted.");
    say(&terminal, "what is my name?", "You are Ada.");
    leave(&mut terminal);
    assert_eq!(provider.asked_count(), 2, "an answer is one request");
}

#[test]
fn each_message_is_a_goal_of_one_run() {
    let place = Place::new();
    let lines = [
        with(says("It is empty."), "expect", json!(["what is here?"])),
        with(writes("hello.txt"), "expect", json!(["write a greeting"])),
        says("hello.txt is written."),
    ];
    let mut terminal = talking(&place, &lines, &[]);
    say(&terminal, "what is here?", "done");
    terminal.type_keys("write a greeting\r");
    super::review::press(&terminal, "y", "✓ approved by");
    terminal.wait_for("hello.txt is written.");
    say(&terminal, "/dif", "Did you mean /diff?");
    say(&terminal, "/diff", "+hello");
    say(&terminal, "/cost", "2 messages");
    let screen = leave(&mut terminal);
    hold("chat", &place, &screen);
    let entries = holds(&place);
    assert_eq!(of_kind(&entries, "run_ended").len(), 2);
    let goals = of_kind(&entries, "goal_given");
    assert_eq!(goals.len(), 1, "a typo is not sent: {goals:?}");
    assert_eq!(goals[0]["goal"], "write a greeting");
    let started = of_kind(&entries, "run_started")[0];
    assert_eq!(started["config"]["conversation"], true);
}

#[test]
fn a_conversation_that_was_left_is_continued_here_and_by_run() {
    let place = Place::new();
    let lines = [says("One."), says("Two."), says("Three.")];
    let mut terminal = talking(&place, &lines, &[]);
    say(&terminal, "first", "One.");
    leave(&mut terminal);
    let id = run_of(&place);
    let words = ["chat", "--continue", &id[..8], "second"];
    let mut terminal = at(&place, &words, Size::USUAL);
    terminal.wait_for("Two.");
    terminal.wait_for(READY);
    // What was asked before comes back by a key.
    terminal.type_keys("\u{1b}[A");
    terminal.wait_for("> first");
    terminal.type_keys("\u{3}");
    let screen = leave(&mut terminal);
    hold("chat-continued", &place, &screen);
    let third = place.bonded(&["run", "-c", "third"]);
    third.succeeds();
    assert_eq!(third.stdout, "Three.\n");
    assert_eq!(of_kind(&holds(&place), "goal_given").len(), 2);
}

#[test]
fn it_asks_before_it_changes_something_unless_it_is_told_not_to() {
    for (flags, asks) in [
        (&[][..], json!(["ask", "ask", "ask", "ask"])),
        (&["--ask", "run"], json!(["ask"])),
        (&["--no-ask"], Value::Null),
    ] {
        let place = Place::new();
        let mut terminal = talking(&place, &[says("Yes.")], flags);
        say(&terminal, "hello", "done");
        leave(&mut terminal);
        let entries = holds(&place);
        let config = &of_kind(&entries, "run_started")[0]["config"];
        let rules = config["policy"]["rules"].as_array();
        let found = rules.map(|rules| {
            let permissions = rules.iter().map(|rule| rule["permission"].clone());
            permissions.collect::<Vec<_>>()
        });
        assert_eq!(json!(found), asks, "{flags:?}: {config}");
    }
}

#[test]
fn a_run_that_did_not_ask_is_asked_about_when_a_conversation_continues_it() {
    let place = Place::new();
    let lines = [
        crate::place::done("One."),
        writes("a.txt"),
        crate::place::done("Two."),
    ];
    place.play(&lines).succeeds();
    let terminal = at(&place, &["chat", "-c", "again"], Size::USUAL);
    super::review::press(&terminal, "n", "✗ denied by");
    terminal.wait_for("Two.");
    assert!(!place.work().join("a.txt").exists());
}

#[test]
fn bonded_alone_at_a_terminal_is_a_conversation_and_elsewhere_prints_help() {
    let place = Place::new();
    let script = place.script(&[says("Hello.")]);
    let mut alone = command(&place, &[]);
    alone.env("BONDED_MODEL", &script);
    let mut terminal = Terminal::start(&alone, Size::USUAL);
    terminal.wait_for(READY);
    say(&terminal, "hello", "Hello.");
    leave(&mut terminal);
    assert_eq!(place.statuses(), ["succeeded"]);
    let piped = place.bonded(&[]);
    assert_eq!(piped.code, Some(4));
    assert!(piped.stderr.contains("bonded run \"GOAL\""), "{piped:?}");
    place.bonded(&["chat"]).fails_with(4, "usage");
    let piped = place.bonded(&["chat"]).stderr;
    assert!(piped.contains("needs a terminal"), "{piped}");
    assert!(piped.contains("bonded run \"GOAL\""), "{piped}");
}

#[test]
fn nothing_is_recorded_before_the_first_message() {
    let place = Place::new();
    let mut terminal = talking(&place, &[says("unused")], &[]);
    say(&terminal, "/undo", "nothing was asked yet");
    say(&terminal, "/limits", "each message");
    say(&terminal, "/help", "leave; the conversation is kept");
    let screen = leave(&mut terminal);
    assert!(!screen.contains("Continue:"), "{screen}");
    assert_eq!(place.listed().len(), 0);
}

#[test]
fn another_model_answers_from_the_next_message_on() {
    let place = Place::new();
    let other = place.script_named("other", &[says("unused"), says("I am the other.")]);
    let mut terminal = talking(&place, &[says("I am the first.")], &[]);
    say(&terminal, "who?", "I am the first.");
    say(&terminal, &format!("/model {other}"), "model ");
    say(&terminal, "and now?", "I am the other.");
    leave(&mut terminal);
    let entries = holds(&place);
    let given = of_kind(&entries, "goal_given")[0];
    assert_eq!(given["targets"].as_array().map(Vec::len), Some(1));
}

#[test]
fn without_colour_every_meaning_is_there_in_words() {
    let place = Place::new();
    let script = place.script(&[says("It is empty.")]);
    let mut command = command(&place, &["chat", "--model", &script]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, Size::USUAL);
    terminal.wait_for(READY);
    say(&terminal, "what is here?", "done");
    let screen = leave(&mut terminal);
    hold("chat-no-color", &place, &screen);
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    let mut codes = bytes.split("\u{1b}[").skip(1);
    let is_colour = |code: &str| {
        let rest = code.trim_start_matches(|letter: char| letter.is_ascii_digit());
        rest.starts_with('m')
    };
    assert!(!codes.any(is_colour), "{bytes:?}");
}

#[test]
fn where_nothing_may_be_redrawn_the_terminal_takes_the_line() {
    let place = Place::new();
    let script = place.script(&[says("It is empty.")]);
    let words = ["chat", "--plain", "--model", &script];
    let mut terminal = at(&place, &words, Size::USUAL);
    terminal.wait_for("> ");
    say(&terminal, "what is here?", "It is empty.");
    leave(&mut terminal);
    assert!(!terminal.bytes().contains(&0x1b));
    assert_eq!(place.statuses(), ["succeeded"]);
}
