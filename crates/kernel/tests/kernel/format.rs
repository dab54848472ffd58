//! The log's format outlives builds: what an earlier build wrote is read, and written again in the same
//! bytes. The golden file of a version is never edited; a new version gets a new file.

use bonded_kernel::{Entry, Event, FORMAT, GoalId, Hash, Header, Millis, RunId};

const GOLDEN: &str = include_str!("../golden/format-1.jsonl");

/// The hash that the first line has as the first entry of a log.
const FIRST_HASH: &str = "2f657915bcb7129c294b975ef8f0935e95d60d9ba2d84a58a5743ba5e8710840";

const KINDS: [&str; 11] = [
    "run_started",
    "run_resumed",
    "attempt_started",
    "attempt_failed",
    "reply_rejected",
    "decision_made",
    "turn_failed",
    "tool_invoked",
    "tool_finished",
    "call_skipped",
    "run_ended",
];

fn read(line: &str) -> Event {
    let event: Result<Event, _> = serde_json::from_str(line);
    assert!(event.is_ok(), "{event:?} in {line}");
    event.expect("checked just now")
}

#[test]
fn every_line_of_the_golden_file_is_read_and_written_back_byte_for_byte() {
    for line in GOLDEN.lines() {
        let written = serde_json::to_string(&read(line)).expect("events have string keys");
        assert_eq!(written, line);
    }
}

#[test]
fn the_golden_file_has_every_kind_of_event() {
    let mut found: Vec<&str> = GOLDEN.lines().map(|line| read(line).kind()).collect();
    found.dedup();
    assert_eq!(found, KINDS);
    for line in GOLDEN.lines() {
        let name = format!("{{\"{}\":", read(line).kind());
        assert!(line.starts_with(&name), "{line}");
    }
}

#[test]
fn what_this_build_writes_has_the_format_of_the_golden_file() {
    assert_eq!(FORMAT, 1, "a new format needs a golden file of its own");
}

fn first_header() -> Header {
    Header {
        format: 1,
        run: RunId::new("run-1").expect("a usable id"),
        goal: GoalId::of("tidy the shed"),
        seq: 1,
        at: Millis(1_700_000_000_000),
        turn: 0,
        prev: Hash::ZERO,
    }
}

#[test]
fn the_hash_of_a_known_entry_is_what_it_always_was() {
    let line = GOLDEN.lines().next().expect("the golden file has lines");
    let hash = FIRST_HASH.parse().expect("64 hexadecimal digits");
    let opened = Entry::open(first_header(), Some(hash), line.as_bytes().into(), |_| None);
    assert_eq!(opened.map(|entry| entry.event.kind()), Ok("run_started"));
}
