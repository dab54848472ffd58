//! `run`: a command in the working directory.

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::bounds::budget;
use crate::capture::show_both;
use crate::fault::{self, ToolFault};
use crate::process::{self, Finished};
use crate::tool::{BoxFuture, Tool, ToolValue, parse, spec};
use crate::workdir::Workdir;

/// The fixed fields of the output as JSON.
const FIXED_BYTES: usize = 256;

/// Starts a command inside the working directory.
///
/// The command is **not sandboxed**: it can do whatever the user can who runs this process. What is
/// guaranteed: it is bounded in time and output, and its process group is dead when the call is over
/// (a process that makes a session of its own leaves the group). It inherits the environment without the
/// hidden variables: those that the host names, and every one whose name ends in `_API_KEY` or `_TOKEN`
/// or contains `SECRET` or `PASSWORD`. A command of the same user could still read them from this
/// process itself, where the system permits that.
pub(crate) struct Run {
    spec: ToolSpec,
    workdir: Arc<Workdir>,
    hidden_env: Vec<String>,
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
    pub(crate) fn new(workdir: Arc<Workdir>, hidden_env: Vec<String>) -> Self {
        let spec = spec(
            "run",
            ToolEffect::Write,
            "Runs a command and waits for it. A non-zero exit is a result, not a failure. Background \
             processes are killed when the command ends. Of long output the beginning and the end are shown.",
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
        Self {
            spec,
            workdir,
            hidden_env,
        }
    }

    async fn run(&self, arguments: Arguments, call: &Invocation) -> Result<Value, ToolFault> {
        let cwd = self.open_cwd(&arguments.cwd)?;
        let mut command = self.command(&arguments, &cwd, &call.key());
        let bytes_max = budget(call, FIXED_BYTES);
        let timeout_ms = arguments
            .timeout_ms
            .unwrap_or(u64::MAX)
            .min(call.timeout_ms());
        let running = process::run(&mut command, arguments.stdin, bytes_max);
        let finished = tokio::time::timeout(Duration::from_millis(timeout_ms), running)
            .await
            .map_err(|_| ToolFault::timeout())?
            .map_err(|error| {
                let message = format!("{:?} could not be started: {error}", arguments.command);
                ToolFault::new(fault::SPAWN_FAILED, message)
            })?;
        Ok(report(finished, bytes_max))
    }

    fn open_cwd(&self, path: &str) -> Result<Dir, ToolFault> {
        let relative = self.workdir.relative(path)?;
        self.workdir
            .dir()
            .open_dir(relative)
            .map_err(|error| ToolFault::from_io(&error, path))
    }

    fn command(&self, arguments: &Arguments, cwd: &Dir, key: &str) -> Command {
        let mut command = match &arguments.args {
            Some(args) => {
                let mut program = Command::new(&arguments.command);
                program.args(args);
                program
            }
            None => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(&arguments.command);
                shell
            }
        };
        command.current_dir(path_of(cwd));
        for (name, _) in std::env::vars_os() {
            if self.is_hidden(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        // They would name the directory of this process.
        command.env_remove("PWD").env_remove("OLDPWD");
        command.env("BONDED_CALL", key);
        command
    }

    fn is_hidden(&self, name: &str) -> bool {
        let upper = name.to_ascii_uppercase();
        self.hidden_env.iter().any(|hidden| hidden == name)
            || ["_API_KEY", "_TOKEN"]
                .iter()
                .any(|end| upper.ends_with(end))
            || ["SECRET", "PASSWORD"]
                .iter()
                .any(|part| upper.contains(part))
    }
}

impl Tool for Run {
    fn spec(&self) -> &ToolSpec {
        &self.spec
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
fn report(finished: Finished, bytes_max: usize) -> Value {
    let (stdout, stderr) = show_both(finished.stdout, finished.stderr, bytes_max);
    json!({
        "exit": finished.status.code(),
        "signal": finished.status.signal(),
        "stdout": stdout.text,
        "stderr": stderr.text,
        "stdout_bytes": stdout.bytes,
        "stderr_bytes": stderr.bytes,
        "truncated": stdout.truncated || stderr.truncated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_look_like_secrets_or_are_named_are_hidden() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let workdir = Workdir::open(temp.path()).expect("it can be opened");
        let run = Run::new(Arc::new(workdir), vec!["NAMED".into()]);
        for (name, hidden) in [
            ("NAMED", true),
            ("NAMED_TOO", false),
            ("OPENAI_API_KEY", true),
            ("github_token", true),
            ("TOKEN_COUNT", false),
            ("MY_SECRET_VALUE", true),
            ("DB_PASSWORD", true),
            ("PATH", false),
        ] {
            assert_eq!(run.is_hidden(name), hidden, "{name}");
        }
    }
}
