//! Changes made to another tree than the one in which they were found.

use std::sync::Arc;

use super::change::{Change, Clash};
use super::tree::{Child, Directory, Node, Tree};

/// A change and the names on the way to it.
type Placed<'a> = (Vec<&'a [u8]>, &'a Change);

impl Tree {
    /// This tree with the changes made to it. What another changed meanwhile stays where the two do not meet.
    /// Both may have made the same directory. Each directory on the way is made anew once, however many changes
    /// lie below it.
    pub fn with_changes(&self, changes: &[Change]) -> Result<Self, Vec<Clash>> {
        let placed = changes.iter().map(|it| (it.path.names().collect(), it));
        let mut placed: Vec<Placed<'_>> = placed.collect();
        placed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut clashes = vec![];
        let children = merged(self.root().children(), &placed, 0, &mut clashes);
        clashes.sort_by(|a, b| a.path.cmp(&b.path));
        clashes.dedup();
        match clashes.is_empty() {
            true => Ok(Self::new(children)),
            false => Err(clashes),
        }
    }
}

/// The children of a directory after the changes below it, all of which have more than `depth` names.
fn merged(
    children: &[(Box<[u8]>, Child)],
    changes: &[Placed<'_>],
    depth: usize,
    clashes: &mut Vec<Clash>,
) -> Vec<(Box<[u8]>, Child)> {
    let mut merged = Vec::with_capacity(children.len());
    let mut children = children.iter().peekable();
    for group in changes.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
        let name = group[0].0[depth];
        while let Some(other) = children.next_if(|(other, _)| other.as_ref() < name) {
            merged.push(other.clone());
        }
        let now = children.next_if(|(other, _)| other.as_ref() == name);
        let now = now.map(|(_, child)| child);
        if let Some(child) = changed(now, group, depth + 1, clashes) {
            merged.push((name.into(), child));
        }
    }
    merged.extend(children.cloned());
    merged
}

/// What stands at a path after the changes to it, which come first, and to what lies below it. The path has
/// `depth` names.
fn changed(
    now: Option<&Child>,
    changes: &[Placed<'_>],
    depth: usize,
    clashes: &mut Vec<Clash>,
) -> Option<Child> {
    let own_count = changes.partition_point(|(names, _)| names.len() == depth);
    let (own, below) = changes.split_at(own_count);
    let node = now.map(Child::node);
    let own_change = own.first().map(|(_, change)| *change);
    let is_met = own_change.is_none_or(|own| own.is_met_by(node.as_ref()));
    let after = match own_change {
        Some(own) => own.after.clone(),
        None => node,
    };
    let inside = match now {
        Some(Child::Directory(directory)) => directory.children(),
        Some(Child::Leaf(_)) | None => &[],
    };
    let inside = merged(inside, below, depth, clashes);
    // What lies in a directory is not lost with it, unless it was seen to go; and nothing lies in a file.
    let has_room = inside.is_empty() || matches!(after, Some(Node::Directory { .. }));
    if !is_met || !has_room || own_count > 1 {
        let blamed = if own.is_empty() { below } else { own };
        clashes.extend(blamed.iter().map(|(_, change)| Clash {
            path: change.path.clone(),
        }));
    }
    match after? {
        Node::Directory { mode } => {
            let directory = Directory::new(mode, inside);
            Some(Child::Directory(Arc::new(directory)))
        }
        leaf @ (Node::File { .. } | Node::Link { .. } | Node::Special { .. }) => {
            Some(Child::Leaf(leaf))
        }
    }
}

impl Change {
    /// Whether what is there is what the change began with, or the directory that it would make.
    fn is_met_by(&self, node: Option<&Node>) -> bool {
        let is_made = self.is_of_directory() && self.after.is_some() && node == self.after.as_ref();
        is_made || node == self.before.as_ref()
    }
}
