//! The first stage: makes the namespaces, starts the second stage, and ends as the command ended.
//!
//! It stays outside the process namespace, so that this process can signal it, and it has the command's exit as
//! its own: whoever waits for it need not know that there is a sandbox. It dies with its parent in a roundabout
//! way. The kernel sends it a request to end when the parent dies; that wakes it, it finds itself an orphan,
//! kills what it started, and removes what the parent would have removed.
//!
//! It has one thread and must keep to one: it forks without executing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use bonded_kernel::SandboxLevel;
use fork::{Fork, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};
use rustix::io::retry_on_intr;
use rustix::mount::{UnmountFlags, unmount};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpgrp, getpid, getppid,
    kill_process, kill_process_group, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal, setsid, waitpid,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

use super::enter::{INSIDE, WORD, failed};
use super::order::{Order, Walls};
use super::scratch::{self, Ending, LauncherFault, tmp};
use super::stand_in::{self, GIT};
use super::{bubblewrap, inside, limits, mounts, namespaces};

/// Itself, even where its file was replaced meanwhile.
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

/// How long a parent that was killed may take to let go of what it holds.
const PARENT_EXIT: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// The fault is opened first: whatever fails afterwards can be told through it.
pub(super) fn run(order: Order, program: &OsString, args: &[OsString]) -> Result<ExitCode, String> {
    let fault = LauncherFault::open(&order.scratch, &order.token).map_err(failed("report"))?;
    supervise(order, program, args, &fault).inspect_err(|why| fault.tell(why))
}

/// What may be opened only outside is opened before the namespaces are made. The parent is checked after its
/// death is watched: if it died in between, no signal would ever come.
fn supervise(
    mut order: Order,
    program: &OsString,
    args: &[OsString],
    fault: &LauncherFault,
) -> Result<ExitCode, String> {
    // A session of its own has no terminal, so that nobody reads or types there. Who leads a group already has been
    // given one, and stays in the session.
    let _ = setsid();
    let mut woken = watch_signals().map_err(failed("watch signals"))?;
    let remains = Remains::of(&order).map_err(failed("open its directory"))?;
    let parent = order.parent;
    if order.walls == Walls::Namespaces {
        namespaces::leave(order.network)?;
        mounts::arrange(&order)?;
    }
    // Told after the namespaces were made: a change of rights forgets it.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(failed("watch its parent"))?;
    if is_orphan(parent) {
        return Err("the process that asked for the command is gone".into());
    }
    order.parent = getpid().as_raw_pid();
    // The command is of the same user, and shall not reach into us.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("hide its memory"))?;
    let (report, tell) = report_pipe(order.walls).map_err(failed("make a pipe"))?;
    let child = match next_stage(&order, program, args, &tell)? {
        Next::Started(child) => child,
        Next::IsThis => {
            // What belongs to the first stage is out of the second one's reach.
            drop((woken, remains, report));
            return Ok(inside::run(&order, program, args, tell.into()));
        }
    };
    drop(tell);
    let let_go = let_go_of_streams();
    let status = wait(child, &mut woken, parent, &remains)?;
    let_go.map_err(failed("let go of the command's streams"))?;
    Ok(end_like(status, report, fault))
}

/// Where the second stage tells how the command ended. Bubblewrap hands on what is open; the second stage closes it.
fn report_pipe(walls: Walls) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    pipe_with(match walls {
        Walls::Bubblewrap => PipeFlags::empty(),
        Walls::None | Walls::Namespaces => PipeFlags::CLOEXEC,
    })
}

/// What came of starting the next stage, seen from the process that goes on.
enum Next {
    Started(Pid),
    /// This process is the second stage.
    IsThis,
}

/// Starts what comes next: the second stage, or where nothing is to be restricted, the command itself.
fn next_stage(
    order: &Order,
    program: &OsString,
    args: &[OsString],
    tell: &OwnedFd,
) -> Result<Next, String> {
    let is_plain = order.walls == Walls::None && !order.landlock && !order.seccomp;
    let mut command = if order.level == SandboxLevel::Full || is_plain {
        limits::set(&order.limits, false)?;
        let mut command = Command::new(program);
        command.env_clear().envs(order.variables.iter().cloned());
        command
    } else if order.walls == Walls::Bubblewrap {
        let mut stage = bubblewrap::command(order)?;
        // What the command is given is in our own variables already.
        stage.envs(order.parts().map_err(failed("pass its orders on"))?);
        let tell = tell.as_raw_fd().to_string();
        stage.args([WORD, INSIDE, &tell]).arg(program);
        stage
    } else {
        // This process has one thread, so that its copy is whole. To start the program anew would take longer than
        // all the rest.
        return match fork().map_err(failed("start its second stage"))? {
            Fork::Child => Ok(Next::IsThis),
            Fork::Parent(pid) => started(pid),
        };
    };
    let child = command.args(args).spawn();
    let child = child.map_err(failed(&format!("start {}", program.display())))?;
    started(child.id().cast_signed())
}

fn started(pid: i32) -> Result<Next, String> {
    let pid = Pid::from_raw(pid).ok_or("what it started has no number")?;
    Ok(Next::Started(pid))
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

/// Whoever loses its parent gets another, so that a different number is enough to know.
fn is_orphan(parent: i32) -> bool {
    getppid().map(Pid::as_raw_pid) != Some(parent)
}

/// It wakes for each signal, and looks both for the end of the child and for that of the parent. A request to
/// end does not end it: the group that was signalled holds the command as well, and its end is waited for.
fn wait(
    child: Pid,
    woken: &mut UnixStream,
    parent: i32,
    remains: &Remains,
) -> Result<WaitStatus, String> {
    let mut signals = [0; 64];
    loop {
        let ended = waitpid(Some(child), WaitOptions::NOHANG).map_err(failed("wait"))?;
        // Looked at first: a command may end because nobody reads any more what it writes.
        if is_orphan(parent) {
            // Nobody else is left to clean up.
            if ended.is_none() {
                let _ = kill_process(child, Signal::KILL);
                let _ = waitpid(Some(child), WaitOptions::empty());
            }
            remains.remove();
            let _ = kill_process_group(getpgrp(), Signal::KILL);
        }
        if let Some((_, status)) = ended {
            return Ok(status);
        }
        // An interruption is as good as a byte.
        let _ = woken.read(&mut signals);
    }
}

/// What whoever wanted the command would have removed. Directories are opened before the namespaces are made: inside,
/// all around is read-only.
///
/// Used only when the parent has died; else the parent does the same when it drops what it holds.
struct Remains {
    scratch: PathBuf,
    home: PathBuf,
    inside: OwnedFd,
    above: OwnedFd,
    git: PathBuf,
    workdir: OwnedFd,
    /// Where the system can tell of its end.
    parent: Option<OwnedFd>,
}

impl Remains {
    fn of(order: &Order) -> rustix::io::Result<Self> {
        let above = order.scratch.parent().unwrap_or(Path::new("/"));
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        Ok(Self {
            scratch: order.scratch.clone(),
            home: order.home.seen.clone(),
            inside: open(&order.scratch, flags, Mode::empty())?,
            above: open(above, flags, Mode::empty())?,
            git: order.workdir.join(GIT),
            workdir: open(&order.workdir, flags, Mode::empty())?,
            // If its number was another's by now, we were an orphan before this is asked for.
            parent: Pid::from_raw(order.parent)
                .and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok()),
        })
    }

    /// As far as it goes: nobody is left to be told.
    fn remove(&self) {
        // What something is mounted on cannot be removed; a home that is not kept is in the scratch directory.
        let _ = unmount(&self.home, UnmountFlags::DETACH);
        let _ = unmount(tmp(&self.scratch), UnmountFlags::DETACH);
        // By descriptors: the path may be one that is hidden here.
        for name in scratch::ENTRIES {
            scratch::remove_beneath(&self.inside, OsStr::new(name));
        }
        let name = self.scratch.file_name().unwrap_or_default();
        let _ = unlinkat(&self.above, name, AtFlags::REMOVEDIR);
        // What is mounted here cannot be removed.
        let _ = unmount(&self.git, UnmountFlags::DETACH);
        self.wait_until_the_parent_has_let_go();
        stand_in::remove_unused(&self.workdir);
    }

    /// A process of several threads gives its children away while one of them may still be ending: its files, and
    /// the locks on them, are open until the last has ended.
    fn wait_until_the_parent_has_let_go(&self) {
        if let Some(parent) = &self.parent {
            let mut end = [PollFd::new(parent, PollFlags::IN)];
            let _ = retry_on_intr(|| poll(&mut end, Some(&PARENT_EXIT)));
        }
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
///
/// What the second stage reported counts more than how it ended itself. Codes are cut to eight bits, as shells
/// see them, and a signal that this process survives becomes 128 and its number.
fn end_like(status: WaitStatus, report: OwnedFd, fault: &LauncherFault) -> ExitCode {
    let mut text = String::new();
    // Nobody else has the other end any more, and who says nothing ended as it is seen from here.
    let _ = File::from(report).read_to_string(&mut text);
    match Ending::parse(&text).unwrap_or_else(|| inside::ending_of(status)) {
        Ending::Exit(code) => ExitCode::from((code & 0xff) as u8),
        Ending::Fault(why) => {
            fault.tell(&why);
            ExitCode::from(127)
        }
        Ending::Signal(signal) => {
            // Only a signal that has no default action, or an unknown one, lets us go on.
            let _ = emulate_default_handler(signal);
            ExitCode::from(128u8.saturating_add((signal & 0x7f) as u8))
        }
    }
}
