//! How far an item has come, beyond what the log of its run says.
//!
//! Tests may leave anything in the item's copy of the tree. A process that goes on after one that died in the middle
//! of them must not take that for the item's; so what was admitted is kept before they begin.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bonded_kernel::RunId;
use bonded_tools::is_unfinished;
use bonded_work_rules::{Change, WorkItem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::WorkError;
use super::files::{read_json, write_durably};
use super::level::Level;
use super::publish::{Contents, Outcome, Publish, PublishError};
use super::saved::{Interrupted, SavedContents};
use super::tree::TreeCopy;

/// One run of an item, and the copy of the tree that is the run's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) run: RunId,
    /// What the tests began with, if they did. Its contents are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) admitted: Option<Vec<Change>>,
}

impl Attempt {
    const FILE: &str = "attempt.json";

    /// Nothing where there is only what the log says.
    pub(super) fn read(item_dir: &Path) -> io::Result<Option<Self>> {
        read_json(&item_dir.join(Self::FILE))
    }

    pub(super) fn write(&self, item_dir: &Path) -> io::Result<()> {
        write_durably(&item_dir.join(Self::FILE), &serde_json::to_vec(self)?)
    }
}

/// Removes what a call of a file tool was writing when its process died: it is nobody's change.
fn remove_unfinished(copy: &TreeCopy) -> Result<(), WorkError> {
    for Change { path, before, .. } in copy.changes()?.changes {
        let is_meant = path.names().last().is_some_and(is_unfinished);
        if before.is_none() && is_meant {
            let path = Path::new(OsStr::from_bytes(path.as_bytes()));
            std::fs::remove_file(copy.path().join(path))?;
        }
    }
    Ok(())
}

impl Level<'_> {
    /// The copy that the last run of an item worked in, as it was when the run ended or was left. Nothing where it
    /// cannot be had.
    pub(super) fn copy_of(
        &self,
        item: &WorkItem,
        last: &RunId,
        known: Option<Attempt>,
        interrupted: Interrupted,
    ) -> Result<Option<TreeCopy>, WorkError> {
        let known = known.filter(|it| it.run == *last);
        if let Some(changes) = known.and_then(|it| it.admitted) {
            return self.copy_with(item, &changes);
        }
        let (checkpoints, name) = (self.order.checkpoints, item.id.as_str());
        let Some(copy) = self.copies.take_up(checkpoints, self.frozen, name)? else {
            return Ok(None);
        };
        match interrupted {
            Interrupted::Nothing => {
                remove_unfinished(&copy)?;
                Ok(Some(copy))
            }
            Interrupted::At(changes) => {
                drop(copy);
                let contents = SavedContents {
                    item_dir: &self.item_dir(item),
                    checkpoints,
                };
                self.copy_from(item, &changes, &contents)
            }
            Interrupted::Unknown => Ok(None),
        }
    }

    /// A new copy with these changes, on what was frozen and nothing else. It takes the place of the one before.
    /// Nothing where the changes cannot be made.
    pub(super) fn copy_with(
        &self,
        item: &WorkItem,
        changes: &[Change],
    ) -> Result<Option<TreeCopy>, WorkError> {
        self.copy_from(item, changes, self.order.checkpoints)
    }

    fn copy_from(
        &self,
        item: &WorkItem,
        changes: &[Change],
        contents: &dyn Contents,
    ) -> Result<Option<TreeCopy>, WorkError> {
        let checkpoints = self.order.checkpoints;
        let name = item.id.as_str();
        let copy = self.copies.make_apart(checkpoints, self.frozen, name)?;
        let journal = copy.path().with_file_name("journal.json");
        let publish = Publish::new(copy.path(), &journal, contents)?;
        let prepared = match publish.prepare(changes, Value::Null, None) {
            // They will not be published; here they cannot be made.
            Err(PublishError::Reserved { .. }) => return Ok(None),
            prepared => prepared?,
        };
        let settled = prepared.apply()?;
        let is_made = matches!(settled.outcome(), Outcome::Published { .. });
        settled.finish()?;
        Ok(is_made.then_some(copy))
    }
}
