//! The files as a command sees them: all read-only but its own, a home of its own, and nothing where keys are kept.
//!
//! The order is what makes it safe. What will be needed from under a cover is taken up first, as trees that are
//! mounted nowhere; then covers and places are laid from the top of the tree downwards, each before what lies
//! in it; then come the devices; and only then is everything that is not the command's own made read-only,
//! because places inside of covers have to be made until then. Directories of the command's own home may hold
//! whatever an earlier command left there, links included, so that nothing in them is reached by a path that
//! follows links.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, mkdirat, open, openat, openat2, renameat,
    statvfs,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind_recursive, mount_remount,
    move_mount, open_tree,
};
use rustix::process::{chdir, fchdir};

use super::devices;
use super::enter::failed;
use super::order::Order;
use super::scratch::{nothing_at, tmp, void};
use super::view::{self, Put};

/// A directory without a link on the way to it is opened so.
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::PATH)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Arranges the mounts of this mount namespace, which must be our own. The process goes on in the same
/// directory, as it is now.
///
/// A mount that cannot be made read-only is an error only without Landlock, which refuses writing there anyway.
/// One that is gone by then is passed over.
pub(super) fn arrange(order: &Order) -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(failed("find its directory"))?;
    let before = mounted()?;
    let places = view::places(order);
    let trees = trees(&places, order)?;
    let mut laid = Laid {
        covers: Covers::open(order).map_err(failed("find what covers others"))?,
        hollow: vec![],
        fresh: vec![],
    };
    for ((path, put), tree) in places.iter().zip(trees) {
        laid.put(path, put, tree)
            .map_err(failed(&format!("arrange {}", path.display())))?;
    }
    devices::arrange(order.limits.memory_bytes)?;
    let own = [
        order.writable(),
        vec![order.home.seen.clone(), tmp(&order.scratch)],
    ]
    .concat();
    let is_own = |path: &Path| own.iter().any(|dir| path.starts_with(dir));
    for point in before
        .iter()
        .filter(|point| !is_own(point))
        .chain(&laid.fresh)
    {
        let is_ours = point.starts_with(devices::DEVICES);
        let is_fine = is_ours || matches!(make_read_only(point), Ok(()) | Err(Errno::NOENT));
        if !is_fine && !order.landlock {
            return Err(format!("could not make {} read-only", point.display()));
        }
    }
    go_on_in(&cwd, order)
}

/// Tries what is needed, in a process that is thrown away: a machine may let us make namespaces and nothing in them.
pub(super) fn attempt() -> Result<(), String> {
    devices::arrange(1 << 20)?;
    make_read_only(Path::new("/")).map_err(failed("make files read-only"))
}

/// What is put somewhere below what will be covered, taken up before it is. `None` where nothing is to be moved.
///
/// The answer is as long as `places`, one for each. A tree is cloned with everything that is mounted in it.
fn trees(places: &[(PathBuf, Put)], order: &Order) -> Result<Vec<Option<OwnedFd>>, String> {
    let workdir = &order.workdir;
    let is_covered = |path: &Path| {
        order.hidden.iter().any(|cover| {
            // What lies in the working directory is there when that is.
            let comes_with_it = workdir.starts_with(cover) && is_within(path, workdir);
            is_within(path, cover) && !comes_with_it
        })
    };
    let tree = |(path, put): &(PathBuf, Put)| {
        let source = match put {
            Put::Other(other) => other,
            Put::ReadOnly | Put::Itself if is_covered(path) => path,
            Put::Pin | Put::Nothing | Put::Hollow | Put::ReadOnly | Put::Itself => return Ok(None),
        };
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::OPEN_TREE_CLONE;
        let opened = open_tree(CWD, source, flags | OpenTreeFlags::AT_RECURSIVE);
        opened
            .map(Some)
            .map_err(failed(&format!("take up {}", source.display())))
    };
    places.iter().map(tree).collect()
}

/// Below it, and not the directory itself.
fn is_within(path: &Path, dir: &Path) -> bool {
    path != dir && path.starts_with(dir)
}

/// What is put over that which must not be seen: an empty directory and an empty file. They are held open, because the
/// directory that they lie in may be covered before them.
struct Covers {
    void: OwnedFd,
    nothing: OwnedFd,
}

impl Covers {
    fn open(order: &Order) -> rustix::io::Result<Self> {
        let held = |path: PathBuf| open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        Ok(Self {
            void: held(void(&order.scratch))?,
            nothing: held(nothing_at(&order.scratch))?,
        })
    }
}

/// What has been put where so far.
struct Laid {
    covers: Covers,
    /// Directories of ours in which places can be made.
    hollow: Vec<PathBuf>,
    /// Mounts of ours that become read-only when everything is in its place.
    fresh: Vec<PathBuf>,
}

impl Laid {
    /// `tree` is what was taken up for this place, if anything was. The command's own home counts as a
    /// directory of ours afterwards, because what is shown of the person's home gets its places in it.
    fn put(&mut self, path: &Path, put: &Put, tree: Option<OwnedFd>) -> rustix::io::Result<()> {
        match put {
            Put::Pin => mount_bind_recursive(path, path),
            Put::Nothing => self.hide(path),
            Put::Hollow => {
                self.hollow.push(path.to_owned());
                self.fresh.push(path.to_owned());
                let flags = MountFlags::NOSUID | MountFlags::NODEV;
                mount("tmpfs", path, "tmpfs", flags, c"mode=755,size=1m")
            }
            Put::ReadOnly => match tree {
                Some(tree) => self.place(path, &tree).and_then(|()| make_read_only(path)),
                None => protect(path),
            },
            Put::Itself | Put::Other(_) => {
                match tree {
                    Some(tree) => self.place(path, &tree)?,
                    None => mount_bind_recursive(path, path)?,
                }
                if matches!(put, Put::Other(_)) {
                    self.hollow.push(path.to_owned());
                }
                Ok(())
            }
        }
    }

    /// Puts nothing over a path. What the user cannot reach need not be hidden.
    fn hide(&self, path: &Path) -> rustix::io::Result<()> {
        let Ok(metadata) = fs::metadata(path) else {
            return Ok(());
        };
        let cover = match metadata.is_dir() {
            true => &self.covers.void,
            false => &self.covers.nothing,
        };
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::OPEN_TREE_CLONE;
        let tree = open_tree(cover, c"", flags | OpenTreeFlags::AT_EMPTY_PATH)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
        move_mount(tree, c"", CWD, path, flags)
    }

    /// Moves a tree to a place, which is made where that is in a directory of ours.
    fn place(&self, path: &Path, tree: &OwnedFd) -> rustix::io::Result<()> {
        let bases = self.hollow.iter().filter(|base| is_within(path, base));
        let at = match bases.max_by_key(|base| base.as_os_str().len()) {
            None => open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
            Some(base) => {
                let inside = path.strip_prefix(base).unwrap_or(path);
                let is_dir = rustix::fs::fstat(tree)
                    .is_ok_and(|it| rustix::fs::FileType::from_raw_mode(it.st_mode).is_dir());
                make_place(open(base, DIRECTORY, Mode::empty())?, inside, is_dir)?
            }
        };
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(tree, c"", at, c"", flags)
    }
}

/// Opens a place below a directory of ours, and makes it where it is missing. What a command has put in its way is put
/// aside: nothing here follows a link.
fn make_place(base: OwnedFd, inside: &Path, is_dir: bool) -> rustix::io::Result<OwnedFd> {
    let mut names = inside.components().peekable();
    let mut dir = base;
    while let Some(Component::Normal(name)) = names.next() {
        if names.peek().is_some() || is_dir {
            dir = match openat(&dir, name, DIRECTORY, Mode::empty()) {
                Ok(next) => next,
                Err(error) => {
                    if error != Errno::NOENT {
                        put_aside(&dir, name)?;
                    }
                    // Another command that begins now may be first.
                    match mkdirat(&dir, name, Mode::RWXU) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error),
                    }
                    openat(&dir, name, DIRECTORY, Mode::empty())?
                }
            };
        } else {
            let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY;
            if openat(&dir, name, flags, Mode::RUSR).is_err() {
                put_aside(&dir, name)?;
                openat(&dir, name, flags, Mode::RUSR)?;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            return openat(&dir, name, flags, Mode::empty());
        }
    }
    Ok(dir)
}

/// What was put aside before under the same name is replaced. Only a directory with content cannot be, and the
/// command is not started.
fn put_aside(dir: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    let mut aside = name.to_owned();
    aside.push(".aside");
    match renameat(&dir, name, &dir, &aside) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whatever the command does to its own tree, this part of it stays as it is. A link is held itself.
fn protect(path: &Path) -> rustix::io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Ok(());
    };
    if metadata.is_symlink() {
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let link = open_tree(CWD, path, flags)?;
        return move_mount(
            link,
            c"",
            CWD,
            path,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        );
    }
    mount_bind_recursive(path, path)?;
    make_read_only(path)
}

/// A mount that another user has made keeps its flags, and a change that drops one is refused.
pub(super) fn make_read_only(point: &Path) -> rustix::io::Result<()> {
    let has = statvfs(point)?.f_flag;
    if has.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (had, keeps) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(had) {
            flags |= keeps;
        }
    }
    mount_remount(point, flags, "")
}
/// Where something is mounted.
fn mounted() -> Result<Vec<PathBuf>, String> {
    let table = fs::read("/proc/self/mountinfo").map_err(failed("read the mounts"))?;
    let points = table.split(|byte| *byte == b'\n');
    Ok(points.filter_map(point_of).collect())
}

/// The fifth word of a line of the table. The kernel writes spaces, tabs, line ends and backslashes as a
/// backslash with three octal digits.
fn point_of(line: &[u8]) -> Option<PathBuf> {
    let written = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    Some(OsString::from_vec(path).into())
}

/// Enters the directory again, through the new mounts. A link that somebody put in its place meanwhile is
/// not followed.
///
/// Without this the process would stay in the directory as it was mounted before, writable and with nothing
/// covered.
fn go_on_in(cwd: &Path, order: &Order) -> Result<(), String> {
    let entered = match cwd.strip_prefix(&order.workdir) {
        Err(_) => chdir(cwd),
        Ok(inside) => {
            let directory = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            let inside = match inside.as_os_str().as_bytes() {
                [] => Path::new("."),
                _ => inside,
            };
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            open(&order.workdir, directory, Mode::empty())
                .and_then(|dir| openat2(dir, inside, directory, Mode::empty(), resolve))
                .and_then(fchdir)
        }
    };
    entered.map_err(failed(&format!("enter {}", cwd.display())))
}

/// Shows this process namespace's processes and no others, and bounds how many there may be at once: the
/// limit of a user's processes does not hold for root.
///
/// It must be called by the first process of the namespace, while it still may mount.
pub(super) fn show_own_processes(processes_max: u64) -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(failed("mount /proc"))?;
    const LEAST: u64 = 301;
    // Older kernels have one such number for the whole machine, which is not ours to write.
    let _ = fs::write(
        "/proc/sys/kernel/pid_max",
        processes_max.max(LEAST).to_string(),
    );
    make_read_only(Path::new("/proc")).map_err(failed("make /proc read-only"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_mount_is_read_with_its_escapes() {
        for (line, point) in [
            (
                "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw",
                Some("/mnt2"),
            ),
            ("1 2 0:1 / /a\\040b\\134c rw - x y z", Some("/a b\\c")),
            ("1 2 0:1 / /odd\\9 rw", Some("/odd\\9")),
            ("1 2 0:1 / /end\\0", Some("/end\\0")),
            ("", None),
        ] {
            assert_eq!(
                point_of(line.as_bytes()),
                point.map(PathBuf::from),
                "{line}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_without_a_panic(line: Vec<u8>) {
            let point = point_of(&line);
            let longest = point.map_or(0, |point| point.as_os_str().len());
            assert!(longest <= line.len());
        }
    }
}
