//! Files and directories of what is kept: no other user of the machine can read them, whatever the umask is, and
//! nothing that an agent puts in their place leads elsewhere.
//!
//! What is kept may lie where agents work. So a path is made out once, when the person has named it ([`real_dir`]); from
//! then on no link is followed on the way to it, and what is there counts only if it is a file of our own that has no
//! other name.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: Mode = Mode::RWXU;

/// A directory that is only passed through, and is no link.
const PASSAGE: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file that is no link; a pipe makes nobody wait.
const APPEND: OFlags = OFlags::RDWR
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A name that nobody has: what is there is not written to.
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The path of a directory without links, as far as it is there. Those in `work`, where an agent may have put them, stay
/// in it: whoever opens it refuses them.
///
/// Links outside of where the agent works are the person's own and are followed now, once.
pub(crate) fn real_dir(path: &Path, work: &Path) -> PathBuf {
    let work = work.canonicalize().unwrap_or_else(|_| work.to_owned());
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => {
                let is_agents = real.starts_with(&work);
                real.push(name);
                if !is_agents {
                    real = real.canonicalize().unwrap_or(real);
                }
            }
            _ => {}
        }
    }
    real
}

/// The same for a file, which must not be a link itself.
pub(crate) fn real_file(path: &Path, work: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => real_dir(dir, work).join(name),
        _ => path,
    }
}

/// A directory that is held open: what is put in its place later is not written to.
#[derive(Debug)]
pub(crate) struct HeldDir(OwnedFd);

impl HeldDir {
    /// Opens a directory, and makes it and those above it where they are missing. One that is there stays as its owner
    /// wants it: it may hold more than what is ours.
    ///
    /// Each directory is opened from the one above, without links, so that nothing can be put in
    /// between.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let mut dir = open("/", PASSAGE, Mode::empty())?;
        let mut at = PathBuf::from("/");
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            at.push(name);
            let passed = match openat(&dir, name, PASSAGE, Mode::empty()) {
                Err(Errno::NOENT) => made(&dir, name),
                passed => passed,
            };
            dir = passed.map_err(|errno| on_the_way(errno, &at))?;
        }
        Ok(Self(dir))
    }

    /// Opens a file to read it and to append to it, and makes it where it is missing. One that others may read was made
    /// under a loose umask, and is closed to them.
    pub(crate) fn open_to_append(&self, name: &OsStr) -> io::Result<File> {
        let opened = openat(&self.0, name, APPEND, Mode::from_raw_mode(FILE_MODE));
        let file = match opened {
            Err(Errno::LOOP) => return Err(refused("it is a symbolic link")),
            // A pipe that nobody reads, a socket, a device that is not there.
            Err(Errno::NXIO | Errno::NODEV) => return Err(refused("it is not a regular file")),
            opened => File::from(opened?),
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(refused("it is not a regular file"));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("it belongs to another user"));
        }
        // The other name may be a file that an agent may not write.
        if found.nlink() != 1 {
            return Err(refused("it has another name or was removed"));
        }
        if found.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        }
        Ok(file)
    }

    /// Removes what has this name here, and not what a link leads to.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Puts a file in the place of what has this name: a reader finds the whole file or none. A link is replaced, not
    /// followed.
    pub(crate) fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let new = format!(".{}.new", uuid::Uuid::new_v4().simple());
        let file = openat(&self.0, new.as_str(), NEW, Mode::from_raw_mode(FILE_MODE))?;
        let file = File::from(file);
        let written = write(&file)
            .and_then(|()| file.sync_data())
            .and_then(|()| Ok(renameat(&self.0, new.as_str(), &self.0, name)?));
        if written.is_err() {
            // Best effort: what failed is said.
            let _ = unlinkat(&self.0, new.as_str(), AtFlags::empty());
        }
        written
    }
}

/// Makes a directory; somebody else may be faster.
fn made(above: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match mkdirat(above, name, DIR_MODE) {
        Ok(()) | Err(Errno::EXIST) => openat(above, name, PASSAGE, Mode::empty()),
        Err(errno) => Err(errno),
    }
}

/// Names the part of the path that is in the way.
fn on_the_way(errno: Errno, at: &Path) -> io::Error {
    let is_link = || at.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let why = match errno {
        Errno::LOOP | Errno::NOTDIR if is_link() => {
            "is a symbolic link, which an agent may have made"
        }
        Errno::NOTDIR => "is not a directory",
        errno => return io::Error::from(errno),
    };
    refused(&format!("{} {why}", at.display()))
}

fn refused(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_made_out_unless_they_are_where_agents_work() {
        let top = tempfile::tempdir().expect("a temporary directory can be made");
        let top = top.path().canonicalize().expect("it is there");
        for dir in ["work/sub", "far/books"] {
            std::fs::create_dir_all(top.join(dir)).expect("a directory can be made");
        }
        for (target, link) in [
            ("far", "near"),
            ("work", "shop"),
            ("../far", "work/books"),
            ("far/led", "led"),
        ] {
            symlink(target, top.join(link)).expect("a link can be made");
        }
        for (path, expected) in [
            ("near/books/led", "far/books/led"),
            ("near/new/led", "far/new/led"),
            ("led", "led"),
            ("work/books/led", "work/books/led"),
            ("shop/books/led", "work/books/led"),
            ("shop/sub/../books/led", "work/books/led"),
        ] {
            let found = real_file(&top.join(path), &top.join("shop"));
            assert_eq!(found, top.join(expected), "{path}");
        }
        for (path, expected) in [
            ("near", "far"),
            ("near/books/new", "far/books/new"),
            ("shop/books", "work/books"),
        ] {
            let found = real_dir(&top.join(path), &top.join("work"));
            assert_eq!(found, top.join(expected), "{path}");
        }
    }

    #[test]
    fn nothing_but_a_file_of_our_own_with_one_name_is_appended_to() {
        let top = tempfile::tempdir().expect("a temporary directory can be made");
        let top = top.path().canonicalize().expect("it is there");
        let dir = HeldDir::make(&top.join("a/b")).expect("it can be made");
        let at = |name: &str| top.join("a/b").join(name);
        std::fs::write(at("own"), "").expect("a file can be written");
        std::fs::hard_link(at("own"), at("other")).expect("a name can be given");
        symlink("/dev/zero", at("zero")).expect("a link can be made");
        symlink("own", at("link")).expect("a link can be made");
        let pipe = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(pipe.expect("mkfifo is here").success());
        for name in ["own", "other", "zero", "link", "pipe"] {
            let refused = dir.open_to_append(OsStr::new(name));
            refused.expect_err(name);
        }
        dir.open_to_append(OsStr::new("new")).expect("it is ours");
        symlink("b", top.join("a/c")).expect("a link can be made");
        let refused = HeldDir::make(&top.join("a/c/d")).expect_err("a link is on the way");
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
    }
}
