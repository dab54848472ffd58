//! A copy that holds only what differs: an overlay over the tree as it was frozen, or over the tree itself.
//!
//! Where the tree itself lies below it, what a person changes there meanwhile may be seen in the copy; whoever relies
//! on the copy asks whether it was. The changes of the copy are told from its upper directory alone, so that is never
//! taken for the item's. A directory of the tree cannot be renamed in a copy, as on any overlay: programs copy it
//! instead.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::tree::namespace::failed;
use crate::tree::removal::remove_tree;

/// What differs from what lies below; a removed file stands there as a device with the numbers 0 and 0.
pub(super) const UPPER: &str = "upper";
/// Demanded by the system, which keeps there what it has not finished.
pub(super) const WORK: &str = "work";

/// Mounts an overlay of directories, the upper one first, at `merged`; what is written goes into `dir`. What an earlier
/// mount has put there is seen again.
pub(super) fn mount_over(below: &[PathBuf], dir: &Path, merged: &Path) -> Result<(), String> {
    let made = |name: &str| -> Result<PathBuf, String> {
        let path = dir.join(name);
        fs::create_dir_all(&path).map_err(failed(&format!("make {}", path.display())))?;
        Ok(path)
    };
    // What a mount that ended with its process notes there would forbid the next one.
    let work = dir.join(WORK);
    remove_tree(&work).map_err(failed(&format!("clear {}", work.display())))?;
    let lower: Vec<OwnedFd> = below
        .iter()
        .map(|it| opened(it))
        .collect::<Result<_, _>>()?;
    let (upper, work) = (opened(&made(UPPER)?)?, opened(&made(WORK)?)?);
    // Named by number: a path may be too long or hold what means something between options.
    let place = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let lower_places: Vec<String> = lower.iter().map(place).collect();
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        lower_places.join(":"),
        place(&upper),
        place(&work)
    );
    // Nothing in a copy needs to outlive a crash: what is published was read from it and kept elsewhere. Kernels
    // before 5.10 do not know the word.
    let mounted = match try_mount(merged, &format!("{options},volatile")) {
        Err(Errno::INVAL) => try_mount(merged, &options),
        mounted => mounted,
    };
    mounted.map_err(failed("mount an overlay"))
}

/// No program in a copy gets rights from its file, and no device in it can be opened.
fn try_mount(merged: &Path, options: &str) -> rustix::io::Result<()> {
    let options = CString::new(options).expect("words and numbers have no zero byte");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("bonded", merged, "overlay", flags, &*options)
}

/// Only as a place: nothing of it is read.
fn opened(path: &Path) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(failed(&format!("open {}", path.display())))
}

/// Whatever still uses the mount keeps it to itself. Nothing mounted is as good.
pub(super) fn unmount_from(merged: &Path) {
    let _ = unmount(merged, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
}
