//! What a plan was started with, kept so that it can be resumed.
//!
//! It is the first thing that is written of a plan and holds the plan's text itself: a file that was edited
//! meanwhile changes nothing of a plan that is under way. That a plan has ended is an empty file beside it,
//! written when nothing of it is left to do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bonded_kernel::{HeldFile, Millis};
use bonded_work_rules::Constraints;
use serde::{Deserialize, Serialize};

use super::id::PlanId;
use super::workshop::Workshop;
use crate::files::{read_json, write_durably};

/// Everything that a later process needs to go on with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Names this execution of the plan.
    pub id: PlanId,
    /// The tree's root, absolute and without links.
    pub root: PathBuf,
    /// Where the command was given, and its arguments: names of files in them are meant from there.
    pub dir: PathBuf,
    /// As the command line had them.
    pub arguments: Vec<String>,
    /// The plan as it was written.
    pub plan: String,
    /// When the command was given.
    pub started_at: Millis,
    /// The limits of items that set none, for those who look; records of before have the usual ones.
    #[serde(default)]
    pub defaults: Constraints,
    /// Dependencies of other plans that were not ready in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What counted of files that were found when the plan was started: nothing else counts when it is resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldFile>,
}

impl PlanRecord {
    const FILE: &str = "plan.json";
    const ENDED: &str = "ended";

    /// Keeps it durably, before anything runs.
    pub fn write(&self, workshop: &Workshop) -> io::Result<()> {
        let file = workshop.plan_dir(&self.id).join(Self::FILE);
        write_durably(&file, &serde_json::to_vec_pretty(self)?)
    }

    /// Nothing where there is no such plan.
    pub fn read(workshop: &Workshop, id: &PlanId) -> io::Result<Option<Self>> {
        read_json(&workshop.plan_dir(id).join(Self::FILE))
    }

    /// Notes that nothing of the plan is left to do.
    pub fn end(&self, workshop: &Workshop) -> io::Result<()> {
        write_durably(&workshop.plan_dir(&self.id).join(Self::ENDED), b"")
    }

    /// Whether nothing of the plan is left to do.
    pub fn has_ended(&self, workshop: &Workshop) -> bool {
        workshop.plan_dir(&self.id).join(Self::ENDED).exists()
    }

    /// The newest plan of a tree that has not ended.
    pub fn last_open(workshop: &Workshop, root: &Path) -> io::Result<Option<Self>> {
        let mut open = vec![];
        for id in plan_ids(workshop)? {
            let record = Self::read(workshop, &id)?;
            let is_meant = |it: &Self| it.root == root && !it.has_ended(workshop);
            open.extend(record.filter(is_meant));
        }
        Ok(open.into_iter().max_by_key(|record| record.started_at))
    }
}

/// The plans whose ids begin so, in the order of their ids.
pub fn plans_beginning(workshop: &Workshop, beginning: &str) -> io::Result<Vec<PlanId>> {
    let mut ids = plan_ids(workshop)?;
    ids.retain(|id| id.as_str().starts_with(beginning));
    ids.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    Ok(ids)
}

/// Every plan that is kept beside a store.
///
/// In no order. What is not named like a plan is none.
pub(crate) fn plan_ids(workshop: &Workshop) -> io::Result<Vec<PlanId>> {
    let listing = match fs::read_dir(workshop.plans_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        listing => listing?,
    };
    let mut ids = vec![];
    for entry in listing {
        let name = entry?.file_name();
        ids.extend(name.to_str().and_then(|name| PlanId::new(name).ok()));
    }
    Ok(ids)
}
