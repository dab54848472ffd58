//! What a whole tree looks like without its contents being read, in one number.
//!
//! Equal hashes of two frozen trees say that they are equal, and not that nothing happened in between. For a
//! copy that stands on the tree itself that is not enough: somebody may have changed a file and changed it back
//! while tests read it. Times of change cannot be set back by programs, so that the sum over all stamps tells
//! it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use super::stamp::{FileStatus, Stamp};

/// A tree of so many entries and bytes is made again from what is kept of it in a moment.
///
/// Both limits hold together.
const SMALL_ENTRIES: u64 = 2_000;
const SMALL_BYTES: u64 = 32 * 1024 * 1024;

/// Every path of a tree with its stamp. Two that one process took with one [`Eye`] and that are equal say that nothing
/// was changed in between, not even there and back, if everything [had settled](Looks::is_settled) at the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    /// The order in which threads come upon things does not matter.
    sum: u64,
    entries: u64,
    bytes: u64,
    is_settled: bool,
    is_own: bool,
}

/// How paths and stamps become numbers: in another way in each process, so that nobody can choose them.
#[derive(Debug, Default)]
pub(super) struct Eye(RandomState);

/// Who looks, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looking<'a> {
    pub(super) eye: &'a Eye,
    pub(super) begun_ns: i64,
    /// The user and the group of this process.
    pub(super) own: (u32, u32),
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            sum: 0,
            entries: 0,
            bytes: 0,
            is_settled: true,
            is_own: true,
        }
    }
}

impl Looks {
    /// Adds a name in a directory, or the directory itself where there is no name.
    pub(super) fn add(
        &mut self,
        looking: &Looking<'_>,
        dir: &[u8],
        name: &[u8],
        seen: &FileStatus,
    ) {
        let Stamp {
            ino,
            bytes,
            mtime_ns,
            ctime_ns,
            mode,
        } = seen.stamp;
        let mut hasher = looking.eye.0.build_hasher();
        hasher.write(dir);
        hasher.write_u8(b'/');
        hasher.write(name);
        hasher.write_u8(0);
        hasher.write_u64(ino);
        hasher.write_u64(bytes);
        hasher.write_i64(mtime_ns);
        hasher.write_i64(ctime_ns);
        hasher.write_u32(mode);
        self.sum = self.sum.wrapping_add(hasher.finish());
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.is_settled &= seen.stamp.had_settled(looking.begun_ns);
        self.is_own &= seen.owner == looking.own;
    }

    /// For what several threads saw of one tree.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum.wrapping_add(other.sum),
            entries: self.entries + other.entries,
            bytes: self.bytes.saturating_add(other.bytes),
            is_settled: self.is_settled && other.is_settled,
            is_own: self.is_own && other.is_own,
        }
    }

    /// Whether the tree is as it was.
    pub(super) fn are_those_of(&self, other: &Self) -> bool {
        (self.sum, self.entries) == (other.sum, other.entries)
    }

    /// Whether whatever is changed from now on leaves another stamp behind.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Whether everything belongs to the user and the group of this process.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Of such a tree a base is made, whatever else holds.
    pub(super) fn is_small(&self) -> bool {
        self.entries <= SMALL_ENTRIES && self.bytes <= SMALL_BYTES
    }
}
