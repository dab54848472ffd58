//! A `/dev` of the command's own: the harmless devices, terminals that it makes itself, and memory that it shares with
//! nobody. The terminals of the person, their keyboards, cameras and disks are not there.
//!
//! The order matters: the devices are taken up as mounts before the new `/dev` covers them, then put into it,
//! and the whole is made read-only last. A device cannot be made anew there, because nobody may make device
//! files in a user namespace; a mount of the existing one is the only way.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};

use super::enter::failed;
use super::mounts::make_read_only;

pub(super) const DEVICES: &str = "/dev";

/// What every program may read and write.
pub(super) const HARMLESS: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// What a link says, and where it lies. They are made anew because programs expect them; what they lead to is
/// always the caller's own.
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
];

/// Puts it over `/dev` of this mount namespace.
pub(super) fn arrange(memory_bytes_max: u64) -> Result<(), String> {
    arrange_all(memory_bytes_max).map_err(failed("arrange the devices"))
}

/// `memory_bytes_max` bounds the shared memory, which the limit of a process's own memory does not count. The
/// directory itself holds nothing but empty files and links, for which 64 KiB are plenty.
fn arrange_all(memory_bytes_max: u64) -> std::io::Result<()> {
    let there = HARMLESS.iter().filter(|path| Path::new(path).exists());
    let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::OPEN_TREE_CLONE;
    let taken = there.map(|path| Ok((*path, open_tree(CWD, *path, flags)?)));
    let taken: Vec<_> = taken.collect::<rustix::io::Result<_>>()?;
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", DEVICES, "tmpfs", plain, c"mode=755,size=64k")?;
    for (path, device) in taken {
        fs::File::create(path)?;
        move_mount(
            device,
            c"",
            CWD,
            path,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )?;
    }
    for (target, link) in LINKS {
        symlink(target, link)?;
    }
    fs::create_dir("/dev/pts")?;
    let terminals = c"newinstance,ptmxmode=0666,mode=0620";
    // Where none can be had, there are none.
    let _ = mount("devpts", "/dev/pts", "devpts", plain, terminals);
    fs::create_dir("/dev/shm")?;
    let size = CString::new(format!("mode=1777,size={memory_bytes_max}"))?;
    let nothing_special = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", "/dev/shm", "tmpfs", nothing_special, &*size)?;
    make_read_only(Path::new(DEVICES))?;
    Ok(())
}
