//! What is different between two trees.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::path::TreePath;
use super::tree::{Child, Directory, Node, Tree};

/// What became of one path. A directory that comes or goes is a change of its own, beside those below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// From the tree's root.
    pub path: TreePath,
    /// Absent where nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Node>,
    /// Absent where nothing is there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Node>,
}

/// A tree is not what a change began with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} was changed by another")]
pub struct Clash {
    /// The first path at which it is not.
    pub path: TreePath,
}

impl Change {
    /// Whether nothing was there before.
    pub fn created(&self) -> bool {
        self.before.is_none()
    }

    /// Whether nothing is there any more.
    pub fn deleted(&self) -> bool {
        self.after.is_none()
    }

    /// Whether a directory alone comes, goes or changes its mode.
    pub fn is_of_directory(&self) -> bool {
        let is_directory =
            |node: &Option<Node>| matches!(node, None | Some(Node::Directory { .. }));
        is_directory(&self.before) && is_directory(&self.after)
    }
}

impl Tree {
    /// What turns this tree into the other one, each directory before what lies in it: the order in which it can
    /// be done, if what goes is done last to first.
    pub fn changes_to(&self, after: &Self) -> Vec<Change> {
        let mut changes = vec![];
        compare(None, Some(self.root()), Some(after.root()), &mut changes);
        changes
    }
}

/// Adds what differs below a directory, which is missing on a side where there is something else.
fn compare(
    at: Option<&TreePath>,
    before: Option<&Arc<Directory>>,
    after: Option<&Arc<Directory>>,
    changes: &mut Vec<Change>,
) {
    let mut before = children(before).iter().peekable();
    let mut after = children(after).iter().peekable();
    loop {
        let name = match (before.peek(), after.peek()) {
            (None, None) => return,
            (Some((name, _)), None) | (None, Some((name, _))) => name,
            (Some((a, _)), Some((b, _))) => a.min(b),
        };
        let old = before.next_if(|(other, _)| other == name);
        let new = after.next_if(|(other, _)| other == name);
        let (old, new) = (old.map(|(_, child)| child), new.map(|(_, child)| child));
        if old == new {
            continue;
        }
        // Names in a tree come from paths or from a file system, which has no others.
        let Ok(path) = TreePath::child(at, name) else {
            continue;
        };
        compare_children(&path, old, new, changes);
    }
}

fn compare_children(
    path: &TreePath,
    old: Option<&Child>,
    new: Option<&Child>,
    changes: &mut Vec<Change>,
) {
    let (before, after) = (old.map(Child::node), new.map(Child::node));
    if before != after {
        changes.push(Change {
            path: path.clone(),
            before,
            after,
        });
    }
    compare(Some(path), directory(old), directory(new), changes);
}

fn directory(child: Option<&Child>) -> Option<&Arc<Directory>> {
    match child {
        Some(Child::Directory(directory)) => Some(directory),
        Some(Child::Leaf(_)) | None => None,
    }
}

fn children(directory: Option<&Arc<Directory>>) -> &[(Box<[u8]>, Child)] {
    directory.map_or(&[], |directory| directory.children())
}
