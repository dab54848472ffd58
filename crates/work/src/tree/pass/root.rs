//! The directory that a pass goes over, held open.
//!
//! Every directory below it is opened from it, with links and mounts refused by the kernel itself, so that no
//! exchange of a directory for a link can lead a pass out of the tree.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bonded_work_rules::Tree;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use super::fault::PassFault;
use crate::tree::error::TreeError;
use crate::tree::looks::Eye;
use crate::tree::objects::Objects;
use crate::tree::stamp::see_open;

/// What a pass goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) enum Extent {
    /// All but what is named `.git`.
    WithoutGit,
    Everything,
}

/// A pass that is to be made.
#[derive(Debug)]
pub(in crate::tree) struct Pass<'a> {
    pub(super) root: OwnedFd,
    path: &'a Path,
    device: u64,
    pub(super) extent: Extent,
    /// Where contents are kept; where there is none, they are hashed only.
    pub(super) objects: Option<&'a Objects>,
    /// What the directory lies over, if it is the upper one of an overlay.
    pub(super) over: Option<&'a Tree>,
    /// With which looks are taken, if they are.
    pub(super) eye: Option<&'a Eye>,
}

impl<'a> Pass<'a> {
    pub(in crate::tree) fn new(
        path: &'a Path,
        extent: Extent,
        objects: Option<&'a Objects>,
    ) -> Result<Self, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => TreeError::NoDirectory {
                path: path.to_owned(),
            },
            _ => TreeError::unreadable(path)(errno),
        })?;
        let seen = see_open(&root).map_err(TreeError::unreadable(path))?;
        Ok(Self {
            root,
            path,
            device: seen.device,
            extent,
            objects,
            over: None,
            eye: None,
        })
    }

    /// Takes the looks of the tree too.
    pub(in crate::tree) fn with_eye(self, eye: &'a Eye) -> Self {
        Self {
            eye: Some(eye),
            ..self
        }
    }

    /// Goes over the upper directory of an overlay: what the tree below it has and this does not hide is there too.
    pub(in crate::tree) fn over(self, below: &'a Tree) -> Self {
        Self {
            over: Some(below),
            ..self
        }
    }

    pub(in crate::tree) fn device(&self) -> u64 {
        self.device
    }

    /// A directory of the tree, whatever others do to the tree meanwhile.
    pub(super) fn open_directory(&self, path: &[u8]) -> Result<OwnedFd, PassFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let from_root = if path.is_empty() { b"." } else { path };
        openat2(&self.root, from_root, flags, Mode::empty(), resolve)
            .map_err(|errno| self.fault(path, errno))
    }

    pub(super) fn full(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    pub(super) fn changed(&self, path: &[u8]) -> PassFault {
        PassFault::Changed(self.full(path))
    }

    /// What is only gone or exchanged by now lets the pass be made again; all else is for a person to see to.
    pub(super) fn fault(&self, path: &[u8], errno: Errno) -> PassFault {
        let path = self.full(path);
        PassFault::Refused(match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN | Errno::STALE => {
                return PassFault::Changed(path);
            }
            Errno::XDEV => TreeError::Mount { path },
            Errno::NAMETOOLONG => TreeError::TooLong { path },
            _ => TreeError::unreadable(path)(errno),
        })
    }
}
