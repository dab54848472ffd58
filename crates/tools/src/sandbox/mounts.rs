//! The files as a command sees them: all read-only but its own, and nothing where keys are kept.

use std::ffi::{CString, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags, open, openat2, statvfs};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};
use rustix::process::{chdir, fchdir};

use super::enter::failed;
use super::order::Order;
use super::scratch::{nothing_at, void};

const SHARED_MEMORY: &str = "/dev/shm";

/// Arranges the mounts of this mount namespace, which must be our own. The process goes on in the same
/// directory, as it is now.
pub(super) fn arrange(order: &Order) -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(failed("find its directory"))?;
    let before = mounted()?;
    let mut own = order.writable();
    own.push(order.scratch.clone());
    for dir in &own {
        mount_bind_recursive(dir, dir).map_err(failed(&format!("mount {}", dir.display())))?;
    }
    for path in &order.protected {
        protect(path)?;
    }
    for path in &order.hidden {
        hide(path, &order.scratch)?;
    }
    if Path::new(SHARED_MEMORY).is_dir() {
        let size = CString::new(format!("mode=1777,size={}", order.limits.memory_bytes));
        let size = size.expect("a number has no zero byte");
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, &*size)
            .map_err(failed("mount shared memory"))?;
    }
    let is_own = |path: &Path| own.iter().any(|dir| path.starts_with(dir));
    for point in before.iter().filter(|point| !is_own(point)) {
        let is_fine = Path::new(SHARED_MEMORY) == point || make_read_only(point).is_ok();
        if !is_fine && !order.landlock {
            return Err(format!("could not make {} read-only", point.display()));
        }
    }
    go_on_in(&cwd, order)
}

/// Whatever the command does to its own tree, this part of it stays as it is.
fn protect(path: &Path) -> Result<(), String> {
    if !path.exists() {
        return Ok(());
    }
    mount_bind(path, path)
        .and_then(|()| make_read_only(path))
        .map_err(failed(&format!("protect {}", path.display())))
}

/// Puts nothing over a path. What the user cannot reach need not be hidden.
fn hide(path: &Path, scratch: &Path) -> Result<(), String> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    let cover = match metadata.is_dir() {
        true => void(scratch),
        false => nothing_at(scratch),
    };
    mount_bind(&cover, path).map_err(failed(&format!("hide {}", path.display())))
}

/// A mount that another user has made keeps its flags, and a change that drops one is refused.
fn make_read_only(point: &Path) -> rustix::io::Result<()> {
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
