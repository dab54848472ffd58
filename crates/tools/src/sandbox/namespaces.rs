//! Namespaces of our own: other users' rights, mounts, processes and networks are out of reach.
//!
//! A user namespace is what lets a process without rights make the others: in it, and only in it, the process
//! has all rights, and gives them up again before the command starts. A process that leaves stays outside the
//! new process namespace itself; its next child is the first process there.

use std::fs;

use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::enter::failed;

/// Leaves the namespaces that this process was started in. Its children are in a process namespace that
/// the first of them rules.
///
/// The process must have a single thread, or the system refuses. `setgroups` is denied first, because the
/// kernel lets nobody without rights write the map of groups before.
pub(super) fn leave(network: bool) -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let mut flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags).map_err(failed("make namespaces"))?;
    // Nobody but this user has a name inside: what others own is shown as nobody's.
    map("setgroups", "deny")?;
    map("uid_map", &format!("{0} {0} 1", user.as_raw()))?;
    map("gid_map", &format!("{0} {0} 1", group.as_raw()))
}

#[expect(
    deprecated,
    reason = "it is deprecated for its flag FILES alone, which is not used here"
)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// The two maps can be written once.
fn map(file: &str, text: &str) -> Result<(), String> {
    fs::write(format!("/proc/self/{file}"), text)
        .map_err(failed(&format!("write the namespace's {file}")))
}

/// Lets the next stage mount too, although it is another program.
///
/// Rights are lost when a program is executed unless they are ambient. Only the trial of the probe executes
/// itself anew inside; a command's second stage is a fork.
pub(super) fn hand_rights_on() -> Result<(), String> {
    let mut held = capabilities(None).map_err(failed("read its rights"))?;
    held.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, held)
        .and_then(|()| configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true))
        .map_err(failed("hand its rights on"))
}

/// Gives up every right that a user does not have by itself.
///
/// The ambient set needs no care: what is neither permitted nor inheritable drops out of it.
pub(super) fn give_rights_up() -> Result<(), String> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(failed("give its rights up"))
}
