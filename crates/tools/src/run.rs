//! `run`: a command in the working directory.
//!
//! A call goes through fixed steps: the directory is opened beneath the working directory, the turn is waited
//! for, the command is made ready and run, and what it made is settled before its result is told. A command
//! that a person approved runs alone, since what appears meanwhile counts as approved. A command that fails is
//! a result and no fault: only one that was never started, or ran out of time, is.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use cap_std::fs::Dir;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::bounds::{NOTICE_BYTES_MAX, budget, paged_budget};
use crate::capture::{Capture, show_both};
use crate::fault::{self, ToolFault};
use crate::process;
use crate::sandbox::{Confined, Manner, Sandbox};
use crate::tool::{Tool, ToolValue, parse};
use crate::workdir::{FILES, Workdir};

/// The fixed fields of the output as JSON.
const FIXED_BYTES: usize = 256;

/// How much is said at most about what the sandbox refused or put aside, as text and as JSON.
const NOTES_CHARS_MAX: usize = 1200;
const NOTES_BYTES_MAX: usize = 2 * NOTES_CHARS_MAX;

/// Starts a command inside the working directory, in the sandbox. It is bounded in time and output, and
/// none of its processes is alive when the call is over.
pub(crate) struct Run {
    spec: ToolSpec,
    workdir: Arc<Workdir>,
    sandbox: Arc<Sandbox>,
}

/// With `args` the command is a program; without, a line for a shell.
#[derive(Deserialize)]
struct RunArguments {
    command: String,
    args: Option<Vec<String>>,
    #[serde(default = "here")]
    cwd: String,
    stdin: Option<String>,
    timeout_ms: Option<u64>,
}

fn here() -> String {
    ".".into()
}

impl Run {
    pub(crate) fn new(workdir: Arc<Workdir>, sandbox: Arc<Sandbox>) -> Self {
        let effect = match sandbox.leaves_nothing() {
            true => ToolEffect::Read,
            false => ToolEffect::Write,
        };
        let mut spec = ToolSpec::closed(
            "run",
            effect,
            "Runs a command and waits for it. It has failed unless it exits with 0. Background \
             processes are killed when the command ends. Of long output the beginning and the end are shown, or the \
             beginning and how to read on. \
             The command runs in a sandbox: what it may not write or reach is refused to it.",
            &json!({
                "command": {
                    "type": "string", "minLength": 1,
                    "description": "A line for `sh -c`; or, with args, the program to run without a shell."
                },
                "args": {
                    "type": "array", "items": { "type": "string" },
                    "description": "The program's arguments, passed exactly as given."
                },
                "cwd": {
                    "type": "string",
                    "description": "Directory to run in, inside the working directory; default: that itself."
                },
                "stdin": { "type": "string", "description": "Input for the command; default: none." },
                "timeout_ms": {
                    "type": "integer", "minimum": 1,
                    "description": "Kill the command after this time; it cannot exceed the run's own limit."
                }
            }),
            &["command"],
        ).of_resource(FILES);
        spec.sandbox = Some(sandbox.level());
        Self {
            spec,
            workdir,
            sandbox,
        }
    }

    async fn run(
        &self,
        arguments: RunArguments,
        call: &Invocation,
    ) -> Result<ToolValue, ToolFault> {
        let cwd = self.open_cwd(&arguments.cwd)?;
        let gate = Arc::clone(self.sandbox.gate());
        let (manner, _turn, approval) = match call.approved() {
            true => {
                let turn = CommandTurn::alone(gate).await;
                (Manner::Approved, turn, self.sandbox.approval().await)
            }
            false => (Manner::Watched, CommandTurn::among_others(gate).await, None),
        };
        let mut confined = self.confined(&arguments, &cwd, manner).await?;
        confined.set("BONDED_CALL", call.key());
        let bytes_max = paged_budget(call, FIXED_BYTES);
        let timeout_ms = arguments.timeout_ms.unwrap_or(u64::MAX);
        let timeout = Duration::from_millis(timeout_ms.min(call.timeout_ms()));
        let stdin = arguments.stdin.clone();
        let finished = process::run(&mut confined, stdin, bytes_max, timeout)
            .await
            .map_err(|error| not_started(&arguments, &error))?;
        let fault = confined.fault();
        // A tree may be large.
        let settled = tokio::task::spawn_blocking(move || {
            let put_aside = confined.settle();
            drop(approval);
            put_aside
        });
        let settled = settled.await;
        let put_aside = settled.unwrap_or_default();
        let status = finished.status.ok_or_else(ToolFault::timeout)?;
        match fault {
            Some(why) => Err(ToolFault::new(fault::SPAWN_FAILED, why)),
            None => {
                let short_max = budget(call, FIXED_BYTES + NOTICE_BYTES_MAX);
                let (out, err) = (finished.stdout, finished.stderr);
                let is_long = out.json_bytes_max() + err.json_bytes_max() > short_max as u64;
                // The end of what a command says is worth more than the middle: it is shown, and the rest can be read.
                let short = (is_long && call.output_handle().is_some()).then(|| {
                    let streams = (out.clone(), err.clone());
                    self.report(streams, status, put_aside.clone(), short_max)
                });
                let whole = self.report((out, err), status, put_aside, bytes_max);
                let whole = match status.success() {
                    true => ToolValue::Json(whole),
                    false => ToolValue::Failed(whole),
                };
                Ok(match short {
                    Some(short) => ToolValue::Shortened {
                        whole: Box::new(whole),
                        short,
                    },
                    None => whole,
                })
            }
        }
    }

    /// In a thread of its own, because taking the inventory of a large tree blocks.
    async fn confined(
        &self,
        arguments: &RunArguments,
        cwd: &Dir,
        manner: Manner,
    ) -> Result<Confined, ToolFault> {
        let shell = vec!["-c".to_owned(), arguments.command.clone()];
        let (program, args) = match &arguments.args {
            Some(args) => (arguments.command.clone(), args.clone()),
            None => ("sh".to_owned(), shell),
        };
        let (sandbox, path) = (Arc::clone(&self.sandbox), path_of(cwd));
        let made =
            tokio::task::spawn_blocking(move || sandbox.command_in(manner, &program, &args, &path));
        let made = made
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        made.map_err(|error| not_started(arguments, &error))
    }

    /// How long it took is not told: equal commands with equal results must look equal, or nobody would
    /// notice that an agent repeats itself. The log has the time.
    fn report(
        &self,
        (stdout, stderr): (Capture, Capture),
        status: ExitStatus,
        put_aside: Option<String>,
        bytes_max: usize,
    ) -> Value {
        let may_have_notes = put_aside.is_some() || !status.success();
        let room = match may_have_notes {
            true => bytes_max.saturating_sub(NOTES_BYTES_MAX),
            false => bytes_max,
        };
        let (stdout, stderr) = show_both(stdout, stderr, room);
        let mut report = json!({
            "exit": status.code(),
            "signal": status.signal(),
            "stdout": stdout.text,
            "stderr": stderr.text,
            "stdout_bytes": stdout.bytes,
            "stderr_bytes": stderr.bytes,
            "truncated": stdout.truncated || stderr.truncated,
        });
        let refused = match status.success() {
            true => None,
            false => self.sandbox.refusal(&stderr.text),
        };
        let mut notes: Vec<String> = refused.map(str::to_owned).into_iter().collect();
        notes.extend(put_aside);
        if !notes.is_empty() {
            let text: String = notes.join("; ").chars().take(NOTES_CHARS_MAX).collect();
            report["sandbox"] = text.into();
        }
        report
    }

    fn open_cwd(&self, path: &str) -> Result<Dir, ToolFault> {
        let relative = self.workdir.relative(path)?;
        self.workdir
            .dir()
            .open_dir(relative)
            .map_err(|error| ToolFault::from_io(&error, path))
    }
}

/// Whose turn it is: commands run beside one another, but one that a person approved runs alone.
enum CommandTurn {
    Alone { _held: OwnedRwLockWriteGuard<()> },
    AmongOthers { _held: OwnedRwLockReadGuard<()> },
}

impl CommandTurn {
    async fn alone(gate: Arc<RwLock<()>>) -> Self {
        let _held = gate.write_owned().await;
        Self::Alone { _held }
    }

    async fn among_others(gate: Arc<RwLock<()>>) -> Self {
        let _held = gate.read_owned().await;
        Self::AmongOthers { _held }
    }
}

/// The sentence names the command as it was given, never the launcher.
fn not_started(arguments: &RunArguments, error: &io::Error) -> ToolFault {
    let message = format!("{:?} could not be started: {error}", arguments.command);
    ToolFault::new(fault::SPAWN_FAILED, message)
}

impl Tool for Run {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn sandbox(&self) -> Option<&Arc<str>> {
        Some(self.sandbox.in_force())
    }

    /// What a network reaches is elsewhere.
    fn stays_in_place(&self) -> bool {
        !self.sandbox.has_network()
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move { self.run(parse(arguments)?, call).await })
    }
}

/// A path to an open directory. It goes through the descriptor, so that a link that is put in the
/// directory's place after it was opened changes nothing; the child has the same descriptor until it
/// executes the program.
fn path_of(dir: &Dir) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}
