//! Secrets: whatever says them, nothing that is written holds them.

use std::path::Path;

use serde_json::json;

use crate::reply::{calls, refusal, report, text};
use crate::world::{Outcome, World};

const KEY: &str = "sk-planted-0123456789";
const PASSWORD: &str = "hunter2\"quoted";

/// An agent whose key and password lie in the env file beside its configuration.
fn world() -> World {
    World::new()
        .front("tools: builtin\nmaxTurns: 6")
        .file(
            ".ai-agent.env",
            format!("KEY={KEY}\nDB_PASSWORD='{PASSWORD}'\nPLAIN=/usr/share\n"),
        )
        .config(&json!({ "providers": { "first": { "apiKey": "${KEY}" } } }))
}

/// Every file below a directory that holds a text, whatever else is in it.
pub(crate) fn files_with(dir: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).expect("a directory can be read") {
        let path = entry.expect("it has entries").path();
        if path.is_dir() {
            files_with(&path, text, found);
        } else {
            let bytes = std::fs::read(&path).expect("a file can be read");
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(path.display().to_string());
            }
        }
    }
}

fn assert_said_nowhere(world: &World, outcome: &Outcome) {
    for secret in [KEY, PASSWORD, "hunter2\\\"quoted", "hunter2\\\\\\\"quoted"] {
        assert!(!outcome.stdout.contains(secret), "{}", outcome.stdout);
        assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
        let mut found = vec![];
        let above = world.path("..");
        files_with(&above, secret, &mut found);
        found.retain(|file| !file.ends_with(".ai-agent.env"));
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
}

#[test]
fn a_key_that_everybody_says_is_written_nowhere() {
    let both = [
        ("read", json!({ "path": ".ai-agent.env" })),
        (
            "run",
            json!({ "command": "cat .ai-agent.env; cat .ai-agent.env >&2" }),
        ),
        ("write", json!({ "path": "copy", "content": KEY })),
        ("read", json!({ "path": KEY })),
    ];
    let world = world().says([
        refusal(500, &format!("the key {KEY} met an error")),
        text(&format!("I think it is {KEY} and {PASSWORD}")),
        calls(&both),
        report(&format!("The key is {KEY}, the password {PASSWORD}.")),
    ]);
    let flags = [
        "--verbose",
        "--trace-llm",
        "--billing-file",
        "bill.jsonl",
        "--sessions-dir",
        "sessions",
    ];
    let goal = format!("say {KEY} and {PASSWORD}");
    let outcome = world.run(&flags, &goal).good();
    assert_eq!(
        outcome.report()["content"],
        "The key is [secret KEY], the password [secret DB_PASSWORD]."
    );
    assert!(outcome.tool_texts()[0].starts_with("(tool failed: protected: "));
    assert_said_nowhere(&world, &outcome);
    for command in [
        &["show", outcome.run_id()][..],
        &["show", outcome.run_id(), "--json"],
        &["runs"],
        &["config", "show", "--agent", "agent.ai"],
    ] {
        assert_said_nowhere(&world, &world.bonded(command));
    }
    let sent = &outcome.requests[0].headers["authorization"];
    assert_eq!(
        sent,
        &format!("Bearer {KEY}"),
        "the provider itself gets it"
    );
}

#[test]
fn the_same_goal_with_a_secret_in_it_is_the_same_run() {
    let world = world().says([report("done"), report("again")]);
    let goal = format!("use {KEY}");
    let first = world.run(&["--id", "mine"], &goal).good();
    let second = world.run(&["--id", "mine"], &goal).good();
    assert_eq!(first.report(), second.report());
    assert_eq!(world.requests_count(), 1);
}

#[test]
fn an_error_that_repeats_a_secret_is_shown_without_it() {
    let world = world().then_always(refusal(401, &format!("no such user: {PASSWORD}")));
    let outcome = world.run(&[], "do it").failed();
    let shown = "no such user: [secret DB_PASSWORD]";
    assert!(outcome.stderr.contains(shown), "{}", outcome.stderr);
    assert_said_nowhere(&world, &outcome);
}
