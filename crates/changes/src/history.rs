//! What changes come to: for each path what was there first and what is there after the last of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bonded_tools::recording::DirTime;

use crate::frame::{ChangedBy, Outcome, PathChange};
use crate::node::{FileNode, Node};
use crate::record::RecordedSet;

/// What several changes of one path come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetChange {
    /// Relative to the directory of the run.
    pub path: PathBuf,
    /// What was there before the first.
    pub from: Node,
    /// What is there after the last.
    pub to: Node,
    /// Paths with the same numbers were names of one file before.
    pub names: Option<(u64, u32)>,
    /// What does not follow from the change before.
    pub conflict: Option<Conflict>,
}

/// Somebody else changed a path between two changes of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The run's change before it.
    pub after: u64,
    /// The run's change after it.
    pub before: u64,
}

/// What changes come to.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(crate) changes: Vec<NetChange>,
    pub(crate) dirs: Vec<NetDir>,
    /// What calls that were killed may have left.
    pub(crate) leftovers: Vec<PathBuf>,
}

/// The time of a directory over several changes.
#[derive(Clone, Debug)]
pub(crate) struct NetDir {
    pub(crate) before: DirTime,
    /// `None` where a call was killed before it could say it.
    pub(crate) after: Option<(i64, u32)>,
    /// Whether nobody else changed the directory in between.
    pub(crate) is_intact: bool,
}

/// A change of one path, and what is known of it.
struct PathStep<'a> {
    set: u64,
    change: &'a PathChange,
    to: Node,
    is_made: Option<bool>,
}

/// What all of the sets come to. A change of which nobody said what came of it was made where what follows says so: the
/// next change, or what is at the path now.
pub(crate) fn net(sets: &[RecordedSet], mut look: impl FnMut(&Path) -> Node) -> Net {
    let mut steps: BTreeMap<&Path, Vec<PathStep<'_>>> = BTreeMap::new();
    let mut net = Net::default();
    let mut dirs: BTreeMap<&Path, NetDir> = BTreeMap::new();
    for recorded in sets {
        let outcome = recorded.outcome.as_ref();
        if outcome.is_none() {
            net.leftovers.extend(recorded.set.leftovers.iter().cloned());
        }
        for change in &recorded.set.changes {
            steps.entry(&change.path).or_default().push(PathStep {
                set: recorded.set.set,
                change,
                to: made_as(&change.to, outcome),
                is_made: outcome.map(|it| matches!(it, Outcome::Made { .. })),
            });
        }
        fold_dirs(&mut dirs, recorded);
    }
    for (path, steps) in steps {
        net.changes.extend(net_of(path, &steps, &mut look));
    }
    net.dirs = dirs.into_values().collect();
    net
}

/// A file with the rights that it was made with.
fn made_as(to: &Node, outcome: Option<&Outcome>) -> Node {
    match (to, outcome) {
        (
            Node::File(file),
            Some(Outcome::Made {
                rights: Some((mode, uid, gid)),
                ..
            }),
        ) => Node::File(FileNode {
            mode: Some(*mode),
            owner: Some((*uid, *gid)),
            ..file.clone()
        }),
        _ => to.clone(),
    }
}

fn net_of(
    path: &Path,
    steps: &[PathStep<'_>],
    look: &mut impl FnMut(&Path) -> Node,
) -> Option<NetChange> {
    let mut net: Option<NetChange> = None;
    let mut last = 0;
    for (at, step) in steps.iter().enumerate() {
        let was_made = step.is_made.unwrap_or_else(|| {
            let later = steps[at + 1..].iter().find(|it| it.is_made != Some(false));
            let next = later.map_or_else(|| look(path), |it| it.change.from.clone());
            step.to.is_at(&next) || !step.change.from.is_at(&next)
        });
        if !was_made {
            continue;
        }
        match &mut net {
            None => {
                net = Some(NetChange {
                    path: path.to_owned(),
                    from: step.change.from.clone(),
                    to: step.to.clone(),
                    names: step.change.names.map(|names| (step.set, names)),
                    conflict: None,
                });
            }
            Some(net) => {
                if !net.to.is_at(&step.change.from) && net.conflict.is_none() {
                    net.conflict = Some(Conflict {
                        after: last,
                        before: step.set,
                    });
                }
                net.to = step.to.clone();
            }
        }
        last = step.set;
    }
    net.filter(|net| !net.from.is_at(&net.to) || net.conflict.is_some())
}

fn fold_dirs<'a>(dirs: &mut BTreeMap<&'a Path, NetDir>, recorded: &'a RecordedSet) {
    let after_of = |path: &Path| match &recorded.outcome {
        Some(Outcome::Made { dirs, .. }) => {
            let found = dirs.iter().find(|it| it.path == path);
            found.map(|it| it.changed)
        }
        _ => None,
    };
    for before in &recorded.set.dirs {
        let after = after_of(&before.path);
        match dirs.get_mut(&*before.path) {
            None => {
                dirs.insert(
                    &before.path,
                    NetDir {
                        before: before.clone(),
                        after,
                        is_intact: true,
                    },
                );
            }
            Some(dir) => {
                dir.is_intact &= dir.after.is_none_or(|after| after == before.changed);
                dir.after = after;
            }
        }
    }
}

/// The undo that can be taken back: the last one after which the run changed nothing, and that was not taken back.
pub(crate) fn last_undo(sets: &[RecordedSet]) -> Option<&RecordedSet> {
    let mut undone: Vec<&RecordedSet> = vec![];
    let made = |it: &&RecordedSet| !matches!(it.outcome, Some(Outcome::NotMade));
    for recorded in sets.iter().filter(made) {
        match recorded.set.by {
            ChangedBy::Undo { .. } => undone.push(recorded),
            ChangedBy::Redo { .. } => drop(undone.pop()),
            ChangedBy::Call { .. } => undone.clear(),
        }
    }
    undone.pop()
}

/// The sets from the first on that a turn made.
pub(crate) fn since(
    sets: &[RecordedSet],
    turn: u32,
    turn_of: impl Fn(&ChangedBy) -> Option<u32>,
) -> &[RecordedSet] {
    let first = sets
        .iter()
        .position(|it| turn_of(&it.set.by).is_some_and(|own| own >= turn));
    first.map_or(&[], |first| &sets[first..])
}
