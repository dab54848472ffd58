//! New files and links, as they are to be at their paths, under other names.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::OwnedFd;

use bonded_kernel::Hash;
use bonded_work_rules::{Node, TreePath};
use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, openat, symlinkat};

use super::faults::{DiskOperation, Faults};
use super::root::{Root, mode_of, present};
use super::slot::Slot;
use crate::tree::Contents;

/// Enough for the hash to be fast.
const READ_BYTES: usize = 256 * 1024;
const SET_GROUP: u32 = 0o2000;

/// It never writes at a path itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeWriter<'a> {
    pub(super) root: &'a Root,
    pub(super) contents: &'a dyn Contents,
    pub(super) faults: &'a dyn Faults,
}

impl TreeWriter<'_> {
    /// Writes a file or makes a link under a name of a slot, whole or not at all.
    pub(super) fn write_whole(
        &self,
        slot: &Slot,
        path: &TreePath,
        node: &Node,
        name: &str,
    ) -> io::Result<()> {
        let part = slot.part();
        slot.remove(&part)?;
        self.write(&slot.dir, part.as_bytes(), path, node)?;
        Ok(slot.rename(&part, name)?)
    }

    /// Writes a file or makes a link under a name, as it is to be at the path.
    fn write(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        path: &TreePath,
        node: &Node,
    ) -> io::Result<()> {
        match node {
            Node::File {
                mode,
                bytes,
                content,
            } => {
                self.faults.before(DiskOperation::WriteFile)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
                let file = self.fill(file.into(), *bytes, *content)?;
                self.keep_owner(&file, path)?;
                fchmod(&file, Mode::from_raw_mode(*mode))?;
                self.faults.before(DiskOperation::Sync)?;
                file.sync_all()
            }
            Node::Link { target } => {
                self.faults.before(DiskOperation::MakeLink)?;
                Ok(symlinkat(target.as_ref(), directory, name)?)
            }
            Node::Directory { .. } | Node::Special { .. } => Ok(()),
        }
    }

    /// The content is hashed on its way, so that damage of what is kept is found before it reaches the tree.
    fn fill(&self, mut file: File, bytes: u64, content: Hash) -> io::Result<File> {
        let mut hasher = blake3::Hasher::new();
        // One more than there should be, to see what is too long.
        let reader = self.contents.read(&content)?.take(bytes.saturating_add(1));
        let mut reader = BufReader::with_capacity(READ_BYTES, reader);
        let copied = io::copy(&mut reader, &mut Both(&mut file, &mut hasher))?;
        if copied != bytes || Hash::from(hasher) != content {
            let message = format!("the kept content {content} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(file)
    }

    /// A file that takes another's place keeps that one's owner; a new one gets the group that its directory
    /// hands down. Only root may give files away: another user's are simply his own then, in their group where he
    /// may give them that.
    fn keep_owner(&self, file: &File, path: &TreePath) -> io::Result<()> {
        let (owner, group) = match self.root.stat(path)? {
            Some(before) => (Some(before.st_uid), Some(before.st_gid)),
            None => match present(self.root.holder(path))?.map(|holder| fstat(&holder)) {
                Some(holder) => {
                    let holder = holder?;
                    let hands_down = mode_of(&holder) & SET_GROUP != 0;
                    (None, hands_down.then_some(holder.st_gid))
                }
                None => (None, None),
            },
        };
        let made = fstat(file)?;
        let owner = owner.filter(|&owner| owner != made.st_uid);
        let group = group.filter(|&group| group != made.st_gid);
        if owner.is_some() || group.is_some() {
            let group = group.map(Gid::from_raw);
            if fchown(file, owner.map(Uid::from_raw), group).is_err() && group.is_some() {
                let _ = fchown(file, None, group);
            }
        }
        Ok(())
    }
}

/// Writes to a file what it hashes.
struct Both<'a>(&'a mut File, &'a mut blake3::Hasher);

impl io::Write for Both<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
