//! Where a content lies.

/// A part of a pack that is one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) pack: u32,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}
