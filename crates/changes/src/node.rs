//! What is at a path: nothing, a file, a directory or a link. As it was recorded, or as it is found.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use bonded_kernel::Hash;
use bonded_tools::recording::FileRights;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::bounds::CONTENT_BYTES_MAX;
use crate::path_text;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Nothing.
    Absent,
    /// A regular file.
    File(FileNode),
    /// A directory, whatever is in it.
    Directory {
        /// The bits of permission, where they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as it is written.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    /// A pipe, a socket or a device: nothing that a run's tools make.
    Other,
}

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNode {
    /// How long it is.
    pub bytes: u64,
    /// Of its content; absent where that is more than is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// The bits of permission, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// User and group, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
}

impl FileNode {
    pub(crate) fn new(bytes: u64, hash: Option<Hash>, rights: Option<FileRights>) -> Self {
        Self {
            bytes,
            hash,
            mode: rights.map(|it| it.mode),
            owner: rights.map(|it| (it.uid, it.gid)),
        }
    }
}

impl Node {
    /// Whether what was found is what was recorded. A file that is too large to be read is like no other.
    pub fn is_at(&self, found: &Self) -> bool {
        match (self, found) {
            (Self::File(own), Self::File(found)) => {
                let is_same_mode = own.mode.is_none_or(|mode| found.mode == Some(mode));
                own.hash.is_some() && own.hash == found.hash && is_same_mode
            }
            (Self::Directory { mode }, Self::Directory { mode: found }) => {
                mode.is_none() || mode == found
            }
            (Self::Absent, Self::Absent) => true,
            (Self::Link { target }, Self::Link { target: found }) => target == found,
            _ => false,
        }
    }

    /// The content of a file, by its hash.
    pub fn content(&self) -> Option<Hash> {
        match self {
            Self::File(file) => file.hash,
            _ => None,
        }
    }
}

/// A file or a link to nothing is not followed, and nothing is waited for.
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What has this name in a directory.
pub(crate) fn look(dir: impl AsFd, name: &OsStr) -> io::Result<Node> {
    let stat = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Node::Absent),
        stat => stat?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(Node::Directory {
            mode: Some(stat.st_mode & 0o7777),
        }),
        FileType::Symlink => {
            let target = readlinkat(&dir, name, Vec::new())?;
            let target = OsStr::from_bytes(target.as_bytes()).into();
            Ok(Node::Link { target })
        }
        FileType::RegularFile => match openat(&dir, name, LOOK, Mode::empty()) {
            Ok(file) => look_into(&file.into()),
            Err(Errno::NOENT) => Ok(Node::Absent),
            Err(errno) => Err(errno.into()),
        },
        _ => Ok(Node::Other),
    }
}

/// An open file, read from its beginning.
fn look_into(file: &File) -> io::Result<Node> {
    let stat = fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Node::Other);
    }
    let rights = Some(FileRights::of(&stat));
    let bytes = u64::try_from(stat.st_size).unwrap_or_default();
    if bytes > CONTENT_BYTES_MAX {
        return Ok(Node::File(FileNode::new(bytes, None, rights)));
    }
    let content = read(file)?;
    let hash = (content.len() as u64 <= CONTENT_BYTES_MAX).then(|| Hash::of(&content));
    Ok(Node::File(FileNode::new(
        content.len() as u64,
        hash,
        rights,
    )))
}

/// One byte more than is kept, so that a file which grows meanwhile is known to be too large.
fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut content = vec![];
    file.take(CONTENT_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// The content of what has this name in a directory, where it is a file that can be kept.
pub(crate) fn content(dir: impl AsFd, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
    let file = File::from(openat(&dir, name, LOOK, Mode::empty())?);
    let is_file = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
    let content = if is_file {
        read(&file)?
    } else {
        return Ok(None);
    };
    Ok((content.len() as u64 <= CONTENT_BYTES_MAX).then_some(content))
}
