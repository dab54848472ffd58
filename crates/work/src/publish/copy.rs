//! Changes made to a new copy of the tree, by the same way as to the tree itself.
//!
//! It is used where a copy must be made again from what was written down: for tests on a state that nobody else
//! touches, and for a call that is made again after a crash. Because it goes through the same code as
//! publishing, what works here works there.

use bonded_work_rules::Change;
use serde_json::Value;

use super::error::WorkError;
use super::transaction::{Publish, PublishError, Settlement};
use crate::tree::{Checkpoints, Contents, Copies, Frozen, TreeCopy};

/// Where a copy is made again, and of what.
pub(crate) struct CopyMaking<'a> {
    pub(crate) copies: &'a Copies,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) frozen: &'a Frozen,
    pub(crate) name: &'a str,
}

/// A new copy with these changes, on what was frozen and nothing else. It takes the place of the one before. Nothing
/// where the changes cannot be made.
///
/// The journal lies beside the copy and is gone when this returns. `contents` gives both sides of the changes.
pub(crate) fn copy_with_changes(
    making: &CopyMaking<'_>,
    changes: &[Change],
    contents: &dyn Contents,
) -> Result<Option<TreeCopy>, WorkError> {
    let copies = making.copies;
    let copy = copies.make_apart(making.checkpoints, making.frozen, making.name)?;
    let journal = copy.path().with_file_name("journal.json");
    let publish = Publish::new(copy.path(), &journal, contents)?;
    let prepared = match publish.prepare(changes, Value::Null, None) {
        // They will not be published; here they cannot be made.
        Err(PublishError::Reserved { .. }) => return Ok(None),
        prepared => prepared?,
    };
    let settled = prepared.apply()?;
    let is_made = matches!(settled.settlement(), Settlement::Published { .. });
    settled.finish()?;
    Ok(is_made.then_some(copy))
}
