//! The memory of an agent is the fold of its log: from run to run, and in the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bonded_kernel::{Event, Memory, TerminationKind};
use serde_json::Value;

use crate::model::loops_of;
use crate::remains::Remains;
use crate::rules::text;

/// Gives a word about how much was looked at.
pub(super) fn check(remains: &Remains) -> String {
    let mut files: BTreeMap<PathBuf, Vec<(&Value, String)>> = BTreeMap::new();
    for run in &remains.runs {
        let rule = text(&run["rule_id"]);
        let mut rules = remains.world.rules.iter();
        let rule = rules.find(|it| it.rule_id.to_string() == rule);
        let rule = rule.expect("every run has a rule");
        let file = rule.memory_in(Path::new(""));
        let id = text(&run["run_id"]);
        if remains.logs.contains_key(&id) {
            files
                .entry(file)
                .or_default()
                .push((&run["started_at"], id));
        }
    }
    for (file, mut runs) in files.clone() {
        // Runs with one memory come one after the other.
        runs.sort_by_key(|(at, _)| text(at));
        let ids: Vec<&str> = runs.iter().map(|(_, id)| id.as_str()).collect();
        check_file(remains, &file, &ids);
    }
    format!("{} memories", files.len())
}

fn check_file(remains: &Remains, file: &Path, runs: &[&str]) {
    let path = remains.place.path("data").join(file);
    let file = file.display();
    let mut memory = Memory::default();
    for id in runs {
        let (run, entries) = &remains.logs[*id];
        let config = run.config().looping.as_ref();
        let begun = Memory::read(&config.expect("it works in loops").memory);
        assert_eq!(
            begun,
            Some(memory),
            "{file}: {id} began with what the last run left"
        );
        let is_edited = |event: &Event| matches!(event, Event::MemoryEdited(_));
        let edited = entries.iter().find(|entry| is_edited(&entry.event));
        assert!(edited.is_none(), "nobody edited {file}: {edited:?}");
        memory = run.memory().expect("it has a memory").clone();
    }
    let is_whole = |id: &&str| {
        let (run, _) = &remains.logs[*id];
        let end = run.termination();
        end.is_some_and(|end| end.kind == TerminationKind::Done)
    };
    if runs.iter().all(is_whole) {
        let loops: u64 = runs.iter().map(|id| loops_of(id)).sum();
        assert_eq!(memory.get("total"), Some(&loops.into()), "{file}");
    }
    let content = std::fs::read_to_string(&path).expect("the memory is in its file");
    assert_eq!(
        Memory::read(&content),
        Some(memory),
        "{file} shows the memory"
    );
}
