//! What an undo would do, and what stands in its way. Nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bonded_kernel::RunId;
use bonded_tools::beneath::{Links, OpenError, Root};
use bonded_tools::recording::DirTime;

use crate::bounds::CONTENT_BYTES_MAX;
use crate::error::ChangesError;
use crate::frame::{ChangedBy, Outcome, PathChange};
use crate::history::{Conflict, Net, NetChange, NetDir, last_undo, net, since};
use crate::node::{Node, look};
use crate::record::{Record, RecordedSet};

/// What is to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Everything that the run changed.
    All,
    /// What it changed from the beginning of a turn on.
    FromTurn(u32),
    /// The last undo.
    Redo,
}

/// Why a path cannot be made what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is not as the run left it.
    ChangedSince {
        /// Relative to the directory of the run.
        path: PathBuf,
        /// As the run left it.
        left: Node,
        /// As it is.
        found: Node,
    },
    /// Somebody else changed it while the run worked.
    ChangedBetween {
        /// Relative to the directory of the run.
        path: PathBuf,
        /// The changes of the run before and after that.
        conflict: Conflict,
    },
    /// What it held is not known: it was too large to be kept.
    NotKept {
        /// Relative to the directory of the run.
        path: PathBuf,
        /// How long it was.
        bytes: u64,
    },
    /// It was something of another kind, such as a directory that is a file now.
    OtherKind {
        /// Relative to the directory of the run.
        path: PathBuf,
    },
    /// It cannot be reached without following a link, or not be looked at.
    Unreachable {
        /// Relative to the directory of the run.
        path: PathBuf,
        /// What is in the way.
        why: String,
    },
    /// It was another user's file, and only that user or root can give it back.
    OfAnother {
        /// Relative to the directory of the run.
        path: PathBuf,
        /// The number of that user.
        uid: u32,
    },
}

impl Obstacle {
    /// Relative to the directory of the run.
    pub fn path(&self) -> &Path {
        match self {
            Self::ChangedSince { path, .. }
            | Self::ChangedBetween { path, .. }
            | Self::NotKept { path, .. }
            | Self::OtherKind { path }
            | Self::Unreachable { path, .. }
            | Self::OfAnother { path, .. } => path,
        }
    }
}

/// What an undo would do.
#[derive(Debug)]
pub struct UndoPlan {
    /// What is changed; `from` is what is there now.
    pub changes: Vec<PathChange>,
    /// What cannot be undone.
    pub obstacles: Vec<Obstacle>,
    pub(crate) times: Vec<DirTime>,
    pub(crate) leftovers: Vec<PathBuf>,
    pub(crate) by: ChangedBy,
}

impl UndoPlan {
    /// Whether there is nothing to do and nothing in the way.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.obstacles.is_empty() && self.leftovers.is_empty()
    }

    /// Makes out what has to be done. `turn_of` says which turn of the record's run a call of a run belongs to.
    pub(crate) fn make(
        record: &Record,
        root: &Root,
        wanted: &Wanted,
        turn_of: &dyn Fn(&RunId, u32) -> Option<u32>,
    ) -> Self {
        let turn_of = |by: &ChangedBy| match by {
            ChangedBy::Call { run, turn, .. } => turn_of(run, *turn),
            ChangedBy::Undo { .. } | ChangedBy::Redo { .. } => None,
        };
        let sets = record.recorded();
        let (net, by) = match wanted {
            Wanted::All => (found_net(sets, root), ChangedBy::Undo { turn: None }),
            Wanted::FromTurn(turn) => {
                let net = found_net(since(sets, *turn, turn_of), root);
                (net, ChangedBy::Undo { turn: Some(*turn) })
            }
            Wanted::Redo => match last_undo(sets) {
                Some(undo) => (
                    found_net(std::slice::from_ref(undo), root),
                    ChangedBy::Redo { of: undo.set.set },
                ),
                None => (Net::default(), ChangedBy::Redo { of: 0 }),
            },
        };
        let mut plan = Self {
            changes: vec![],
            obstacles: vec![],
            times: times(root, &net.dirs),
            leftovers: net
                .leftovers
                .into_iter()
                .filter(|path| is_there(root, path))
                .collect(),
            by,
        };
        let mut numbers: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        for change in net.changes {
            let next = numbers.len() as u32 + 1;
            let names = change.names;
            match judged(record, root, change) {
                Ok(change) => plan.changes.extend(change.map(|change| PathChange {
                    names: names.map(|names| *numbers.entry(names).or_insert(next)),
                    ..change
                })),
                Err(obstacle) => plan.obstacles.push(*obstacle),
            }
        }
        plan
    }
}

/// What changed since the beginning of a turn, for who only looks.
pub(crate) fn found_net(sets: &[RecordedSet], root: &Root) -> Net {
    net(sets, |path| found(root, path).unwrap_or(Node::Other))
}

fn is_there(root: &Root, path: &Path) -> bool {
    !matches!(found(root, path), Ok(Node::Absent) | Err(_))
}

/// What is at a path beneath the root. No link on the way is followed, and where a directory on the way is gone nothing
/// is there.
pub(crate) fn found(root: &Root, path: &Path) -> Result<Node, String> {
    let (above, Some(name)) = (path.parent().unwrap_or(Path::new("")), path.file_name()) else {
        return Err("it has no name".into());
    };
    match root.directory(above, Links::Refused) {
        Ok(dir) => look(&dir, name).map_err(|error| error.to_string()),
        Err(OpenError::Missing { .. }) => Ok(Node::Absent),
        Err(error) => Err(error.to_string()),
    }
}

/// What has to be done at a path: nothing where it is as it was already.
fn judged(
    record: &Record,
    root: &Root,
    net: NetChange,
) -> Result<Option<PathChange>, Box<Obstacle>> {
    let NetChange { path, from, to, .. } = net;
    let found = match found(root, &path) {
        Ok(found) => found,
        Err(why) => return Err(Box::new(Obstacle::Unreachable { path, why })),
    };
    if from.is_at(&found) {
        return Ok(None);
    }
    if let Some(conflict) = net.conflict {
        return Err(Box::new(Obstacle::ChangedBetween { path, conflict }));
    }
    if let Some(bytes) = unread(&from).or_else(|| unread(&to)) {
        return Err(Box::new(Obstacle::NotKept { path, bytes }));
    }
    if is_of_other_kind(&from, &to) {
        return Err(Box::new(Obstacle::OtherKind { path }));
    }
    if !to.is_at(&found) {
        let left = to;
        return Err(Box::new(Obstacle::ChangedSince { path, left, found }));
    }
    if let Some(bytes) = not_kept(record, &from, &found) {
        return Err(Box::new(Obstacle::NotKept { path, bytes }));
    }
    if let Some(uid) = of_another(&from, &found) {
        return Err(Box::new(Obstacle::OfAnother { path, uid }));
    }
    Ok(Some(PathChange {
        path,
        from: found,
        to: from,
        names: None,
    }))
}

/// The length of a file that was too large to be read.
fn unread(node: &Node) -> Option<u64> {
    match node {
        Node::File(file) if file.hash.is_none() => Some(file.bytes),
        _ => None,
    }
}

/// Directories are made and removed, never exchanged for something else.
fn is_of_other_kind(was: &Node, is: &Node) -> bool {
    let is_dir = |node: &Node| matches!(node, Node::Directory { .. });
    let is_leaf = |node: &Node| matches!(node, Node::File(_) | Node::Link { .. });
    (is_dir(was) && is_leaf(is))
        || (is_leaf(was) && is_dir(is))
        || *was == Node::Other
        || *is == Node::Other
}

/// The length of a content that is needed and is not there: what it was, or what it is, without which the undo could not
/// be undone.
fn not_kept(record: &Record, was: &Node, is: &Node) -> Option<u64> {
    if let Node::File(was) = was
        && was.hash.is_none_or(|hash| !record.can_restore(&hash))
    {
        return Some(was.bytes);
    }
    match is {
        Node::File(is) if is.hash.is_none() || is.bytes > CONTENT_BYTES_MAX => Some(is.bytes),
        _ => None,
    }
}

/// The user that a file was of, where it is another one's now and this process may not give it back.
fn of_another(was: &Node, is: &Node) -> Option<u32> {
    let (Node::File(was), Node::File(is)) = (was, is) else {
        return None;
    };
    let (uid, _) = was.owner?;
    let is_root = rustix::process::geteuid().is_root();
    (Some(uid) != is.owner.map(|it| it.0) && !is_root).then_some(uid)
}

/// The times that directories had, where nobody but the run changed them since.
fn times(root: &Root, dirs: &[NetDir]) -> Vec<DirTime> {
    let now = |path: &Path| {
        let dir = root.directory(path, Links::Refused).ok()?;
        DirTime::of(path.to_owned(), &dir).ok()
    };
    // One that is not there will be made again.
    let untouched = dirs.iter().filter(|dir| {
        let is_as_left = match (now(&dir.before.path), dir.after) {
            (Some(now), Some(after)) => now.changed == after,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        dir.is_intact && is_as_left
    });
    untouched.map(|dir| dir.before.clone()).collect()
}

/// Directories as they are now, each once.
pub(crate) fn dirs_of<'a>(root: &Root, dirs: impl Iterator<Item = &'a Path>) -> Vec<DirTime> {
    let dirs: BTreeSet<&Path> = dirs.collect();
    let dirs = dirs.into_iter().filter_map(|path| {
        let dir = root.directory(path, Links::Refused).ok()?;
        DirTime::of(path.to_owned(), &dir).ok()
    });
    dirs.collect()
}

impl Record {
    /// What the run changed from the beginning of a turn on, or from its own beginning: what each path comes to, and what
    /// is there now where the directory can still be opened.
    pub fn net(
        &self,
        turn: Option<u32>,
        turn_of: &dyn Fn(&RunId, u32) -> Option<u32>,
    ) -> Vec<(NetChange, Option<Node>)> {
        let turn_of = |by: &ChangedBy| match by {
            ChangedBy::Call { run, turn, .. } => turn_of(run, *turn),
            ChangedBy::Undo { .. } | ChangedBy::Redo { .. } => None,
        };
        let sets = match turn {
            Some(turn) => since(self.recorded(), turn, turn_of),
            None => self.recorded(),
        };
        let root = self.began().and_then(|(_, dir)| Root::open(dir).ok());
        let look = |path: &Path| Some(found(root.as_ref()?, path).unwrap_or(Node::Other));
        let net = net(sets, |path| look(path).unwrap_or(Node::Other));
        let changes = net.changes.into_iter();
        changes
            .map(|change| {
                let now = look(&change.path);
                (change, now)
            })
            .collect()
    }
}

/// Whether an undo was begun and nobody knows what came of it.
pub(crate) fn unfinished(record: &Record) -> Option<&RecordedSet> {
    let is_undo = |it: &&RecordedSet| !matches!(it.set.by, ChangedBy::Call { .. });
    let last = record.recorded().iter().rev().find(is_undo)?;
    match &last.outcome {
        None => Some(last),
        Some(Outcome::Made { .. } | Outcome::NotMade) => None,
    }
}

/// The directory of a run.
pub(crate) fn open_root(dir: &Path) -> Result<Root, ChangesError> {
    Root::open(dir).map_err(|error| ChangesError::Directory {
        path: dir.to_owned(),
        why: error.to_string(),
    })
}
