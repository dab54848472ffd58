//! The second stage: gives up every right, then starts the command or becomes it.
//!
//! It is the first process of its process namespace. When it ends, the kernel kills whatever the command left
//! running, so it must not end before the command, and it must not end later than the supervisor. It tells how
//! the command ended through a pipe, because a first process cannot die of the signal that the command died of.
//!
//! Rights are given up in a fixed order: what needs rights (mounting `/proc`) comes first, then the limits,
//! then the rights themselves, then the promise to gain no new ones, which Landlock and seccomp demand. The
//! filter of system calls is last, because it forbids what the steps before it do.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, WaitStatus, getppid, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::set_no_new_privs;

use super::enter::failed;
use super::order::{Order, Walls};
use super::scratch::Ending;
use super::supervisor::let_go_of_streams;
use super::{files, limits, mounts, namespaces, syscalls};

/// The second stage as a program of its own, which is told the number of the pipe's descriptor.
pub(super) fn run_for(
    order: &Order,
    program: &OsString,
    args: &[OsString],
    number: &OsStr,
) -> Result<ExitCode, String> {
    let tell = Path::new("/proc/self/fd").join(number);
    let tell = File::options().write(true).open(tell);
    let tell = tell.map_err(failed("find whom to tell"))?;
    Ok(run(order, program, args, tell))
}

/// Tells how the command ended, or why it was not started.
pub(super) fn run(
    order: &Order,
    program: &OsString,
    args: &[OsString],
    mut tell: File,
) -> ExitCode {
    let ending = start(order, program, args).unwrap_or_else(Ending::Fault);
    let written = tell.write_all(ending.to_text().as_bytes());
    ExitCode::from(u8::from(written.is_err()))
}

/// Without walls there is no namespace to be first in, and this process becomes the command: `exec` returns
/// only on failure. With walls the command is a child. Under bubblewrap the parent is bubblewrap itself, which
/// was told to die with its own parent.
fn start(order: &Order, program: &OsString, args: &[OsString]) -> Result<Ending, String> {
    if order.walls != Walls::Bubblewrap {
        die_with_parent(order.parent)?;
    }
    if order.private_proc {
        mounts::show_own_processes(order.limits.processes)?;
    }
    limits::set(&order.limits, order.walls != Walls::None)?;
    let mut command = Command::new(program);
    command.args(args);
    command.env_clear().envs(order.variables.iter().cloned());
    if order.walls == Walls::None {
        restrict(order)?;
        return Err(could_not_start(program, &command.exec()));
    }
    // The command is of the same user, and shall not reach into us.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("hide its memory"))?;
    restrict(order)?;
    Ok(start_and_reap(command, program))
}

/// The rights of root go too: they reach where the rest does not look.
///
/// Any failure here ends in a fault: a command is never started with less than its order says.
fn restrict(order: &Order) -> Result<(), String> {
    namespaces::give_rights_up()?;
    set_no_new_privs(true).map_err(failed("forbid new rights"))?;
    if order.landlock {
        files::restrict(order)?;
    }
    if order.seccomp {
        syscalls::deny(order.network)?;
    }
    Ok(())
}

/// The parent may have died before it could be watched. In a process namespace of our own its number
/// cannot be asked for; the mounted `/proc` still shows it as outside.
fn die_with_parent(parent: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed("watch its parent"))?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let shown = line.and_then(|number| number.trim().parse().ok());
    let now = shown.or_else(|| getppid().map(rustix::process::Pid::as_raw_pid));
    match now == Some(parent) {
        true => Ok(()),
        false => Err("its supervisor is gone".into()),
    }
}

/// Starts the command and waits for it, as the first process that all orphans fall to.
///
/// The streams are let go of after the start, or whoever reads the command's output would wait for this process
/// too. Where that fails for want of a descriptor, it is tried again whenever a process has ended.
fn start_and_reap(mut command: Command, program: &OsString) -> Ending {
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ending::Fault(could_not_start(program, &error)),
    };
    let mut let_go = let_go_of_streams().is_ok();
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid().cast_unsigned() == child.id() => {
                return ending_of(status);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Ending::Exit(1),
        }
        let_go = let_go || let_go_of_streams().is_ok();
    }
}

/// A status that is neither counts as a failure.
pub(super) fn ending_of(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Exit(1),
    }
}

fn could_not_start(program: &OsString, error: &std::io::Error) -> String {
    format!("{} could not be started: {error}", program.display())
}
