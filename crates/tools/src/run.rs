//! `run`: a command in the working directory.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::paged_budget;
use crate::capture::show_both;
use crate::fault::{self, ToolFault};
use crate::process::{self, Finished};
use crate::sandbox::{Confined, Sandbox};
use crate::tool::{BoxFuture, Tool, ToolValue, parse};
use crate::workdir::Workdir;

/// The fixed fields of the output as JSON.
const FIXED_BYTES: usize = 256;

/// Starts a command inside the working directory, in the sandbox. It is bounded in time and output, and
/// none of its processes is alive when the call is over.
pub(crate) struct Run {
    spec: ToolSpec,
    workdir: Arc<Workdir>,
    sandbox: Arc<Sandbox>,
}

#[derive(Deserialize)]
struct Arguments {
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
        let mut spec = ToolSpec::closed(
            "run",
            ToolEffect::Write,
            "Runs a command and waits for it. A non-zero exit is a result, not a failure. Background \
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
        );
        spec.sandbox = Some(sandbox.level());
        Self {
            spec,
            workdir,
            sandbox,
        }
    }

    async fn run(&self, arguments: Arguments, call: &Invocation) -> Result<Value, ToolFault> {
        let cwd = self.open_cwd(&arguments.cwd)?;
        let mut confined = self
            .command(&arguments, &cwd, &call.key())
            .map_err(|error| not_started(&arguments, &error))?;
        let bytes_max = paged_budget(call, FIXED_BYTES);
        let timeout_ms = arguments.timeout_ms.unwrap_or(u64::MAX);
        let timeout = Duration::from_millis(timeout_ms.min(call.timeout_ms()));
        let stdin = arguments.stdin.clone();
        let finished = process::run(&mut confined.command, stdin, bytes_max, timeout)
            .await
            .map_err(|error| not_started(&arguments, &error))?;
        let status = finished.status.ok_or_else(ToolFault::timeout)?;
        match confined.fault() {
            Some(why) => Err(ToolFault::new(fault::SPAWN_FAILED, why)),
            None => Ok(report(finished, status, bytes_max)),
        }
    }

    fn open_cwd(&self, path: &str) -> Result<Dir, ToolFault> {
        let relative = self.workdir.relative(path)?;
        self.workdir
            .dir()
            .open_dir(relative)
            .map_err(|error| ToolFault::from_io(&error, path))
    }

    fn command(&self, arguments: &Arguments, cwd: &Dir, key: &str) -> io::Result<Confined> {
        let shell = ["-c".to_owned(), arguments.command.clone()];
        let (program, args) = match &arguments.args {
            Some(args) => (arguments.command.as_str(), args.as_slice()),
            None => ("sh", shell.as_slice()),
        };
        let mut confined = self.sandbox.command(program, args, &path_of(cwd))?;
        confined.command.env("BONDED_CALL", key);
        Ok(confined)
    }
}

fn not_started(arguments: &Arguments, error: &io::Error) -> ToolFault {
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

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move { Ok(self.run(parse(arguments)?, call).await?.into()) })
    }
}

/// A path to an open directory. It goes through the descriptor, so that a link that is put in the
/// directory's place after it was opened changes nothing; the child has the same descriptor until it
/// executes the program.
fn path_of(dir: &Dir) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// How long it took is not told: equal commands with equal results must look equal, or nobody would
/// notice that an agent repeats itself. The log has the time.
fn report(finished: Finished, status: ExitStatus, bytes_max: usize) -> Value {
    let (stdout, stderr) = show_both(finished.stdout, finished.stderr, bytes_max);
    json!({
        "exit": status.code(),
        "signal": status.signal(),
        "stdout": stdout.text,
        "stderr": stderr.text,
        "stdout_bytes": stdout.bytes,
        "stderr_bytes": stderr.bytes,
        "truncated": stdout.truncated || stderr.truncated,
    })
}
