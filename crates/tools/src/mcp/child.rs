//! A server's process: its group is ended as a whole, and nothing of it outlives us.
//!
//! Each process is kept by a task of its own, which alone waits for it. Ending goes in steps: the group is
//! asked to end, and what is left of it is killed after a grace, or as soon as its leader has ended. Only
//! when all of that is done does the server count as ended, so that whoever waits for `Living` knows that
//! nothing is left.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::witness::Witness;
use crate::process::{Group, lead};
use crate::sandbox::{Confined, LongWatch};

/// How long a process may take to end by itself once it was asked to.
///
/// Long enough for a server to write what it holds, short enough for a person who waits for the program to end.
const GRACE_MS: u64 = 2000;

/// How long stderr is still read once every process of the group is dead.
///
/// A process that has left the group may hold stderr open for ever.
const DRAIN_MS: u64 = 500;

/// How many processes of a server there are. It is used to wait for the end of them all.
#[derive(Clone, Debug)]
pub(super) struct Living(watch::Sender<usize>);

impl Default for Living {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

impl Living {
    /// The count goes down when the answer is dropped.
    pub(super) fn born(&self) -> Born {
        self.0.send_modify(|living| *living += 1);
        Born(self.0.clone())
    }

    pub(super) fn is_none(&self) -> bool {
        *self.0.borrow() == 0
    }

    pub(super) async fn all_dead(&self) {
        let mut living = self.0.subscribe();
        // The sender is ours, so that the channel is never closed.
        let _ = living.wait_for(|living| *living == 0).await;
    }
}

/// A process that lives, or a session.
#[derive(Debug)]
pub(super) struct Born(watch::Sender<usize>);

impl Drop for Born {
    fn drop(&mut self) {
        self.0.send_modify(|living| *living -= 1);
    }
}

/// A command that is about to be a server.
///
/// A confined one is kept until its process has ended: its scratch directory is in use, and what it made is
/// settled at the end.
pub(super) enum Starting {
    Plain(Command),
    Confined(Box<Confined>),
}

impl Starting {
    fn command(&mut self) -> &mut Command {
        match self {
            Self::Plain(command) => command,
            Self::Confined(confined) => &mut confined.command,
        }
    }

    fn long_watch(&self) -> Option<Arc<LongWatch>> {
        match self {
            Self::Plain(_) => None,
            Self::Confined(confined) => confined.long_watch().cloned(),
        }
    }

    /// The launcher of a sandbox sees to it; any other server needs a guardian.
    fn dies_with_us(&self) -> bool {
        matches!(self, Self::Confined(confined) if confined.dies_with_us)
    }
}

/// A running child. Dropping it asks the child to end, and makes it end.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) long_watch: Option<Arc<LongWatch>>,
    /// Dropping it is as good as sending: the task takes a closed channel for a request to end.
    stop: watch::Sender<bool>,
    /// How it ended, as the end of a sentence; `None` while it lives.
    ended: watch::Receiver<Option<String>>,
}

impl Process {
    /// Starts the command in a process group of its own.
    pub(super) fn spawn(
        mut starting: Starting,
        witness: Arc<Witness>,
        living: &Living,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let leads = starting.dies_with_us();
        let command = starting.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        lead(command, leads);
        let mut child = command.spawn()?;
        let group = Group::of(&child);
        let guardian = match starting.dies_with_us() {
            true => None,
            false => child.id().and_then(Guardian::over),
        };
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let long_watch = starting.long_watch();
        let (stop, stopped) = watch::channel(false);
        let (tell_ended, ended) = watch::channel(None);
        let kept = ChildParts {
            guardian,
            group,
            child,
            starting,
            _born: living.born(),
        };
        tokio::spawn(async move {
            let end = keep(kept, stopped, stderr, &witness).await;
            tell_ended.send_replace(Some(end));
        });
        let piped = "it was spawned with pipes";
        let (stdin, stdout) = (stdin.expect(piped), stdout.expect(piped));
        let process = Self {
            long_watch,
            stop,
            ended,
        };
        Ok((process, stdin, stdout))
    }

    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// How the process ended, if it does so within the time.
    pub(super) async fn end_within(&self, wait: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let end = tokio::time::timeout(wait, ended.wait_for(Option::is_some)).await;
        end.ok()?.ok()?.clone()
    }
}

/// What is dropped together when the runtime goes away. The group is killed before its leader is reaped,
/// and the guardian is the first to go, so that it never aims at a number that somebody else has got.
struct ChildParts {
    guardian: Option<Guardian>,
    group: Group,
    child: Child,
    /// It has a directory that is removed after the child, and looks at what the child made.
    starting: Starting,
    _born: Born,
}

/// Waits for the end of a child, or brings it about. Returns how it ended, as the end of a sentence.
///
/// Stderr is read all the time, since a server whose pipe is full stands still. The group is killed even when
/// the leader ended by itself, as children of it may live on.
async fn keep(
    mut kept: ChildParts,
    mut stopped: watch::Receiver<bool>,
    stderr: Option<ChildStderr>,
    witness: &Witness,
) -> String {
    let drain = drain(stderr, witness);
    tokio::pin!(drain);
    let mut drained = false;
    let status = loop {
        tokio::select! {
            status = kept.child.wait() => break status,
            () = asked_to_stop(&mut stopped) => break end(&mut kept).await,
            () = &mut drain, if !drained => drained = true,
        }
    };
    kept.group.kill();
    if let Some(guardian) = kept.guardian.take() {
        guardian.dismiss().await;
    }
    if !drained {
        let _ = tokio::time::timeout(Duration::from_millis(DRAIN_MS), drain).await;
    }
    if let Some(long_watch) = kept.starting.long_watch() {
        // A tree may be large.
        let _ = tokio::task::spawn_blocking(move || long_watch.end()).await;
    }
    describe(status)
}

async fn asked_to_stop(stopped: &mut watch::Receiver<bool>) {
    // An error says that nobody holds the process any more.
    let _ = stopped.wait_for(|stop| *stop).await;
}

async fn end(kept: &mut ChildParts) -> io::Result<ExitStatus> {
    kept.group.terminate();
    let grace = Duration::from_millis(GRACE_MS);
    match tokio::time::timeout(grace, kept.child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            kept.group.kill();
            kept.child.wait().await
        }
    }
}

fn describe(status: io::Result<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => format!("exited with code {code}"),
        Ok((None, Some(signal))) => format!("was ended by signal {signal}"),
        Ok((None, None)) => "ended".into(),
        Err(error) => format!("ended in an unknown way ({error})"),
    }
}

async fn drain(stderr: Option<ChildStderr>, witness: &Witness) {
    let Some(mut stderr) = stderr else { return };
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        witness.stderr(&chunk[..length]);
    }
}

/// A shell that waits for the end of its stdin, which only this process holds, and then kills the server's
/// group. So a server dies with us even if we are killed in a way that lets us do nothing, and even if it
/// would not notice that its own stdin has ended. Without a shell there is no guardian.
struct Guardian {
    shell: Child,
    _stdin: Option<ChildStdin>,
}

impl Guardian {
    /// The shell ignores the signals of a terminal and is in a group of its own, or it would die with us before
    /// it could act. It has no variables and stands in the root, so that it keeps no directory busy.
    fn over(leader: u32) -> Option<Self> {
        let script = "trap '' HUP INT TERM; read -r line; kill -s KILL -- \"-$1\"";
        let mut shell = Command::new("/bin/sh")
            .args(["-c", script, "sh", &leader.to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        // Waiting for a child closes its stdin, and that is what it must not see.
        let stdin = shell.stdin.take();
        Some(Self {
            shell,
            _stdin: stdin,
        })
    }

    async fn dismiss(mut self) {
        // It fails only if the shell is gone already.
        let _ = self.shell.kill().await;
    }
}
