//! Whether a tree is still what changes began with, and whether they can be made.
//!
//! All of it happens before the commit point, and nothing is changed. A later look at each path finds what was
//! changed after this one; this one keeps a publish that would be undone from being begun at all.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bonded_work_rules::{Change, Clash, Node, TreePath, sets_id};
use rustix::fs::{Access, AtFlags, accessat, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::PublishError;
use super::journal::ClosedDirectory;
use super::root::{Modes, OWNER_ALL, Root, mode_of, present};
use super::stage::OWN_NAME;
use crate::tree::Contents;

/// The changes by path.
type ByPath<'a> = BTreeMap<&'a TreePath, &'a Change>;

/// The paths that another changed meanwhile.
pub(super) fn clashes(root: &Root, changes: &[Change]) -> Result<Vec<Clash>, PublishError> {
    let by_path: ByPath<'_> = changes
        .iter()
        .map(|change| (&change.path, change))
        .collect();
    let mut clashes = BTreeSet::new();
    for change in changes {
        let found = clashes_of(root, change, &by_path);
        clashes.extend(found.map_err(|source| unreadable(root, &change.path, source))?);
    }
    Ok(clashes.into_iter().map(|path| Clash { path }).collect())
}

/// A directory that is to go may hold only what goes with it: a new file of the user's in it is a clash at that
/// file.
fn clashes_of(root: &Root, change: &Change, by_path: &ByPath<'_>) -> io::Result<Vec<TreePath>> {
    if is_made_by_both(root, change)? {
        return Ok(vec![]);
    }
    if !root.is(&change.path, change.before.as_ref(), Modes::Exact)?
        || !has_holder(root, change, by_path)?
    {
        return Ok(vec![change.path.clone()]);
    }
    let is_directory = |node: &Option<Node>| matches!(node, Some(Node::Directory { .. }));
    if !is_directory(&change.before) || is_directory(&change.after) {
        return Ok(vec![]);
    }
    let goes = |child: &TreePath| by_path.get(child).is_some_and(|change| change.deleted());
    let mut children = root.children(&change.path)?;
    children.retain(|child| !goes(child));
    Ok(children)
}

/// Two may make the same directory.
pub(super) fn is_made_by_both(root: &Root, change: &Change) -> io::Result<bool> {
    let made = change.after.as_ref().filter(|_| change.is_of_directory());
    match made {
        Some(made) => root.is(&change.path, Some(made), Modes::Exact),
        None => Ok(false),
    }
}

/// Whether there is a directory for a path, or will be.
fn has_holder(root: &Root, change: &Change, by_path: &ByPath<'_>) -> io::Result<bool> {
    let Some(parent) = change.path.parent() else {
        return Ok(true);
    };
    let made = by_path.get(&parent).map(|change| &change.after);
    if change.deleted() || matches!(made, Some(Some(Node::Directory { .. }))) {
        return Ok(true);
    }
    Ok(present(root.directory(Some(&parent)))?.is_some())
}

/// Changes that cannot be published whatever the tree is like.
///
/// The names that staging uses, pipes and devices, and programs that run with another's rights.
pub(super) fn refuse_unpublishable(changes: &[Change]) -> Result<(), PublishError> {
    for Change {
        path,
        before,
        after,
    } in changes
    {
        let is_special = |node: &Option<Node>| matches!(node, Some(Node::Special { .. }));
        if is_special(before) || is_special(after) {
            return Err(PublishError::Special { path: path.clone() });
        }
        if after.as_ref().is_some_and(sets_id) {
            return Err(PublishError::SetId { path: path.clone() });
        }
        if path
            .names()
            .any(|name| name.starts_with(OWN_NAME.as_bytes()))
        {
            return Err(PublishError::Reserved { path: path.clone() });
        }
    }
    Ok(())
}

/// Both sides of the changes must be at hand: the one to make them, the other to undo them.
///
/// Found out afterwards, it would leave a tree that can go neither forward nor back.
pub(super) fn refuse_missing_contents(
    changes: &[Change],
    contents: &dyn Contents,
) -> Result<(), (String, io::Error)> {
    for change in changes {
        for node in [&change.before, &change.after] {
            if let Some(Node::File { content, .. }) = node {
                let read = contents.read(content).map(drop);
                read.map_err(|error| (format!("the kept content of {}", change.path), error))?;
            }
        }
    }
    Ok(())
}

/// The directories that have to be opened for the changes and closed again. Fails where one cannot be written.
///
/// Those that are changed themselves get their modes at the end anyway, and are not listed.
pub(super) fn closed_directories(
    root: &Root,
    changes: &[Change],
) -> Result<Vec<ClosedDirectory>, (String, io::Error)> {
    let holders: BTreeSet<_> = changes.iter().map(|change| change.path.parent()).collect();
    let changed: BTreeSet<_> = changes.iter().map(|change| Some(&change.path)).collect();
    let mut closed = vec![];
    for path in holders {
        let mode = closed_mode(root, path.as_ref()).map_err(|source| {
            let shown = path.as_ref().map_or(".".to_owned(), TreePath::to_string);
            (format!("the directory {shown}"), source)
        })?;
        if let Some(mode) = mode
            && !changed.contains(&path.as_ref())
        {
            closed.push(ClosedDirectory { path, mode });
        }
    }
    Ok(closed)
}

/// The mode of a directory that its owner may not change names in as it is.
fn closed_mode(root: &Root, path: Option<&TreePath>) -> io::Result<Option<u32>> {
    let Some(directory) = present(root.directory(path))? else {
        return Ok(None);
    };
    let stat = fstat(&directory)?;
    let mode = mode_of(&stat);
    let is_closed = mode & OWNER_ALL != OWNER_ALL;
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    match accessat(&directory, ".", wanted, AtFlags::EACCESS) {
        // Kernels that cannot say leave it to the attempt.
        Ok(()) | Err(Errno::NOSYS | Errno::INVAL) => {}
        Err(Errno::ACCESS) if is_closed && stat.st_uid == geteuid().as_raw() => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(is_closed.then_some(mode))
}

fn unreadable(root: &Root, path: &TreePath, source: io::Error) -> PublishError {
    PublishError::Unreadable {
        tree: root.path().to_owned(),
        path: path.clone(),
        source,
    }
}
