//! What lies in one directory.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bonded_work_rules::{Child, Directory, Node, Special};
use rustix::fs::{FileType, RawDir, readlinkat};
use rustix::io::Errno;

use super::fault::PassFault;
use super::job::{Batch, PassJob, Unread};
use super::overlay;
use super::pending::{Pending, part_done};
use super::root::Extent;
use super::worker::Worker;
use crate::tree::stamp::{FileStatus, see, see_open};

/// What one thread reads before the others may help.
const BATCH_FILES: usize = 64;

/// What a directory holds, apart from what is known of it already.
#[derive(Default)]
struct DirectoryListing {
    children: Vec<(Box<[u8]>, Child)>,
    directories: Vec<Arc<Pending>>,
    unread: Vec<Unread>,
    /// All of them, where that matters.
    names: Vec<Box<[u8]>>,
}

impl Worker<'_> {
    /// The directory is looked at before it is listed: a name that comes later changes its stamp, which the
    /// second look finds.
    pub(super) fn list(&mut self, dir: &Arc<Pending>) -> Result<(), PassFault> {
        let open = self.pass.open_directory(&dir.path)?;
        let seen = see_open(&open).map_err(|errno| self.pass.fault(&dir.path, errno))?;
        dir.set_mode(seen.stamp.permissions());
        self.look(&dir.path, b"", &seen);
        self.found.directories.push((dir.clone(), seen.stamp));
        let over = dir.over.as_deref().filter(|_| !overlay::is_opaque(&open));
        let mut listed = self.names(dir, &open, over)?;
        if let Some(over) = over {
            let seen = overlay::shining_through(over, &listed.names);
            listed.children.extend(seen);
        }
        dir.add(listed.children);
        self.go_on(dir, open, listed.directories, listed.unread)?;
        part_done(dir, self.tree);
        Ok(())
    }

    /// Puts off what others may do, and reads the rest.
    ///
    /// One batch is read by the thread that found it. The parts are announced before the jobs are, since
    /// another thread may have done one before this one goes on.
    fn go_on(
        &mut self,
        dir: &Arc<Pending>,
        open: OwnedFd,
        directories: Vec<Arc<Pending>>,
        mut unread: Vec<Unread>,
    ) -> Result<(), PassFault> {
        let open = Arc::new(open);
        let mut batches = vec![];
        while !unread.is_empty() {
            let from = unread.len().saturating_sub(BATCH_FILES);
            batches.push(Batch {
                dir: dir.clone(),
                open: open.clone(),
                files: unread.split_off(from),
            });
        }
        dir.expect_parts(directories.len() + batches.len());
        let own = batches.pop();
        let jobs = directories.into_iter().map(PassJob::List);
        self.queue
            .add(jobs.chain(batches.into_iter().map(PassJob::Read)));
        own.map_or(Ok(()), |batch| self.read(&batch))
    }

    fn names(
        &mut self,
        dir: &Arc<Pending>,
        open: &OwnedFd,
        over: Option<&Directory>,
    ) -> Result<DirectoryListing, PassFault> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut names = RawDir::new(open, buffer.spare_capacity_mut());
        let mut listed = DirectoryListing::default();
        while let Some(entry) = names.next() {
            let entry = entry.map_err(|errno| self.pass.fault(&dir.path, errno))?;
            let name = entry.file_name();
            if over.is_some() {
                listed.names.push(name.to_bytes().into());
            }
            match name.to_bytes() {
                b"." | b".." => {}
                b".git" if self.pass.extent == Extent::WithoutGit => {
                    self.found.git.push(dir.child(b".git"));
                }
                bytes if entry.file_type() == FileType::Directory => {
                    listed.directories.push(Pending::below(dir, bytes, over));
                }
                _ => self.look_at(dir, open, name, over, &mut listed)?,
            }
        }
        self.buffer = buffer;
        Ok(listed)
    }

    fn look(&mut self, dir: &[u8], name: &[u8], seen: &FileStatus) {
        if let Some(looking) = &self.looking {
            self.found.looks.add(looking, dir, name, seen);
        }
    }

    /// A mount inside the tree is refused: its inodes are numbers of another file system, and the cache goes by
    /// inodes.
    fn look_at(
        &mut self,
        dir: &Arc<Pending>,
        open: &OwnedFd,
        name: &CStr,
        over: Option<&Directory>,
        listed: &mut DirectoryListing,
    ) -> Result<(), PassFault> {
        let fault = |errno| self.pass.fault(&dir.child(name.to_bytes()), errno);
        let seen = see(open, name).map_err(fault)?;
        if seen.is_mount {
            return Err(fault(Errno::XDEV));
        }
        if seen.stamp.kind() != FileType::Directory {
            self.look(&dir.path, name.to_bytes(), &seen);
        }
        let stamp = seen.stamp;
        let node = match stamp.kind() {
            FileType::CharacterDevice if self.pass.over.is_some() && overlay::hides(&seen) => {
                return Ok(());
            }
            FileType::Directory => {
                let below = Pending::below(dir, name.to_bytes(), over);
                listed.directories.push(below);
                return Ok(());
            }
            FileType::RegularFile => match self.cache.content(&stamp, &mut self.near) {
                Some(content) => Node::File {
                    mode: stamp.permissions(),
                    bytes: stamp.bytes,
                    content,
                },
                None => {
                    let name = name.into();
                    listed.unread.push(Unread { name, stamp });
                    return Ok(());
                }
            },
            FileType::Symlink => link(open.as_fd(), name).map_err(fault)?,
            kind => special(kind),
        };
        let child = (name.to_bytes().into(), Child::Leaf(node));
        listed.children.push(child);
        Ok(())
    }
}

fn link(dir: impl AsFd, name: &CStr) -> rustix::io::Result<Node> {
    let target = readlinkat(dir, name, Vec::new())?;
    let target = target.into_bytes().into();
    Ok(Node::Link { target })
}

fn special(kind: FileType) -> Node {
    let special = match kind {
        FileType::Fifo => Special::Fifo,
        FileType::Socket => Special::Socket,
        _ => Special::Device,
    };
    Node::Special { special }
}
