//! Streams that cannot be written, and streams that nobody reads.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::place::{Place, call, done, finish, start};
use crate::watch::{never, signal, wait_until};

/// Generous for a busy machine.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn what_cannot_be_written_to_stdout_is_an_error_of_every_command() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let run = ["run", "--id", "run", "--model", &script, "the goal"];
    place.bonded(&run).succeeds();
    let each = place.path("goals.jsonl");
    std::fs::write(&each, r#"{"id":"g1","goal":"x"}"#).expect("goals can be written");
    let each = each.display().to_string();
    let data = place.path("data").display().to_string();
    place.bonded(&["init", &data]).succeeds();
    let first = ["note", "--data", &data, "add", "First", "text"];
    place.bonded(&first).succeeds();
    let action = json!({ "trigger": "manual", "action_json": { "kind": "kjxlkj_agent" } });
    let [rule, plan] = [
        ("rule.json", action),
        (
            "plan.json",
            json!({ "id": "one", "agent_id": "agent-1", "description": "nothing" }),
        ),
    ]
    .map(|(name, content)| {
        std::fs::write(place.path(name), content.to_string()).expect("a file can be written");
        place.path(name).display().to_string()
    });
    let commands: &[&[&str]] = &[
        &run,
        &[
            "run", "--id", "other", "--json", "--model", &script, "the goal",
        ],
        &[
            "run",
            "--id",
            "third",
            "--stream-json",
            "--model",
            &script,
            "the goal",
        ],
        &["run", "--each", &each, "--model", &script],
        &["resume", "run"],
        &["runs"],
        &["runs", "--json"],
        &["show", "run"],
        &["show", "run", "--json"],
        &["show", "run", "--turn", "1"],
        &["replay", "run"],
        &["replay", "run", "--json"],
        // Heads that were to be kept, and are not.
        &["verify", "--all", "--json"],
        &["fork", "run", "--turn", "1"],
        &["doctor"],
        &["explain", "usage"],
        &["completions", "bash"],
        &["user", "list", "--data", &data],
        &["note", "--data", &data, "add", "Second", "text"],
        &["note", "--data", &data, "list"],
        &["note", "--data", &data, "list", "--json"],
        &["note", "--data", &data, "show", "First"],
        &["note", "--data", &data, "search", "text"],
        &["note", "--data", &data, "history", "First"],
        &["rule", "--data", &data, "add", &rule],
        &["rule", "--data", &data, "list"],
        &["work", &plan, "--json", "--model", &script],
        &["work", &plan, "--model", &script],
        &["--help"],
        &["--version"],
    ];
    for words in commands {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full device");
        let ended = finish(start(place.command(words).stdout(full)));
        ended.fails_with(3, "output-failed");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let mut child = start(
        place
            .command(&["show", "run", "--json"])
            .stdout(Stdio::piped()),
    );
    drop(child.stdout.take());
    let ended = finish(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// A run that says more on stderr than a pipe holds, which nobody reads.
fn talkative(place: &Place, flags: &[&str], last: serde_json::Value) -> std::process::Child {
    let long = "word ".repeat(60);
    let mut lines: Vec<_> = (0..300)
        .map(|n| {
            call(
                "write",
                json!({ "path": format!("{n}.txt"), "content": long }),
            )
        })
        .collect();
    lines.push(last);
    let script = place.script(&lines);
    let words = [
        "run",
        "--id",
        "run",
        "--max-turns",
        "400",
        "--model",
        &script,
    ];
    let words = [&words[..], flags, &["goal"]].concat();
    start(place.command(&words).stderr(Stdio::piped()))
}

#[test]
fn a_stderr_that_nobody_reads_holds_up_neither_the_limit_of_time_nor_a_signal() {
    for by_signal in [false, true] {
        let place = Place::new();
        let flags: &[&str] = match by_signal {
            true => &[],
            false => &["--max-time", "8"],
        };
        let mut child = talkative(&place, flags, never());
        let began = Instant::now();
        if by_signal {
            place.wait_for_entry("run", 301, "attempt_started");
            signal(&child, Signal::TERM);
        }
        wait_until("the run is over", || {
            child.try_wait().expect("it can be waited for").is_some()
        });
        assert!(began.elapsed() < SOON * 2, "{:?}", began.elapsed());
        let code = child.wait().expect("it has ended").code();
        assert_eq!(code, Some(if by_signal { 143 } else { 1 }));
        let mut said = vec![];
        let mut stderr = child.stderr.take().expect("a pipe");
        stderr.read_to_end(&mut said).expect("it can be read");
        assert!(said.len() >= 4096, "{}", said.len());
    }
}
