//! Items of one level that changed separate lines of one file. Each began with the same state; the lines of the later
//! one are put beside those of the earlier one.

use std::collections::BTreeMap;
use std::io::Read as _;

use bonded_kernel::Hash;
use bonded_work_rules::{
    Change, Clash, MERGED_BYTES_MAX, Node, Receipt, Tree, TreePath, merged_lines,
};

use super::error::WorkError;
use crate::tree::{Checkpoints, Contents};

/// The changes of an item as they are made to the tree.
pub(crate) struct Meeting {
    pub(crate) changes: Vec<Change>,
    pub(crate) after: Tree,
    /// Those of them that hold lines of another item.
    pub(crate) merged: Vec<Change>,
}

/// What the changes of an item are on the tree as the items before it in its level left it. An error says where they
/// meet.
///
/// Without a clash nothing is read. A single path that cannot be merged is enough to deny the item as a whole,
/// since half an item was never tested. What was merged was not tested as it is, and the receipt names it.
pub(crate) fn meet(
    tree: &Tree,
    changes: &[Change],
    earlier: &[Receipt],
    checkpoints: &Checkpoints,
) -> Result<Result<Meeting, Vec<Clash>>, WorkError> {
    let clashes = match tree.with_changes(changes) {
        Ok(after) => {
            return Ok(Ok(Meeting {
                changes: changes.to_vec(),
                after,
                merged: vec![],
            }));
        }
        Err(clashes) => clashes,
    };
    let left = left_by(earlier);
    let (mut made, mut merged) = (vec![], vec![]);
    for change in changes {
        if !clashes.iter().any(|clash| clash.path == change.path) {
            made.push(change.clone());
            continue;
        }
        let left = left.get(&change.path).copied();
        let node = left.map(|left| merged_node(change, left, checkpoints));
        let Some((left, node)) = left.zip(node.transpose()?.flatten()) else {
            return Ok(Err(clashes));
        };
        let both = Change {
            path: change.path.clone(),
            before: Some(left.clone()),
            after: Some(node),
        };
        // Where both did the same, there is nothing left to do.
        made.extend((both.before != both.after).then(|| both.clone()));
        merged.push(both);
    }
    // What is published is kept durably.
    checkpoints.sync()?;
    let after = tree.with_changes(&made);
    Ok(after.map(|after| Meeting {
        changes: made,
        after,
        merged,
    }))
}

/// What the items before left at each path that they changed.
///
/// Later receipts outrank earlier ones. A path that an earlier item took away cannot be merged with.
fn left_by(earlier: &[Receipt]) -> BTreeMap<&TreePath, &Node> {
    let mut left = BTreeMap::new();
    for receipt in earlier {
        let changes = receipt.outcome.deltas.changes().into_iter();
        for change in changes.chain(&receipt.outcome.merged) {
            match &change.after {
                Some(node) => left.insert(&change.path, node),
                None => left.remove(&change.path),
            };
        }
    }
    left
}

/// A file with what both changed of it. Nothing where one of them is no text, or where they meet.
///
/// Modes are merged like lines: a mode that only one of them changed is taken.
fn merged_node(
    change: &Change,
    left: &Node,
    checkpoints: &Checkpoints,
) -> Result<Option<Node>, WorkError> {
    let (
        Some(Node::File { mode, content, .. }),
        Some(Node::File {
            mode: own_mode,
            content: own,
            ..
        }),
        Node::File {
            mode: their_mode,
            content: theirs,
            ..
        },
    ) = (&change.before, &change.after, left)
    else {
        return Ok(None);
    };
    let new_mode = match (own_mode, their_mode) {
        (own, theirs) if own == mode => theirs,
        (own, theirs) if theirs == mode || own == theirs => own,
        _ => return Ok(None),
    };
    let Some(text) = merged_content(checkpoints, [content, own, theirs])? else {
        return Ok(None);
    };
    Ok(Some(Node::File {
        mode: *new_mode,
        bytes: text.len() as u64,
        content: checkpoints.put(&text)?,
    }))
}

/// What two contents made of a third, which comes first.
///
/// Nothing also where one of them is larger than what is merged.
pub(crate) fn merged_content(
    checkpoints: &Checkpoints,
    contents: [&Hash; 3],
) -> Result<Option<Vec<u8>>, WorkError> {
    let mut texts = vec![];
    for content in contents {
        let mut text = vec![];
        // One byte more is too large, and is not merged.
        let reader = Contents::read(checkpoints, content)?;
        reader.take(MERGED_BYTES_MAX + 1).read_to_end(&mut text)?;
        texts.push(text);
    }
    Ok(merged_lines(&texts[0], &texts[1], &texts[2]))
}
