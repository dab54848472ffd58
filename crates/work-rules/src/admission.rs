//! Admission: whether what a run did to its copy of the tree may be published.

use std::collections::BTreeSet;

use bonded_kernel::{Hash, INERT};

use super::capsule::Capsule;
use super::change::{Change, Clash};
use super::delta::{Footprint, is_implied};
use super::item::{Constraints, WorkItem};
use super::path::TreePath;
use super::tree::Node;

/// Why a run's changes are not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// More files were touched than the item may.
    #[error("Exceeded max files: {found} > {limit}")]
    MaxFiles { found: u64, limit: u64 },
    /// More calls were made than the item may.
    #[error("Exceeded max tool ops: {found} > {limit}")]
    MaxToolOps { found: u64, limit: u64 },
    /// More paths changed than the item may.
    #[error("Exceeded max delta size: {found} > {limit}")]
    MaxDeltaSize { found: u64, limit: u64 },
    /// The same changes to the same state were admitted before.
    #[error(
        "Duplicate run: content hash {content_hash} was admitted before (receipt {receipt_id})"
    )]
    Duplicate {
        content_hash: Hash,
        receipt_id: String,
    },
    /// Paths changed that the item does not name among its outputs.
    #[error("Undeclared output: {} not among output_files", listed(.paths))]
    Undeclared { paths: Vec<TreePath> },
    /// Something was done that no item may do.
    #[error("Invariant {invariant} violated: {} {}", listed(.paths), .invariant.why())]
    Invariant {
        invariant: Invariant,
        paths: Vec<TreePath>,
    },
    /// Somebody else changed the same paths.
    #[error("Conflict: {} changed by another meanwhile", listed(.paths))]
    Conflict { paths: Vec<TreePath> },
}

/// What no item may do, whatever it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// What git keeps stays as it is.
    GitUntouched,
    /// Nothing that the sandbox put aside is published.
    NothingInert,
    /// No pipe, socket or device comes about.
    NoSpecialFile,
    /// No file comes about that runs with the rights of its owner or group.
    NoSetId,
    /// Each changed path is UTF-8, so that a receipt can name it.
    PathsAreText,
}

/// Who starts such a file gets the rights of its owner or group.
const SET_ID: u32 = 0o6000;

impl Invariant {
    /// Each of them, in the order in which they are checked.
    pub const ALL: [Self; 5] = [
        Self::GitUntouched,
        Self::NothingInert,
        Self::NoSpecialFile,
        Self::NoSetId,
        Self::PathsAreText,
    ];

    /// Its name in receipts and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitUntouched => "git_untouched",
            Self::NothingInert => "nothing_inert",
            Self::NoSpecialFile => "no_special_file",
            Self::NoSetId => "no_set_id",
            Self::PathsAreText => "paths_are_text",
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::GitUntouched => "belongs to git and is not an item's to change",
            Self::NothingInert => {
                "was put aside: a command made it, and it would configure later programs"
            }
            Self::NoSpecialFile => "is a pipe, socket or device, which cannot be kept",
            Self::NoSetId => {
                "would run with the rights of its owner or group (set-user-ID, set-group-ID)"
            }
            Self::PathsAreText => "is no UTF-8 and cannot be named in a receipt",
        }
    }

    fn is_violated_by(self, change: &Change) -> bool {
        match self {
            Self::GitUntouched => change.path.names().any(|name| name == b".git"),
            Self::NothingInert => change.after.is_some() && change.path.names().any(is_inert),
            Self::NoSpecialFile => matches!(change.after, Some(Node::Special { .. })),
            Self::NoSetId => change.after.as_ref().is_some_and(sets_id),
            Self::PathsAreText => change.path.as_str().is_none(),
        }
    }
}

/// Whether a name is one that the sandbox gives to what it puts aside. A file that somebody calls `inert-gas` is none.
fn is_inert(name: &[u8]) -> bool {
    let numbered = name.strip_prefix(INERT).and_then(|rest| {
        let dot = rest.iter().rposition(|byte| *byte == b'.')?;
        let (was, number) = (&rest[..dot], &rest[dot + 1..]);
        (!number.is_empty() && number.iter().all(u8::is_ascii_digit)).then_some(was)
    });
    numbered.map(<[u8]>::to_ascii_lowercase).is_some_and(|was| {
        matches!(was.as_slice(), b"git" | b"hg" | b"jj" | b"head")
            || was.starts_with(b"ai-agent")
            || was.ends_with(b".ai")
    })
}

/// Whether a node is a file that runs with the rights of its owner or group. On a directory the bit only hands its
/// group down, as trees that a group shares need it.
pub fn sets_id(node: &Node) -> bool {
    matches!(node, Node::File { mode, .. } if mode & SET_ID != 0)
}

impl std::fmt::Display for Invariant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Vec<Clash>> for Denial {
    fn from(clashes: Vec<Clash>) -> Self {
        Self::Conflict {
            paths: clashes.into_iter().map(|clash| clash.path).collect(),
        }
    }
}

/// The check while a run goes on, and the first part of the last one: whether what was done so far may have been
/// done. `tool_ops` counts the call that is about to begin.
pub fn check_so_far(item: &WorkItem, changes: &[Change], tool_ops: u64) -> Result<(), Denial> {
    check(item, &changes.iter().collect::<Vec<_>>(), tool_ops)
}

/// The last check, when the run has ended. `admitted_before` gives the receipt of an admitted run with the same
/// content hash on the same tree, if there is one.
pub fn admit(
    item: &WorkItem,
    capsule: &Capsule,
    admitted_before: impl FnOnce(&Hash) -> Option<String>,
) -> Result<(), Denial> {
    let changes = capsule.deltas.changes();
    check(item, &changes, capsule.footprint.tool_ops)?;
    // To change nothing twice is no repetition.
    if changes.is_empty() {
        return Ok(());
    }
    match admitted_before(&capsule.content_hash) {
        None => Ok(()),
        Some(receipt_id) => Err(Denial::Duplicate {
            content_hash: capsule.content_hash,
            receipt_id,
        }),
    }
}

fn check(item: &WorkItem, changes: &[&Change], tool_ops: u64) -> Result<(), Denial> {
    for invariant in Invariant::ALL {
        let paths = paths(changes, |change| invariant.is_violated_by(change));
        if !paths.is_empty() {
            return Err(Denial::Invariant { invariant, paths });
        }
    }
    within(
        &Footprint::new(changes.iter().copied(), tool_ops),
        &item.constraints,
    )?;
    match undeclared(item, changes) {
        paths if paths.is_empty() => Ok(()),
        paths => Err(Denial::Undeclared { paths }),
    }
}

/// Whether what was used is within the limits. At the bound it is.
pub fn within(used: &Footprint, limits: &Constraints) -> Result<(), Denial> {
    let (found, limit) = (used.files_touched, limits.max_files);
    if found > limit {
        return Err(Denial::MaxFiles { found, limit });
    }
    let (found, limit) = (used.tool_ops, limits.max_tool_ops);
    if found > limit {
        return Err(Denial::MaxToolOps { found, limit });
    }
    let (found, limit) = (used.delta_size, limits.max_delta_size);
    if found > limit {
        return Err(Denial::MaxDeltaSize { found, limit });
    }
    Ok(())
}

/// What was changed although the item declares other outputs. A directory that only came or went with what lies
/// in it is judged by that.
fn undeclared(item: &WorkItem, changes: &[&Change]) -> Vec<TreePath> {
    let Some(declared) = &item.output_files else {
        return vec![];
    };
    let all: BTreeSet<&[u8]> = changes.iter().map(|it| it.path.as_bytes()).collect();
    paths(changes, |change| {
        let is_declared = declared.iter().any(|it| it.covers(&change.path));
        !is_declared && !is_implied(change, &all)
    })
}

fn paths(changes: &[&Change], is_meant: impl Fn(&Change) -> bool) -> Vec<TreePath> {
    let meant = changes.iter().filter(|change| is_meant(change));
    meant.map(|change| change.path.clone()).collect()
}

/// More paths than this are counted, not named.
const LISTED_MAX: usize = 10;

fn listed(paths: &[TreePath]) -> String {
    let named: Vec<String> = paths
        .iter()
        .take(LISTED_MAX)
        .map(|it| it.to_string())
        .collect();
    match paths.len().saturating_sub(LISTED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
