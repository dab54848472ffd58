//! How the upper directory of an overlay says what of the lower one is gone.

use std::os::fd::AsFd;

use bonded_work_rules::{Child, Directory};
use rustix::fs::fgetxattr;

use crate::tree::stamp::FileStatus;

/// Set on a directory that hides all of the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// Whether this stands for something that was removed.
pub(super) fn hides(seen: &FileStatus) -> bool {
    seen.stands_for == (0, 0)
}

/// Whether nothing of the lower directory is seen, nor of any below that.
pub(super) fn is_opaque(upper: impl AsFd) -> bool {
    let mut value = [0; 1];
    fgetxattr(upper, OPAQUE, &mut value).is_ok_and(|_| value == *b"y")
}

/// What of the lower directory is still seen, beside what the upper one has.
///
/// Whole directories of the lower tree are shared and not walked, so that a look costs what was changed and not
/// what there is.
pub(super) fn shining_through(below: &Directory, names: &[Box<[u8]>]) -> Vec<(Box<[u8]>, Child)> {
    let mut names: Vec<&[u8]> = names.iter().map(|name| &**name).collect();
    names.sort_unstable();
    let is_seen = |name: &[u8]| names.binary_search(&name).is_err();
    let children = below.children().iter();
    children
        .filter(|(name, _)| is_seen(name))
        .cloned()
        .collect()
}
