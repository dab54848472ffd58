//! Every instruction of every loop was executed once.

use std::collections::BTreeMap;

use crate::model::{loops_of, title};
use crate::remains::Remains;
use crate::rules::{Kind, text};
use bonded_workspace_rules::WorkspaceEvent;
use serde_json::Value;

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
        let kind = remains.kind_of(run);
        let is_chained = [Kind::Created, Kind::Chained].contains(&kind);
        for number in 0..loops {
            // The loop after the one that made a note changes it.
            let version = if number + 1 < loops { 2 } else { 1 };
            titles.insert(title(&id, number, is_chained), version);
            issues.insert(format!("{id} {number}"), 1);
        }
        counted += loops;
    }
    let (made, recorded) = (made(remains), recorded(remains));
    let cut_short = cut_short(remains);
    let is_whole = |name: &str| !cut_short.iter().any(|run| name.contains(run.as_str()));
    let whole = |all: BTreeMap<String, u64>| -> BTreeMap<String, u64> {
        let whole = all.into_iter().filter(|(name, _)| is_whole(name));
        whole.collect()
    };
    assert!(recorded.values().all(|times| *times == 1), "{recorded:?}");
    assert_eq!(whole(made), titles);
    assert_eq!(whole(recorded), issues);
    counted
}

/// The runs of which nobody knows how far they came.
fn cut_short(remains: &Remains) -> Vec<String> {
    let cancelled = |run: &&Value| run["status"] == "cancelled";
    let runs = remains.runs.iter().filter(cancelled);
    runs.map(|run| text(&run["run_id"])).collect()
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
