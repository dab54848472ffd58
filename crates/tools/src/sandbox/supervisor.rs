//! The first stage: makes the namespaces, starts the second stage, and ends as the command ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};

use bonded_kernel::SandboxLevel;
use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{
    Signal, getpgrp, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

use super::enter::{INSIDE, WORD, failed};
use super::order::{Order, Walls};
use super::scratch::Ending;
use super::{bubblewrap, limits, mounts, namespaces};

/// Itself, even where its file was replaced meanwhile.
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

pub(super) fn run(
    mut order: Order,
    program: &OsString,
    args: &[OsString],
) -> Result<ExitCode, String> {
    let mut woken = watch_signals().map_err(failed("watch signals"))?;
    let remains = Remains::of(&order.scratch).map_err(failed("open its directory"))?;
    let parent = order.parent;
    if order.walls == Walls::Namespaces {
        namespaces::leave(order.network)?;
        mounts::arrange(&order)?;
        namespaces::hand_rights_on()?;
    }
    // Told after the namespaces were made: a change of rights forgets it.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(failed("watch its parent"))?;
    if is_orphan(parent) {
        return Err("whoever wanted the command is gone".into());
    }
    order.parent = getpid().as_raw_pid();
    let mut child = next_stage(&order, program)?;
    child.args(args);
    let child = child.spawn();
    let child = child.map_err(failed(&format!("start {}", program.display())))?;
    let let_go = let_go_of_streams();
    let status = wait(child, &mut woken, parent, &remains)?;
    let_go.map_err(failed("let go of the command's streams"))?;
    Ok(end_like(status, &order))
}

/// What comes next: the second stage, or where nothing is to be restricted, the command itself.
fn next_stage(order: &Order, program: &OsString) -> Result<Command, String> {
    let is_plain = order.walls == Walls::None && !order.landlock && !order.seccomp;
    if order.level == SandboxLevel::Full || is_plain {
        limits::set(&order.limits, false)?;
        return Ok(Command::new(program));
    }
    let mut stage = match order.walls {
        Walls::Bubblewrap => bubblewrap::command(order)?,
        Walls::Namespaces | Walls::None => Command::new(THIS_PROGRAM),
    };
    let text = serde_json::to_string(order).map_err(failed("pass its orders on"))?;
    stage.args([WORD, INSIDE, &text]).arg(program);
    Ok(stage)
}

/// A pipe that has something to read after any of the signals that matter here. The requests to end are
/// the command's, which is in the same group; its end is ours.
fn watch_signals() -> std::io::Result<UnixStream> {
    let (woken, wake) = UnixStream::pair()?;
    for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP] {
        pipe::register(signal, wake.try_clone()?)?;
    }
    Ok(woken)
}

fn is_orphan(parent: i32) -> bool {
    getppid().map(rustix::process::Pid::as_raw_pid) != Some(parent)
}

fn wait(
    mut child: Child,
    woken: &mut UnixStream,
    parent: i32,
    remains: &Remains,
) -> Result<ExitStatus, String> {
    let mut signals = [0; 64];
    loop {
        if let Some(status) = child.try_wait().map_err(failed("wait"))? {
            return Ok(status);
        }
        if is_orphan(parent) {
            // Nobody else is left to clean up.
            let _ = child.kill();
            let _ = child.wait();
            remains.remove();
            let _ = kill_process_group(getpgrp(), Signal::KILL);
        }
        // An interruption is as good as a byte.
        let _ = woken.read(&mut signals);
    }
}

/// The directory that whoever wanted the command would have removed.
struct Remains {
    scratch: PathBuf,
    /// Opened before the namespaces were made: inside, all around the directory is read-only.
    above: OwnedFd,
}

impl Remains {
    fn of(scratch: &Path) -> rustix::io::Result<Self> {
        let above = scratch.parent().unwrap_or(Path::new("/"));
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        Ok(Self {
            scratch: scratch.to_owned(),
            above: open(above, flags, Mode::empty())?,
        })
    }

    /// As far as it goes: nobody is left to be told.
    fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
        let _ = unmount(&self.scratch, UnmountFlags::DETACH);
        let name = self.scratch.file_name().unwrap_or_default();
        let _ = unlinkat(&self.above, name, AtFlags::REMOVEDIR);
    }
}

/// Whoever reads what the command writes shall see its end when the command closes it, not when we do.
pub(super) fn let_go_of_streams() -> std::io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(())
}

/// Ends this process as the command ended: with its code, or by its signal.
fn end_like(status: ExitStatus, order: &Order) -> ExitCode {
    let seen = match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Exit(1),
    };
    let told = match order.walls {
        Walls::None => None,
        Walls::Namespaces | Walls::Bubblewrap => Ending::read(&order.scratch),
    };
    match told.unwrap_or(seen) {
        Ending::Exit(code) => ExitCode::from((code & 0xff) as u8),
        Ending::Fault(_) => ExitCode::from(127),
        Ending::Signal(signal) => {
            // Only a signal that has no default action, or an unknown one, lets us go on.
            let _ = emulate_default_handler(signal);
            ExitCode::from(128u8.saturating_add((signal & 0x7f) as u8))
        }
    }
}
