//! Trees that a process may have left half published.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::files::read_json;
use super::plan_id::PlanId;
use super::plan_record::PlanRecord;
use super::workshop::Workshop;

/// A publish that has begun and is not known to have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub root: PathBuf,
    pub plan: PlanId,
}

/// What is needed of a journal to name it.
#[derive(Deserialize)]
struct Begun {
    sealed: OfPlan,
}

#[derive(Deserialize)]
struct OfPlan {
    plan: PlanId,
}

/// Every tree of the workshop with a publish under way, be it just now. What cannot be read is passed over: the next
/// plan on that tree says what is wrong.
pub fn unfinished(workshop: &Workshop) -> io::Result<Vec<Unfinished>> {
    let trees = match std::fs::read_dir(workshop.trees_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        trees => trees?,
    };
    let mut found = vec![];
    for tree in trees {
        let journal = tree?.path().join(Workshop::JOURNAL);
        let begun: Option<Begun> = read_json(&journal).ok().flatten();
        let Some(plan) = begun.map(|begun| begun.sealed.plan) else {
            continue;
        };
        if let Ok(Some(record)) = PlanRecord::read(workshop, &plan) {
            let root = record.root;
            found.push(Unfinished { root, plan });
        }
    }
    Ok(found)
}
