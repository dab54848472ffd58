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
        let wrote = person.run(&[], &[line, done()]);
        assert_eq!(wrote.code, Some(0), "{wrote:?}");
        let outside = person.path("made");
        let attempt = format!("echo evil > {}", outside.display());
        let script = person.script(&[sh(&attempt), done()]);
        let next = person.bonded(&["run", "--id", "next", "--model", &script, "the goal"]);
        assert_eq!(next.code, Some(0), "{next:?}");
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

/// A run in a directory of its own whose call was approved, and which nobody drives.
fn interrupted(person: &Person, id: &str) {
    let dir = person.work().join(id);
    let server = json!({ "mcpServers": { "helper": { "command": "true", "required": false } } });
    person.write(dir.join(".ai-agent.json"), server.to_string());
    let agent = dir.join("a.ai");
    person.write(
        &agent,
        "---\ntools: [builtin, helper]\nmaxTurns: 5\n---\nhelp",
    );
    let (dir, agent) = (dir.display().to_string(), agent.display().to_string());
    let write = call("write", json!({ "path": "written", "content": "x" }));
    let script = person.script(&[write, done()]);
    let words = [
        "run",
        "--trust",
        "--id",
        id,
        "-C",
        &dir,
        "--agent",
        &agent,
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
    let shown = person.bonded(&["approve", id]).stderr;
    let mut lines = shown.lines();
    let digest = lines.find_map(|line| line.trim().strip_prefix("digest"));
    let digest = digest.expect("a look shows the digest").trim();
    let approved = person.bonded(&["approve", id, "--digest", digest, "--no-resume"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
}

#[test]
fn a_word_of_trust_is_for_one_run_and_what_changed_stops_no_other() {
    let person = Person::new();
    for id in ["first", "second", "third"] {
        interrupted(&person, id);
    }
    let made = |id: &str, name: &str| person.work().join(id).join(name);
    let server = json!({ "command": "sh", "args": ["-c", "echo x > started"], "required": false });
    let config = json!({ "mcpServers": { "helper": server } });
    for id in ["first", "third"] {
        person.write(made(id, ".ai-agent.json"), config.to_string());
    }
    let nothing_happened = || {
        for (id, name) in [
            ("first", "started"),
            ("third", "started"),
            ("first", "written"),
        ] {
            absent(made(id, name));
        }
        absent(made("third", "written"));
    };
    let refused = person.bonded(&["resume", "--all", "--trust"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("error[usage]"), "{refused:?}");
    assert!(
        refused.stderr.contains("bonded resume RUN --trust"),
        "{refused:?}"
    );
    nothing_happened();
    absent(made("second", "written"));
    let all = person.bonded(&["resume", "--all"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    assert_eq!(all.stderr.matches("error[untrusted]").count(), 2, "{all:?}");
    assert!(made("second", "written").exists(), "{all:?}");
    nothing_happened();
    // Named, each is trusted for that once.
    for id in ["first", "third"] {
        let resumed = person.bonded(&["resume", id, "--trust"]);
        assert!(!resumed.stderr.contains("untrusted"), "{resumed:?}");
        assert!(made(id, "started").exists(), "{resumed:?}");
        assert!(made(id, "written").exists(), "{resumed:?}");
    }
}
