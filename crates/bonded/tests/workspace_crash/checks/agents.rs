//! Every instruction of every loop was executed once.

use std::collections::BTreeMap;

use bonded_kernel::workspace::WorkspaceEvent;
use serde_json::Value;

use crate::model::{loops_of, title};
use crate::remains::Remains;
use crate::rules::{Kind, text};

/// Gives how many loops there were.
pub(super) fn check(remains: &Remains) -> u64 {
    let mut titles: BTreeMap<String, u64> = BTreeMap::new();
    let mut issues: BTreeMap<String, u64> = BTreeMap::new();
    let mut counted = 0;
    for run in remains
        .runs
        .iter()
        .filter(|run| run["status"] == "succeeded")
    {
        let id = text(&run["run_id"]);
        let loops = loops_of(&id);
        assert_eq!(run["audit"]["loop_count"], loops, "{run}");
        let is_chained = is_chained(remains, run);
        for number in 0..loops {
            // The loop after the one that made a note changes it.
            let version = if number + 1 < loops { 2 } else { 1 };
            titles.insert(title(&id, number, is_chained), version);
            issues.insert(format!("{id} {number}"), 1);
        }
        counted += loops;
    }
    assert_eq!(made(remains), titles);
    assert_eq!(recorded(remains), issues);
    counted
}

fn is_chained(remains: &Remains, run: &Value) -> bool {
    let chains = [Kind::Created, Kind::Chained];
    let mut rules = remains.world.rules.iter();
    rules.any(|it| chains.contains(&it.kind) && run["rule_id"] == it.rule_id.to_string())
}

/// The titles of notes that agents made, with their versions.
fn made(remains: &Remains) -> BTreeMap<String, u64> {
    let mut made = BTreeMap::new();
    for (note, metadata) in remains.notes.values() {
        if metadata.get("created_by_agent").is_some() {
            let before = made.insert(note.title.clone(), note.version);
            assert_eq!(before, None, "made twice: {note:?}");
        }
    }
    made
}

/// The issues that agents recorded, and how often each.
fn recorded(remains: &Remains) -> BTreeMap<String, u64> {
    let mut recorded = BTreeMap::new();
    for event in remains.events.values().flatten() {
        if let WorkspaceEvent::IssueRecorded(issue) = &event.event {
            *recorded.entry(issue.key.clone()).or_default() += 1;
        }
    }
    recorded
}
