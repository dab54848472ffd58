//! The action `run`: a run of an agent file under the id of the firing.
//!
//! The run has the id of the firing, so that a restart finds its log and goes on instead of beginning again. Where the
//! agent file and the directory lie is looked at when the run begins and not only when the rule was saved: meanwhile a
//! link may lead elsewhere, and the list of allowed directories may be another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Limits, ReportFormat, Run, RunId, TerminationKind};
use bonded_state::StoreError;
use bonded_workspace_rules::{Code, RunAction, RunEnd, RunMove};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;
use super::firing::{Firing, Performed, Performs};
use bonded_host::HostError;
use bonded_host::RunResult;
use bonded_host::agent::{Agent, AgentError, Assignment, Moment, Workplace};
use bonded_host::{Goal, Host, Queueing};

/// How much of an answer is kept with the run; the whole of it is in the log.
const ANSWER_CHARS_MAX: usize = 4000;

/// How often a store that is away is asked to end a run that was abandoned, and how long it is left alone in between.
const ABANDON_TRIES: u32 = 60;
const ABANDON_PAUSE: Duration = Duration::from_secs(1);

/// Drives agent files with a host.
pub struct AgentRuns {
    /// Drives the run, and keeps its log.
    pub host: Arc<Host>,
    /// What agents find around them; only the directory is replaced by that of the action.
    pub workplace: Workplace,
    /// Which places and providers rules may use.
    pub surroundings: Arc<HostSurroundings>,
    /// The limits that no agent speaks of.
    pub limits: Limits,
    /// What the clock, the machine and the user's account say.
    pub moment: fn() -> Moment,
    /// Where runs wait for a worker; without it they are driven here.
    pub queueing: Option<Queueing>,
}

impl std::fmt::Debug for AgentRuns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentRuns")
    }
}

impl AgentRuns {
    /// Where the agent file lies and where its tools work, looked at when the run begins: links may have come.
    fn places(&self, firing: &Firing, action: &RunAction) -> Result<(PathBuf, PathBuf), String> {
        let workspace = &firing.rule.draft.workspace_id;
        let find = |field: &str, path: &str| {
            let found = self.surroundings.place(workspace, path);
            found.map_err(|why| format!("{field}: {why}"))
        };
        let file = find("agent_file", &action.agent_file)?;
        let dir = match &action.dir {
            Some(dir) => find("dir", dir)?,
            None => {
                let above = file.parent().unwrap_or(&file).to_string_lossy();
                find("dir", &above)?
            }
        };
        Ok((file, dir))
    }

    /// The agent is loaded anew for each run, so that a change of its file counts from the next firing on.
    fn goal(
        &self,
        firing: &Firing,
        action: &RunAction,
        (file, dir): (PathBuf, PathBuf),
    ) -> Result<Goal, AgentError> {
        let workplace = Workplace {
            dir,
            ..self.workplace.clone()
        };
        let agent = Agent::load(&file, &workplace, BTreeMap::new())?;
        let mut limits = self.limits.clone();
        limits.elapsed_ms_max = action.timeout_ms.or(limits.elapsed_ms_max);
        agent.goal(Assignment {
            input: firing.request(),
            format: ReportFormat::Markdown,
            nonce: Host::draw_nonce(),
            now: (self.moment)(),
            limits,
            parent: None,
        })
    }

    /// A run that has a log is taken up as that says, whatever became of its file. One of a queue is followed: whoever
    /// queues it again after a crash changes nothing.
    async fn drive(
        &self,
        firing: &Firing,
        action: &RunAction,
        places: (PathBuf, PathBuf),
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let (id, queueing) = (&firing.run.run_id, self.queueing.as_ref());
        if self.host.store.head(id).await?.is_some() {
            return match queueing {
                Some(_) => self.host.resume_queued(id, cancel).await,
                None => self.host.resume(id, cancel).await,
            };
        }
        let goal = self.goal(firing, action, places);
        let goal = goal.map_err(|error| HostError::Agent(Box::new(error)))?;
        let Some(queueing) = queueing else {
            return self.host.run(id.clone(), goal, cancel).await;
        };
        // Of two that fire it at once, one begins it; both follow it.
        let whose = &firing.whose;
        self.host.queue(queueing, whose, id, goal).await?;
        self.host.resume_queued(id, cancel).await
    }
}

impl AgentRuns {
    /// What this server does not follow any more is not left to a worker.
    async fn end_queued(&self, firing: &Firing) {
        if self.queueing.is_some() {
            self.abandon(&firing.run.run_id, false).await;
        }
    }
}

impl Performs<RunAction> for AgentRuns {
    /// A place that may not be used fails the run as a wrong rule, before anything of it begins. A log that somebody
    /// else holds means that the run is driven elsewhere: it waits, and is looked at again.
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a RunAction,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            let places = match self.places(firing, action) {
                Ok(places) => places,
                Err(why) => {
                    self.end_queued(firing).await;
                    return Performed::failed(Code::RuleInvalid, &why);
                }
            };
            match Box::pin(self.drive(firing, action, places, cancel)).await {
                Ok(run) => performed(&run),
                // Whoever holds it lets go some time.
                Err(HostError::Store(StoreError::Held { .. })) => Performed::Waits,
                // Whether it was queued is not known, and a worker may drive it: it is looked at again.
                Err(HostError::Store(error)) if self.queueing.is_some() && error.may_pass() => {
                    Performed::Waits
                }
                Err(HostError::Agent(error)) if error.is_untrusted() => {
                    Performed::failed(Code::Untrusted, &error.to_string())
                }
                Err(error) => {
                    self.end_queued(firing).await;
                    Performed::failed(Code::RunNotStarted, &error.to_string())
                }
            }
        })
    }

    /// Ends the run and those that it started. That nobody can be told of a failure here does no harm: the run of the
    /// rule has ended anyway.
    fn abandon<'a>(&'a self, run: &'a RunId, _is_alone: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for _ in 0..ABANDON_TRIES {
                let reason = "the run of the rule was cancelled";
                match self.host.cancel_tree(run, reason).await {
                    // A worker would go on with it.
                    Err(HostError::Store(error)) if error.may_pass() => sleep(ABANDON_PAUSE).await,
                    // It may not have begun, or have ended by itself.
                    _ => return,
                }
            }
        })
    }
}

/// What a run that is not driven any more came to.
/// A run without a result waits for a person. Only a goal that was reached counts as success.
pub fn performed(run: &Run) -> Performed {
    let Some(result) = RunResult::of(run) else {
        return Performed::Waits;
    };
    let answer: String = result.reason.chars().take(ANSWER_CHARS_MAX).collect();
    let code = Code::of_end(result.termination);
    let end = RunEnd {
        error_code: code.map(|code| code.as_str().to_owned()),
        result_json: json!({
            "termination": result.termination.as_str(),
            "message": answer,
            "turns": result.turns,
            "elapsed_ms": result.elapsed_ms,
        }),
        audit: None,
    };
    Performed::Ended(match result.termination {
        TerminationKind::Done => RunMove::Succeeded(end),
        TerminationKind::Cancelled => RunMove::Cancelled(end),
        TerminationKind::Blocked
        | TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Fatal
        | TerminationKind::BudgetExhausted
        | TerminationKind::TimedOut
        | TerminationKind::Denied => RunMove::Failed(end),
    })
}
