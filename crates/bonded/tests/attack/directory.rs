//! A directory that somebody else wrote.

mod agents;
mod keys;
mod record;
mod settings;
mod successor;

use std::process::Command;

use serde_json::{Value, json};

use crate::person::{Done, Person, finish, start};

/// A person whose working directory holds somebody else's configuration.
fn in_hostile(config: &Value) -> Person {
    let person = Person::new();
    person.write(person.work().join(".ai-agent.json"), config.to_string());
    person
}

/// The person's own configuration.
fn own(person: &Person, config: &Value) {
    let file = person.home().join(".ai-agent/ai-agent.json");
    person.write(file, config.to_string());
}

/// A server that leaves a mark where it may, and is none.
fn marking(mark: &std::path::Path) -> Value {
    let text = format!("echo started > '{}'", mark.display());
    json!({ "command": "sh", "args": ["-c", text] })
}

/// Refused because nobody trusts it, with the way to do so.
#[track_caller]
fn untrusted(ended: &Done) {
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("error[untrusted]"), "{ended:?}");
    assert!(ended.stderr.contains("bonded trust "), "{ended:?}");
    assert!(ended.stderr.contains("--trust"), "{ended:?}");
}

fn ended(command: &mut Command) -> Done {
    finish(start(command))
}
