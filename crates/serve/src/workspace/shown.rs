//! Things as the command line prints them: with the bodies that clients of the server get.
//!
//! So a script reads the same from the command line as from the server.

use bonded_workspace::store::{Hit, ListedNote};
use bonded_workspace_rules::{Actor, AutomationRun, Note, Rule};
use serde::Serialize;
use serde_json::Value;

use super::dto;

/// With its text.
pub fn note(note: &Note) -> Value {
    value(&dto::Note::from(note))
}

/// A note in a list: all but its text.
pub fn note_summary(note: &ListedNote) -> Value {
    value(&dto::NoteSummary::from(note))
}

/// A rule: what was written, with its names and times.
pub fn rule(rule: &Rule) -> Value {
    value(&dto::RuleAnswer::from(rule))
}

/// A note that was found.
pub fn hit(hit: &Hit) -> Value {
    value(&dto::Hit::from(hit))
}

/// Without what it proposed.
pub fn run(run: &AutomationRun) -> Value {
    value(&dto::RunAnswer::from(run))
}

/// Every body can be JSON.
fn value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).expect("all keys of a body are strings")
}

/// Who it was, for a table.
pub fn actor_name(by: &Actor) -> String {
    match dto::actor(by) {
        (kind, Some(id)) => format!("{} {id}", kind.as_str()),
        (kind, None) => kind.as_str().to_owned(),
    }
}

/// The audit of a run as one line that a person can read.
pub fn audit_line(run: &AutomationRun) -> String {
    let Some(audit) = &run.audit else {
        return run.error_code.clone().unwrap_or_default();
    };
    let error = audit
        .error_code
        .as_deref()
        .map_or(String::new(), |code| format!(", {code}"));
    let prompt = audit.prompt_hash.get(..12).unwrap_or(&audit.prompt_hash);
    format!(
        "{} loops, {} operations, prompt {prompt}, parser {}{error}",
        audit.loop_count, audit.operation_count, audit.parser_version
    )
}
