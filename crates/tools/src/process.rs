//! A command in its own process group, which never outlives the call.
//!
//! The call owns everything that it starts. The group is killed when the command ends, when its time is over
//! and when the future is dropped, in each case before or at once after its leader is reaped, so that the
//! number of the group cannot belong to others. Only a process that has left the group escapes that; where there
//! are namespaces, it dies with the first process there.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

use crate::capture::Capture;
use crate::heard;
use crate::sandbox::Confined;

/// How long the pipes are still read once every process of the group is dead. Only a process that left
/// the group can hold them open any longer.
const DRAIN_MS: u64 = 500;

/// As much as a pipe of Linux holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a command did.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Nothing where its time ran out first.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

/// Gives a process a group of its own. A launcher begins a session instead, which whoever leads a group cannot.
pub(crate) fn lead(command: &mut Command, begins_session: bool) {
    if !begins_session {
        command.process_group(0);
    }
}

/// A process group that is killed as a whole when this is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    /// Gone once the group was killed: its number may be given to others from then on.
    leader: Option<Pid>,
}

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Self { leader }
    }

    /// Called while the leader is not yet reaped, or at once after: the number is reserved as long as a
    /// member lives, and does not come up again within so short a time if none does.
    pub(crate) fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // The only failure is that nobody is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Asks every process of the group to end. Called while the leader is not yet reaped.
    pub(crate) fn terminate(&self) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a command and waits for its end, or until its time is over. Every process of its group is dead when this returns, and
/// also when the future is dropped. Of each stream at most `bytes_max` are kept; the rest is read and
/// forgotten, so that the command is never blocked by a full pipe.
pub(crate) async fn run(
    confined: &mut Confined,
    stdin: Option<String>,
    bytes_max: usize,
    timeout: Duration,
) -> std::io::Result<Finished> {
    let leads = confined.dies_with_us;
    let command = &mut confined.command;
    command
        .stdin(if stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    lead(command, leads);
    // Declared before the group, so that it is dropped after: the group is killed before its leader is
    // reaped.
    let mut child = command.spawn()?;
    let mut group = Group::of(&child);
    let mut stdout = Capture::new(bytes_max);
    let mut stderr = Capture::new(bytes_max);
    let status = {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let streams = async {
            tokio::join!(
                feed(pipes.0, stdin),
                drain(pipes.1, &mut stdout),
                drain(pipes.2, &mut stderr),
            );
        };
        let out_of_time = tokio::time::sleep(timeout);
        tokio::pin!(streams, out_of_time);
        let mut ended = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break Some(status?),
                () = &mut out_of_time => break None,
                () = &mut streams, if !ended => ended = true,
            }
        };
        group.kill();
        if !ended {
            let _ = tokio::time::timeout(Duration::from_millis(DRAIN_MS), &mut streams).await;
        }
        status
    };
    Ok(Finished {
        status,
        stdout,
        stderr,
    })
}

/// A command need not read what it is given: a closed pipe is no fault.
async fn feed(pipe: Option<ChildStdin>, text: Option<String>) {
    if let (Some(mut pipe), Some(text)) = (pipe, text) {
        let _ = pipe.write_all(text.as_bytes()).await;
    }
}

/// Read to the end even when nothing more is kept.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, capture: &mut Capture) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; CHUNK_BYTES];
    // A pipe that cannot be read has nothing more to give.
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        heard::tell();
        capture.push(&chunk[..length]);
    }
}
