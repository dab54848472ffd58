//! A path walked name by name, each from the descriptor of the directory before it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::error::OpenError;
use super::{DIRECTORY, Links};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// As long as the kernel takes a path to be.
const PATH_BYTES_MAX: usize = 4096;

/// Where a walk ended.
#[derive(Debug)]
pub(crate) struct End {
    /// The deepest directory on the way that is there.
    pub(crate) dir: OwnedFd,
    /// Its real names, counted from the root.
    pub(crate) names: Vec<OsString>,
    /// What is left of the path below it: nothing where the path names the root itself, one name that is no link or is
    /// not there, or several of which the first is not there.
    pub(crate) left: Vec<OsString>,
    /// Whether the last name is that of a link's target.
    pub(crate) by_link: bool,
}

/// Walks down a path. Nothing but directories is opened, and no link is followed but as `links` says.
pub(crate) fn walk(root: BorrowedFd<'_>, path: &Path, links: Links) -> Result<End, OpenError> {
    if path.as_os_str().len() >= PATH_BYTES_MAX {
        return Err(OpenError::of(Errno::NAMETOOLONG, path));
    }
    let mut walker = Walker {
        root,
        path,
        links,
        dir: reopen(root, &[]).map_err(|errno| OpenError::of(errno, path))?,
        names: Vec::new(),
        ahead: parts(path),
        of_links: 0,
        followed: 0,
        by_link: false,
    };
    while let Some(name) = walker.ahead.pop_front() {
        walker.by_link = walker.of_links > 0;
        walker.of_links = walker.of_links.saturating_sub(1);
        if let Some(left) = walker.take(name)? {
            return Ok(walker.end(left));
        }
    }
    Ok(walker.end(vec![]))
}

struct Walker<'a> {
    root: BorrowedFd<'a>,
    /// As it was given, for errors.
    path: &'a Path,
    links: Links,
    dir: OwnedFd,
    names: Vec<OsString>,
    ahead: VecDeque<OsString>,
    /// How many of the names ahead are a link's target.
    of_links: usize,
    followed: usize,
    by_link: bool,
}

impl Walker<'_> {
    /// Goes one name further, or says what is left where it ends.
    fn take(&mut self, name: OsString) -> Result<Option<Vec<OsString>>, OpenError> {
        if name == ".." {
            return self.up().map(|()| None);
        }
        if self.ahead.is_empty() {
            return self.last(name);
        }
        match openat(
            &self.dir,
            &name,
            DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH,
            Mode::empty(),
        ) {
            Ok(dir) => {
                self.dir = dir;
                self.names.push(name);
                Ok(None)
            }
            Err(Errno::NOENT) => self.missing(name).map(Some),
            Err(Errno::NOTDIR | Errno::LOOP) => match self.target(&name)? {
                Some(target) => self.follow(&target).map(|()| None),
                None => Err(self.fail(Errno::NOTDIR)),
            },
            Err(errno) => Err(self.fail(errno)),
        }
    }

    fn last(&mut self, name: OsString) -> Result<Option<Vec<OsString>>, OpenError> {
        match self.target(&name)? {
            Some(target) => self.follow(&target).map(|()| None),
            None => Ok(Some(vec![name])),
        }
    }

    /// The target of a link; `None` where the name is something else, or nothing.
    fn target(&self, name: &OsStr) -> Result<Option<OsString>, OpenError> {
        match readlinkat(&self.dir, name, Vec::new()) {
            Ok(target) => Ok(Some(OsStr::from_bytes(target.to_bytes()).to_owned())),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fail(errno)),
        }
    }

    fn follow(&mut self, target: &OsStr) -> Result<(), OpenError> {
        let path = self.path.to_path_buf();
        if self.links == Links::Refused {
            return Err(OpenError::Link { path });
        }
        self.followed += 1;
        if self.followed > LINKS_MAX {
            let source = Errno::LOOP.into();
            return Err(OpenError::Io { path, source });
        }
        let target = Path::new(target);
        if target.is_absolute() {
            return Err(OpenError::Outside { path });
        }
        let parts = parts(target);
        self.of_links += parts.len();
        for part in parts.into_iter().rev() {
            self.ahead.push_front(part);
        }
        Ok(())
    }

    /// The directory above is found by the names that led here, so that a directory that was moved meanwhile does not
    /// lead elsewhere.
    fn up(&mut self) -> Result<(), OpenError> {
        if self.names.pop().is_none() {
            let path = self.path.to_path_buf();
            return Err(OpenError::Outside { path });
        }
        self.dir = reopen(self.root, &self.names).map_err(|errno| self.fail(errno))?;
        Ok(())
    }

    fn missing(&mut self, name: OsString) -> Result<Vec<OsString>, OpenError> {
        if self.by_link {
            let path = self.path.to_path_buf();
            return Err(OpenError::Dangling { path });
        }
        if self.ahead.iter().any(|part| part == "..") {
            return Err(self.fail(Errno::NOENT));
        }
        let mut left = vec![name];
        left.extend(self.ahead.drain(..));
        Ok(left)
    }

    fn end(self, left: Vec<OsString>) -> End {
        End {
            dir: self.dir,
            names: self.names,
            left,
            by_link: self.by_link,
        }
    }

    fn fail(&self, errno: Errno) -> OpenError {
        OpenError::of(errno, self.path)
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        _ => None,
    });
    named.collect()
}

fn reopen(root: BorrowedFd<'_>, names: &[OsString]) -> Result<OwnedFd, Errno> {
    let flags = DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH;
    let mut dir = openat(root, ".", flags, Mode::empty())?;
    for name in names {
        dir = openat(&dir, name, flags, Mode::empty())?;
    }
    Ok(dir)
}
