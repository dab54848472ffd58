//! One path of an undo: what will be there is made beside it, exchanged for what is there, and what came out is looked at.
//!
//! Nothing that is there is written to or removed before all paths have been exchanged: it waits under a name of ours, and
//! goes back if anything fails. Every step can be done again after a crash, because it begins with a look.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_tools::beneath::{Links, Root};
use bonded_tools::keep_attributes;
use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, linkat,
    openat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::error::ChangesError;
use crate::frame::PathChange;
use crate::moment::moment;
use crate::node::{FileNode, Node, look};

/// A path of an undo.
pub(crate) struct UndoSlot<'a> {
    pub(crate) change: &'a PathChange,
    dir: Root,
    name: OsString,
    /// Where the new file waits for its place, and then the old one.
    staged: String,
    /// Where the old one waits where nothing takes its place.
    aside: String,
}

impl<'a> UndoSlot<'a> {
    /// Opens the directory of the path, through no link. `undo` tells the names of one undo from those of another.
    pub(crate) fn open(
        root: &Root,
        undo: &str,
        change: &'a PathChange,
    ) -> Result<Self, ChangesError> {
        let path = &change.path;
        let failed = |why: String| ChangesError::Failed {
            path: path.clone(),
            source: io::Error::other(why),
        };
        let above = path.parent().unwrap_or(Path::new(""));
        let name = path
            .file_name()
            .ok_or_else(|| failed("it has no name".into()))?;
        let dir = root.directory(above, Links::Refused);
        Ok(Self {
            change,
            dir: dir.map_err(|error| failed(error.to_string()))?,
            name: name.to_owned(),
            staged: beside(undo, path, "new"),
            aside: beside(undo, path, "old"),
        })
    }

    fn fail(&self) -> impl Fn(io::Error) -> ChangesError + use<> {
        let path = self.change.path.clone();
        move |source| ChangesError::Failed {
            path: path.clone(),
            source,
        }
    }

    fn meddled(&self) -> ChangesError {
        ChangesError::Meddled {
            path: self.change.path.clone(),
        }
    }

    fn look(&self, name: impl AsRef<OsStr>) -> Result<Node, ChangesError> {
        look(&self.dir, name.as_ref()).map_err(self.fail())
    }

    /// Whether the path is as it shall be.
    pub(crate) fn is_done(&self) -> Result<bool, ChangesError> {
        Ok(self.change.to.is_at(&self.look(&self.name)?))
    }

    /// Makes what will be there, durable, under a name of ours. A name of a file that another slot has made is that file.
    pub(crate) fn stage(
        &self,
        content: &dyn Fn(&Hash) -> Result<Vec<u8>, ChangesError>,
        first: Option<&Self>,
    ) -> Result<(), ChangesError> {
        if matches!(
            self.change.to,
            Node::Absent | Node::Directory { .. } | Node::Other
        ) || self.is_done()?
        {
            return Ok(());
        }
        match self.look(&self.staged)? {
            Node::Absent => {}
            found if self.change.to.is_at(&found) => return Ok(()),
            // Half of a file, which a process that died has left.
            _ => self.remove(&self.staged).map_err(self.fail())?,
        }
        moment();
        match (&self.change.to, first) {
            (Node::File(_), Some(first)) => first.link_to(self),
            (Node::File(file), None) => self.make_file(file, content),
            (Node::Link { target }, _) => symlinkat(target, &self.dir, self.staged.as_str())
                .map_err(|errno| self.fail()(errno.into())),
            _ => Ok(()),
        }
    }

    /// Gives the file that this slot has made another name.
    fn link_to(&self, other: &Self) -> Result<(), ChangesError> {
        let own: &OsStr = match self.is_done()? {
            true => &self.name,
            false => self.staged.as_ref(),
        };
        let linked = linkat(
            &self.dir,
            own,
            &other.dir,
            other.staged.as_str(),
            AtFlags::empty(),
        );
        linked.map_err(|errno| other.fail()(errno.into()))
    }

    fn make_file(
        &self,
        wanted: &FileNode,
        content: &dyn Fn(&Hash) -> Result<Vec<u8>, ChangesError>,
    ) -> Result<(), ChangesError> {
        let bytes = match &wanted.hash {
            Some(hash) => content(hash)?,
            None => return Err(self.meddled()),
        };
        let made = self.fill(wanted, &bytes);
        if made.is_err() {
            // What failed is said; half of a file helps nobody.
            let _ = self.remove(&self.staged);
        }
        made.map_err(self.fail())
    }

    /// Closed to everybody else until it has the rights that it shall have.
    fn fill(&self, wanted: &FileNode, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(
            &self.dir,
            self.staged.as_str(),
            flags,
            Mode::from_raw_mode(0o600),
        )?;
        let mut file = File::from(file);
        // No file tool takes it for what a call has left behind.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        moment();
        file.write_all(bytes)?;
        moment();
        if let Ok(current) = open_file(&self.dir, &self.name) {
            keep_attributes(&current, &file)?;
        }
        if let Some((uid, gid)) = wanted.owner {
            let own = rustix::fs::fstat(&file)?;
            let uid = (own.st_uid != uid).then(|| Uid::from_raw(uid));
            let gid = (own.st_gid != gid).then(|| Gid::from_raw(gid));
            if uid.is_some() || gid.is_some() {
                fchown(&file, uid, gid)?;
            }
        }
        if let Some(mode) = wanted.mode {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        file.sync_all()
    }

    /// Puts what was made into its place, if what is there is still what was seen.
    pub(crate) fn swap(&self) -> Result<(), ChangesError> {
        let (from, to) = (&self.change.from, &self.change.to);
        if self.is_done()? {
            return Ok(());
        }
        moment();
        match (from, to) {
            (Node::Absent, Node::File(_) | Node::Link { .. }) => {
                self.move_to(&self.staged, &self.name)
            }
            (Node::File(_) | Node::Link { .. }, Node::Absent) => self.put_aside(),
            (Node::File(_) | Node::Link { .. }, Node::File(_) | Node::Link { .. }) => {
                self.exchange()
            }
            _ => Ok(()),
        }
    }

    fn exchange(&self) -> Result<(), ChangesError> {
        let from = &self.change.from;
        let here = self.look(&self.name)?;
        if here == Node::Absent && from.is_at(&self.look(&self.aside)?) {
            return self.move_to(&self.staged, &self.name);
        }
        if !from.is_at(&here) {
            return Err(self.meddled());
        }
        match self.rename(&self.staged, &self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.put_aside()?;
                return self.move_to(&self.staged, &self.name);
            }
            Err(Errno::NOENT) => return Err(self.meddled()),
            Err(errno) => return Err(self.fail()(errno.into())),
        }
        if from.is_at(&self.look(&self.staged)?) {
            return Ok(());
        }
        // Somebody was faster: what they wrote belongs there.
        let back = self.rename(&self.staged, &self.name, RenameFlags::EXCHANGE);
        back.map_err(|errno| self.fail()(errno.into()))?;
        Err(self.meddled())
    }

    /// Takes what is there away, where it is what was seen.
    fn put_aside(&self) -> Result<(), ChangesError> {
        let from = &self.change.from;
        match self.look(&self.name)? {
            Node::Absent if from.is_at(&self.look(&self.aside)?) => return Ok(()),
            found if from.is_at(&found) => {}
            _ => return Err(self.meddled()),
        }
        self.move_to(&self.name, &self.aside)?;
        if from.is_at(&self.look(&self.aside)?) {
            return Ok(());
        }
        self.move_to(&self.aside, &self.name)?;
        Err(self.meddled())
    }

    /// Makes the path what it was. What somebody else put there meanwhile stays.
    pub(crate) fn take_back(&self) -> Result<(), ChangesError> {
        let (from, to) = (&self.change.from, &self.change.to);
        let here = self.look(&self.name)?;
        moment();
        match (from, to) {
            (Node::Absent, Node::File(_) | Node::Link { .. }) if to.is_at(&here) => {
                self.move_to(&self.name, &self.staged)?;
            }
            (Node::File(_) | Node::Link { .. }, _)
                if here == Node::Absent && self.look(&self.aside)? != Node::Absent =>
            {
                self.move_to(&self.aside, &self.name)?;
            }
            (Node::File(_) | Node::Link { .. }, Node::File(_) | Node::Link { .. })
                if to.is_at(&here) =>
            {
                // Whatever came out belongs there, also where somebody has written to it since, by another name of it.
                let staged = self.look(&self.staged)?;
                if staged != Node::Absent && !to.is_at(&staged) {
                    let back = self.rename(&self.staged, &self.name, RenameFlags::EXCHANGE);
                    back.map_err(|errno| self.fail()(errno.into()))?;
                } else if self.look(&self.aside)? != Node::Absent {
                    self.move_to(&self.name, &self.staged)?;
                    self.move_to(&self.aside, &self.name)?;
                }
            }
            _ => {}
        }
        self.clean().map(drop)
    }

    /// Removes what waits under names of ours. What somebody wrote to while it waited stays, and its name is given.
    pub(crate) fn clean(&self) -> Result<Option<PathBuf>, ChangesError> {
        let mut written = None;
        for name in [&self.staged, &self.aside] {
            let found = self.look(name)?;
            if found == Node::Absent {
                continue;
            }
            moment();
            let is_known = self.change.from.is_at(&found) || self.change.to.is_at(&found);
            match is_known {
                true => self.remove(name).map_err(self.fail())?,
                false => written = Some(self.change.path.with_file_name(name)),
            }
        }
        Ok(written)
    }

    pub(crate) fn sync(&self) -> Result<(), ChangesError> {
        rustix::fs::fsync(self.dir.as_fd()).map_err(|errno| self.fail()(errno.into()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn rename(
        &self,
        from: impl AsRef<OsStr>,
        to: impl AsRef<OsStr>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        renameat_with(&self.dir, from.as_ref(), &self.dir, to.as_ref(), flags)
    }

    /// Gives something another name, where nothing has that.
    fn move_to(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<(), ChangesError> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let moved = match self.rename(from, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                // A second name fails just as well where there is one.
                linkat(&self.dir, from, &self.dir, to, AtFlags::empty())
                    .and_then(|()| unlinkat(&self.dir, from, AtFlags::empty()))
            }
            moved => moved,
        };
        match moved {
            Ok(()) => Ok(()),
            Err(Errno::EXIST | Errno::NOENT) => Err(self.meddled()),
            Err(errno) => Err(self.fail()(errno.into())),
        }
    }
}

/// A name that says what it is: unfinished work of this program.
fn beside(undo: &str, path: &Path, which: &str) -> String {
    let seed = [
        undo.as_bytes(),
        b"\0",
        path.as_os_str().as_encoded_bytes(),
        b"\0",
        which.as_bytes(),
    ];
    let digits = Hash::of(&seed.concat()).to_string();
    format!(".bonded-{}.tmp", &digits[..24])
}

/// A regular file, opened to read its attributes.
fn open_file(dir: &Root, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("no regular file")),
    }
}
