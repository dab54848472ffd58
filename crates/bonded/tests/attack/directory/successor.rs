//! Nothing that an agent writes configures its successor.

use serde_json::json;

use super::{marking, untrusted};
use crate::person::{Person, call, done, sh};
use crate::witness::absent;

#[test]
fn what_an_agent_writes_does_not_free_the_next_run() {
    let config = json!({ "defaults": { "sandbox": "full" } }).to_string();
    for line in [
        sh(&format!("printf '%s' '{config}' > .ai-agent.json")),
        sh(&format!("printf '%s' '{config}' > x; mv x .ai-agent.json")),
        call(
            "write",
            json!({ "path": ".ai-agent.json", "content": config }),
        ),
    ] {
        let person = Person::new();
        person.run(&[], &[line, done()]);
        let outside = person.path("made");
        let attempt = format!("echo evil > {}", outside.display());
        let script = person.script(&[sh(&attempt), done()]);
        person.bonded(&["run", "--id", "next", "--model", &script, "the goal"]);
        absent(&outside);
    }
}

/// A person whose agent has a trusted server and waits for an approval.
fn waiting(person: &Person) {
    let server = json!({ "mcpServers": { "helper": { "command": "true", "required": false } } });
    person.write(person.work().join(".ai-agent.json"), server.to_string());
    let agent = "---\ntools: [builtin, helper]\nmaxTurns: 5\n---\nhelp";
    person.write(person.work().join("a.ai"), agent);
    let write = call("write", json!({ "path": "written", "content": "x" }));
    let script = person.script(&[write, done()]);
    let words = [
        "run",
        "--trust",
        "--id",
        "run",
        "--agent",
        "a.ai",
        "--model",
        &script,
        "--ask",
        "write",
        "--tooling-transport",
        "native",
        "the goal",
    ];
    let waits = person.bonded(&words);
    assert_eq!(waits.code, Some(6), "{waits:?}");
}

#[test]
fn a_run_that_is_taken_up_again_uses_what_was_there_when_it_began() {
    let person = Person::new();
    waiting(&person);
    let mark = person.work().join("started");
    let config = json!({ "mcpServers": { "helper": marking(&mark) } });
    person.write(person.work().join(".ai-agent.json"), config.to_string());
    let refused = person.approve();
    assert!(
        refused.stderr.contains("has changed since the run began"),
        "{refused:?}"
    );
    absent(&mark);
    let refused = person.bonded(&["resume", "run"]);
    untrusted(&refused);
    absent(&mark);
}

#[test]
fn a_run_that_is_taken_up_again_goes_on_where_nothing_has_changed() {
    let person = Person::new();
    waiting(&person);
    let approved = person.approve();
    assert!(!approved.stderr.contains("untrusted"), "{approved:?}");
    assert!(person.work().join("written").exists(), "{approved:?}");
}

#[test]
fn an_env_file_that_changed_configures_no_run_that_is_taken_up_again() {
    let person = Person::new();
    waiting(&person);
    person.write(person.work().join(".ai-agent.env"), "PATH=/evil\n");
    let refused = person.bonded(&["resume", "run"]);
    let approved = person.approve();
    for ended in [refused, approved] {
        assert_ne!(ended.code, Some(0), "{ended:?}");
    }
    absent(person.work().join("written"));
}
