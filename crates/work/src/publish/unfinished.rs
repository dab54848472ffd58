//! Trees that a process may have left half published.
//!
//! It only reads, without locks, and is for showing: a publish that is under way just now looks the same as one
//! that was left.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use crate::files::read_json;
use crate::plan::{PlanId, PlanRecord, Workshop};

/// A publish that has begun and is not known to have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedPublish {
    /// The tree.
    pub root: PathBuf,
    /// Whose item it is of.
    pub plan: PlanId,
}

/// What is needed of a journal to name it.
#[derive(Deserialize)]
struct JournalHead {
    sealed: JournalPlan,
}

/// A part of what the caller of the publish put into the journal.
#[derive(Deserialize)]
struct JournalPlan {
    plan: PlanId,
}

/// Every tree of the workshop with a publish under way, be it just now. What cannot be read is passed over: the next
/// plan on that tree says what is wrong.
pub fn unfinished_publishes(workshop: &Workshop) -> io::Result<Vec<UnfinishedPublish>> {
    let trees = match std::fs::read_dir(workshop.trees_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        trees => trees?,
    };
    let mut found = vec![];
    for tree in trees {
        let journal = tree?.path().join(Workshop::JOURNAL);
        let head: Option<JournalHead> = read_json(&journal).ok().flatten();
        let Some(plan) = head.map(|head| head.sealed.plan) else {
            continue;
        };
        if let Ok(Some(record)) = PlanRecord::read(workshop, &plan) {
            let root = record.root;
            found.push(UnfinishedPublish { root, plan });
        }
    }
    Ok(found)
}
