//! A conversation whose process is killed at random moments, again and again, and continued each time: it has every
//! message once, in its order, and no command was executed twice.
//!
//! `BONDED_CHAT_KILLS` says how often to kill, `BONDED_CHAT_SEED` which moments to choose.

use std::thread;
use std::time::Duration;

use bonded_testkit::rng::{Rng, number, seed, tell};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{READY, holds, leave, says};
use crate::place::{Place, call, of_kind, with};
use crate::screen::at;
use crate::terminal::{ENTER, Size, Terminal};

const KILLS_DEFAULT: u64 = 12;
const MESSAGES: usize = 4;
const REPLY_DELAY_MS: u64 = 20;
/// What a message takes undisturbed, roughly; and what it takes to come to the prompt.
const MESSAGE_MS: u64 = 250;

/// For each message a command that leaves a mark, and an answer.
fn script(place: &Place) -> String {
    let lines: Vec<Value> = (1..=MESSAGES)
        .flat_map(|nth| {
            let command = format!("echo {nth} >> ran.txt");
            let acts = call("run", json!({ "command": command }));
            [acts, says(&format!("Answer {nth}."))]
        })
        .map(|line| with(line, "delay_ms", REPLY_DELAY_MS))
        .collect();
    place.script(&lines)
}

/// What the log has of the conversation: how many messages, and whether the last was answered.
fn known(place: &Place) -> (usize, bool) {
    let Some(run) = place.listed().pop() else {
        return (0, true);
    };
    let entries = place.entries(&run.id);
    let given = 1 + of_kind(&entries, "goal_given").len();
    let ended = of_kind(&entries, "run_ended").len();
    (given, ended == given)
}

fn begun(place: &Place, model: &str) -> Terminal {
    let words = match place.listed().pop() {
        Some(run) => vec!["chat".into(), "--continue".into(), run.id],
        None => vec!["chat".into(), "--model".into(), model.to_owned()],
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    at(place, &[&words[..], &["--no-ask"]].concat(), Size::USUAL)
}

/// Says what comes next, if something does.
fn say_next(place: &Place, terminal: &Terminal) {
    match known(place) {
        (_, false) => terminal.type_keys("/resume"),
        (given, true) => terminal.type_keys(&format!("message {}", given + 1)),
    }
    terminal.type_keys(ENTER);
}

#[test]
fn a_conversation_that_is_killed_again_and_again_has_every_message_once() {
    let kills = number("BONDED_CHAT_KILLS").unwrap_or(KILLS_DEFAULT);
    let seed = seed("BONDED_CHAT_SEED");
    let mut rng = Rng::of(seed, 0);
    let (mut made, mut interrupted) = (0, 0);
    while made < kills {
        let place = Place::new();
        let model = script(&place);
        while known(&place) != (MESSAGES, true) {
            let mut terminal = begun(&place, &model);
            terminal.wait_for(READY);
            say_next(&place, &terminal);
            thread::sleep(Duration::from_micros(rng.below(MESSAGE_MS * 1000)));
            kill_process(terminal.pid(), Signal::KILL).expect("it is there");
            terminal.wait_for_end();
            made += 1;
        }
        let mut terminal = begun(&place, &model);
        terminal.wait_for(READY);
        leave(&mut terminal);
        interrupted += check(&place, seed);
    }
    tell(&format!(
        "{made} kills, {interrupted} calls of unknown outcome, BONDED_CHAT_SEED={seed}"
    ));
}

/// Gives how many calls ended with their outcome unknown.
fn check(place: &Place, seed: u64) -> usize {
    let entries = holds(place);
    let started = of_kind(&entries, "run_started");
    let given = of_kind(&entries, "goal_given");
    let asked: Vec<String> = started
        .iter()
        .chain(&given)
        .map(|data| data["goal"].as_str().unwrap_or_default().to_owned())
        .collect();
    let wanted: Vec<String> = (1..=MESSAGES).map(|nth| format!("message {nth}")).collect();
    assert_eq!(asked, wanted, "BONDED_CHAT_SEED={seed}");
    let marks = std::fs::read_to_string(place.work().join("ran.txt")).unwrap_or_default();
    let finished = of_kind(&entries, "tool_finished");
    let unknown = finished.iter().filter(|it| it["outcome"] == "interrupted");
    let unknown = unknown.count();
    let mut once: Vec<&str> = marks.lines().collect();
    let all = once.len();
    once.dedup();
    assert_eq!(once.len(), all, "BONDED_CHAT_SEED={seed}: {marks}");
    assert!(
        all + unknown >= MESSAGES,
        "BONDED_CHAT_SEED={seed}: {marks}"
    );
    unknown
}
