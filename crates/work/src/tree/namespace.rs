//! A mount namespace of our own, in which overlays can be mounted and vanish with this process.
//!
//! The kernel refuses a user namespace to a process with threads, and a mount namespace would be that of the
//! calling thread alone; so all of it happens at the start of the program. Nothing has to be cleaned up after a
//! crash: the mounts go with the last process.

use std::fs;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{
    DumpableBehavior, dumpable_behavior, getegid, geteuid, set_dumpable_behavior,
};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

/// Gives this process its own mounts: what it mounts is seen by itself and by the processes that it starts, and
/// gone when they are. A user without the right to mount gets it in a user namespace, with nobody else in it.
///
/// It must be called before there are threads. Where it fails, nothing has changed, and the answer says why.
pub fn enter_namespace() -> Result<(), String> {
    let threads = fs::read_dir("/proc/self/task").map_err(failed("count its threads"))?;
    if threads.count() != 1 {
        return Err("the process has threads already".into());
    }
    let rights = capabilities(None).map_err(failed("read its rights"))?;
    if rights.effective.contains(CapabilitySet::SYS_ADMIN) {
        unshare(UnshareFlags::NEWNS)?;
    } else {
        enter_user_namespace()?;
    }
    // Mounts of others are seen and unmounts followed; ours do not get out.
    let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(failed("keep its mounts to itself"))
}

/// The user is mapped to himself and nobody else is, so that files keep their owners and no new rights are had
/// outside.
fn enter_user_namespace() -> Result<(), String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let was = dumpable_behavior().map_err(failed("read its own state"))?;
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    // The files below are root's while others may not look into this process.
    let set = |to| set_dumpable_behavior(to).map_err(failed("set its own state"));
    set(DumpableBehavior::Dumpable)?;
    let mapped = map("setgroups", "deny")
        .and_then(|()| map("uid_map", &format!("{user} {user} 1")))
        .and_then(|()| map("gid_map", &format!("{group} {group} 1")));
    set(was)?;
    mapped
}

/// Whether this process sees every user and group of the machine as they are. Where it does not, an overlay cannot
/// be written to at what belongs to others.
pub(super) fn knows_everybody() -> bool {
    let knows_all = |map: &str| {
        let map = fs::read_to_string(map).unwrap_or_default();
        let numbers: Vec<&str> = map.split_whitespace().collect();
        numbers == ["0", "0", "4294967295"]
    };
    knows_all("/proc/self/uid_map") && knows_all("/proc/self/gid_map")
}

#[expect(
    deprecated,
    reason = "it is deprecated for its flag FILES alone, which is not used here"
)]
fn unshare(flags: UnshareFlags) -> Result<(), String> {
    rustix::thread::unshare(flags).map_err(failed("make namespaces"))
}

/// In the order that the kernel demands: groups must be given up before they are mapped.
fn map(file: &str, text: &str) -> Result<(), String> {
    fs::write(format!("/proc/self/{file}"), text)
        .map_err(failed(&format!("write the namespace's {file}")))
}

/// Names what could not be done, for the end of a sentence.
pub(super) fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("could not {what}: {error}")
}
