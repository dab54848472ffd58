//! A call that waits is asked about at once.

mod answers;
mod lasting;
mod leaving;
mod shown;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{Place, call, done};
use crate::terminal::{Size, Terminal};

/// Keys count some time after the question was drawn; so long nobody types again.
const PAUSE: Duration = Duration::from_millis(1_000);
/// When the first key is typed.
const READING: Duration = Duration::from_millis(400);

/// What asks for all that is built in and changes something.
const ASKING: &[&str] = &[
    "--ask", "edit", "--ask", "write", "--ask", "append", "--ask", "run",
];

/// Where the keys are named, which is the end of the question.
const KEYS: &str = "? help";

/// A place with a file that has a fault.
fn place() -> Place {
    let place = Place::new();
    place.write("work/leap.sh", LEAP);
    place
}

const LEAP: &str =
    "#!/bin/sh\n# leap\nyear=$1\nif [ $((year % 100)) -ne 0 ]; then\n  echo leap\nfi\n";

fn edit() -> Value {
    let (old, new) = ("-ne 0 ]", "-ne 0 ] || [ $((year % 400)) -eq 0 ]");
    call("edit", json!({ "path": "leap.sh", "old": old, "new": new }))
}

fn command(line: &str) -> Value {
    call("run", json!({ "command": line }))
}

/// The program that plays these lines and asks, as the run `run`.
fn playing(place: &Place, lines: &[Value], flags: &[&str]) -> Command {
    let script = place.script(&[lines, &[done("the answer")]].concat());
    let fixed = ["run", "--id", "run", "--model", &script, "--quiet"];
    place.command(&[&fixed, flags, &["go"]].concat())
}

/// The same at a terminal, once it asks.
fn asked_in(place: &Place, lines: &[Value], size: Size) -> Terminal {
    let mut playing = playing(place, lines, ASKING);
    playing.env("BONDED_PAGER", "cat");
    let terminal = Terminal::start(&playing, size);
    terminal.wait_for(KEYS);
    terminal
}

fn asked(place: &Place, lines: &[Value]) -> Terminal {
    asked_in(place, lines, Size::USUAL)
}

/// Presses a key until the screen shows what it brings about: a key that comes too early is no answer.
#[track_caller]
pub(super) fn press(terminal: &Terminal, key: &str, shows: &str) -> String {
    press_until(terminal, key, shows, |screen| screen.contains(shows))
}

#[track_caller]
fn press_until(terminal: &Terminal, key: &str, what: &str, is_so: impl Fn(&str) -> bool) -> String {
    let mut next = Instant::now() + READING;
    terminal.wait_until(what, |screen| {
        let is_there = is_so(screen);
        if !is_there && Instant::now() >= next {
            terminal.type_keys(key);
            next = Instant::now() + PAUSE;
        }
        is_there
    })
}

/// Who the system says is here.
pub(super) fn person() -> String {
    let named = Command::new("id").arg("-un").output();
    let named = named.expect("the system knows who is here").stdout;
    String::from_utf8(named)
        .expect("it is a name")
        .trim()
        .into()
}

/// What was said of calls, as the log has it: the verdict and who said so.
fn verdicts(place: &Place) -> Vec<(Value, String)> {
    let entries = place.entries("run");
    let reviewed = crate::place::of_kind(&entries, "call_reviewed");
    let by = |data: &Value| data["by"].as_str().unwrap_or_default().to_owned();
    let verdicts = reviewed.iter().map(|it| (it["verdict"].clone(), by(it)));
    verdicts.collect()
}

fn approved(by: &str) -> (Value, String) {
    (json!("approved"), by.to_owned())
}

/// The log of the run is whole, and every step of it comes out the same again.
#[track_caller]
fn holds(place: &Place) {
    place.bonded(&["replay", "run"]).succeeds();
    let verified = place.bonded(&["verify", "run"]);
    assert!(
        matches!(verified.code, Some(0 | 7)),
        "whole, with nothing to compare it with: {verified:?}"
    );
}

#[track_caller]
fn ends_well(terminal: Terminal) -> String {
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("the answer"), "{screen}");
    screen
}
