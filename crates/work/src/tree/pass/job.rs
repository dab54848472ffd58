//! What is left to do in a pass, and what threads found so far.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bonded_kernel::Hash;

use super::pending::Pending;
use crate::tree::looks::Looks;
use crate::tree::stamp::Stamp;

/// What is to be done next.
#[derive(Debug)]
pub(super) enum PassJob {
    List(Arc<Pending>),
    Read(Batch),
}

/// Files of one directory that are to be read.
///
/// The directory stays open until its last batch is read, so that files are opened by name and not by path.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) dir: Arc<Pending>,
    pub(super) open: Arc<OwnedFd>,
    pub(super) files: Vec<Unread>,
}

/// A file whose content is not known.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) name: Box<CStr>,
    pub(super) stamp: Stamp,
}

/// What one thread found and will be looked at again.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) directories: Vec<(Arc<Pending>, Stamp)>,
    pub(super) files: Vec<FileRead>,
    pub(super) git: Vec<Box<[u8]>>,
    pub(super) looks: Looks,
}

/// A file whose content is known now.
#[derive(Debug)]
pub(super) struct FileRead {
    pub(super) dir: Arc<Pending>,
    pub(super) name: Box<CStr>,
    pub(super) stamp: Stamp,
    pub(super) content: Hash,
}
