//! The action `work`: a plan, run by a process of this program.
//!
//! A process of its own, because only one that has a single thread can make mounts that nobody else sees, and because
//! a plan that was interrupted goes on from its own records, whoever resumes it. The plan's id follows from the run:
//! whoever takes the run up asks for the same plan, and hears what came of it also where it has ended meanwhile.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Hash, RunId};
use bonded_workspace_rules::{Code, RunEnd, RunMove, RunStatus, WorkAction};
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;
use super::firing::{Firing, Performed, Performs};

/// What is read of each of its outputs, in bytes.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// How much of what it said on standard error is kept with the run.
const MESSAGE_CHARS_MAX: usize = 4000;
/// How long a process may take to end after it was told to.
const END_AFTER: Duration = Duration::from_secs(30);
/// How long it waits for a tree that another plan is on.
const WAIT_MS: &str = "60000";
/// The exit code of a plan that waits for a person.
const WAITS: i32 = 6;
/// The exit code where the tree or the store failed or is in use.
const FAILED: i32 = 3;
/// The exit code where the arguments or a configuration are refused.
const REFUSED: i32 = 4;
/// Digits of the hash that name the plan.
const PLAN_ID_DIGITS: usize = 12;

/// Works plans off with this program.
#[derive(Clone, Debug)]
pub struct WorkProcess {
    /// The file of this very program.
    pub program: PathBuf,
    /// The log of runs: a file, or the address of a server.
    pub store: PathBuf,
    /// Beside those of this process.
    pub variables: Vec<(String, String)>,
    /// Which places the rules may use.
    pub surroundings: Arc<HostSurroundings>,
}

/// What a process left behind.
struct ProcessOutput {
    code: Option<i32>,
    output: String,
    message: String,
}

impl ProcessOutput {
    /// Whether another process works on the tree.
    fn is_busy(&self) -> bool {
        self.code == Some(FAILED) && self.message.contains("error[tree-busy]")
    }

    /// Whether nobody trusts what was found in the tree, or beside the agent.
    fn is_untrusted(&self) -> bool {
        self.code == Some(REFUSED) && self.message.contains("error[untrusted]")
    }
}

/// The plan of a run: always the same one.
pub fn plan_of_run(run: &RunId) -> String {
    let name = Hash::of(run.as_str().as_bytes()).to_string();
    name.chars().take(PLAN_ID_DIGITS).collect()
}

impl WorkProcess {
    /// The places are judged again now, and given without links. Nothing of a rule becomes an option: every text stands
    /// behind its own flag, but for the plan, which is an absolute path.
    fn command(&self, firing: &Firing, action: &WorkAction) -> Result<Command, String> {
        let workspace = &firing.rule.draft.workspace_id;
        let find = |field: &str, path: &str| {
            let found = self.surroundings.place(workspace, path);
            found.map_err(|why| format!("{field}: {why}"))
        };
        let (repo, plan) = (find("repo", &action.repo)?, find("plan", &action.plan)?);
        let mut command = Command::new(&self.program);
        command.args(["work", "--json", "--wait-ms", WAIT_MS]);
        command.arg("--repo").arg(repo);
        command
            .arg("--plan-id")
            .arg(plan_of_run(&firing.run.run_id));
        if let Some(file) = &action.agent_file {
            command.arg("--agent").arg(find("agent_file", file)?);
        }
        command.arg(plan);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command
            .envs(variables)
            // Not as an argument, which every user of the machine can read: there may be a password in it.
            .env("BONDED_STORE", &self.store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What is let go of is resumed by whoever runs the engine next.
            .kill_on_drop(true);
        Ok(command)
    }
}

impl Performs<WorkAction> for WorkProcess {
    /// The tree may still be held by a process that a dead server left behind; only a run that is taken up waits for
    /// that, again and again, until it is let go of or cancelled.
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a WorkAction,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            let is_taken_up = firing.run.status != RunStatus::Queued;
            let left = loop {
                let command = self.command(firing, action);
                let mut command = match command {
                    Ok(command) => command,
                    Err(why) => return Performed::failed(Code::RuleInvalid, &why),
                };
                let left = match command.spawn() {
                    Ok(child) => wait(child, &cancel).await,
                    Err(error) => Err(error),
                };
                // The server before this one is dead, and the process that it began may still be on the tree.
                let is_busy = left.as_ref().is_ok_and(ProcessOutput::is_busy);
                if !is_busy || !is_taken_up || cancel.is_cancelled() {
                    break left;
                }
            };
            match left {
                Ok(left) => performed(&left, cancel.is_cancelled()),
                Err(error) => {
                    let message = format!("{} could not be run: {error}", self.program.display());
                    Performed::failed(Code::WorkNotStarted, &message)
                }
            }
        })
    }
}

/// Told to end, it has some time to do so in good order; after that it is killed.
async fn wait(mut child: Child, cancel: &CancellationToken) -> std::io::Result<ProcessOutput> {
    let (output, message) = (child.stdout.take(), child.stderr.take());
    let read = async { tokio::join!(read(output), read(message)) };
    let cancelled = async {
        cancel.cancelled().await;
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        // It may have ended by itself meanwhile.
        let _ = id.map(|id| kill_process(id, Signal::TERM));
        tokio::time::sleep(END_AFTER).await;
    };
    let (output, message) = tokio::select! {
        read = read => read,
        () = cancelled => {
            child.start_kill()?;
            (String::new(), "it did not end when it was told to".into())
        }
    };
    let code = child.wait().await?.code();
    Ok(ProcessOutput {
        code,
        output,
        message,
    })
}

/// What a pipe gives, up to a limit; the rest is read and left aside, so that the process does not wait for a reader.
async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut kept = vec![];
    let read = (&mut pipe)
        .take(OUTPUT_BYTES_MAX)
        .read_to_end(&mut kept)
        .await;
    if read.is_ok() {
        // What cannot be read any more has no one who would miss it.
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// By the exit code; the output is kept with the run where it is JSON.
fn performed(left: &ProcessOutput, is_cancelled: bool) -> Performed {
    let results: Value = serde_json::from_str(&left.output).unwrap_or(Value::Null);
    let message: String = left.message.chars().take(MESSAGE_CHARS_MAX).collect();
    let end = |code: Option<Code>| RunEnd {
        error_code: code.map(|code| code.as_str().to_owned()),
        result_json: json!({ "results": results, "message": message }),
        audit: None,
    };
    Performed::Ended(match left.code {
        Some(0) => RunMove::Succeeded(end(None)),
        Some(WAITS) => return Performed::Waits,
        _ if is_cancelled => RunMove::Cancelled(end(Some(Code::Cancelled))),
        _ if left.is_untrusted() => RunMove::Failed(end(Some(Code::Untrusted))),
        _ => RunMove::Failed(end(Some(Code::WorkFailed))),
    })
}
