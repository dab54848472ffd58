//! Agents that other agents call: a run of its own under an id that follows from the call, so that a call
//! that is made again after a crash finds the run of the first time.
//!
//! A called agent works in the directory of its caller, within what the caller has left of its time,
//! tokens and money, and under the caller's policy besides its own. Neither can be widened by the
//! agent's file.
//!
//! What a child costs is told to its caller with its answer and counts against the caller's budget. A
//! child that waits for a person makes its caller wait, up to the first.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{
    Invocation, Outcome, Parent, ReportFormat, Run, RunId, Spent, SubAgent, TerminationKind,
    ToolOutput,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::accounting::child_id;
use crate::agent::{Agent, AgentError, Assignment, ChildArguments, Moment, Workplace};
use crate::config::options::Given;
use crate::config::policy;
use crate::error::HostError;
use crate::host::{Children, Goal, Host};
use crate::review::{PendingReview, called_by};

/// Loads agents from a place and hands down what their callers leave of their budgets.
pub struct WorkplaceChildren {
    workplace: Workplace,
    /// Asked at every call, so that a long run's children know the day.
    moment: Arc<dyn Fn() -> Moment + Send + Sync>,
}

impl std::fmt::Debug for WorkplaceChildren {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkplaceChildren")
    }
}

impl WorkplaceChildren {
    /// `moment` says what time it is whenever an agent is called.
    pub fn new(workplace: Workplace, moment: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self {
            workplace,
            moment: Arc::new(moment),
        }
    }

    /// The place in which what was said for all agents holds.
    ///
    /// What the log hands down counts more than what this process was started with: the run may have
    /// been taken up without its flags.
    fn workplace_of(&self, caller: &Run) -> Workplace {
        let agent = caller.config().agent.as_ref();
        let handed = agent.and_then(|agent| agent.handed_down.as_deref());
        handed.map_or_else(
            || self.workplace.clone(),
            |handed| self.workplace.handing_down(handed),
        )
    }

    /// What the command line told the first agent, and the caller's models, for those that say nothing.
    ///
    /// A script is named by its path, since its target has no model of its own.
    fn inherited(workplace: &Workplace, caller: &Run) -> BTreeMap<String, Given> {
        let mut inherited = workplace.options_for_all();
        let names = caller
            .config()
            .targets
            .iter()
            .map(|target| match target.provider.as_str() {
                crate::provider::SCRIPT => format!("script:{}", target.endpoint),
                provider => format!("{provider}/{}", target.model),
            });
        let names: Vec<String> = names.collect();
        inherited.entry("models".into()).or_insert_with(|| Given {
            value: names.join(",").into(),
            place: "the calling agent".into(),
        });
        inherited
    }
}

impl Children for WorkplaceChildren {
    fn goal(&self, caller: &Run, agent: &SubAgent, arguments: &str) -> Result<Goal, AgentError> {
        let above_all = self.workplace_of(caller);
        let workplace = Workplace {
            dir: caller.config().dir.clone().into(),
            ..above_all.for_children()
        };
        let path = Path::new(&agent.file);
        let loaded = Agent::load(path, &workplace, Self::inherited(&above_all, caller))?;
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let given = ChildArguments::of(&arguments, &loaded.file);
        let above = caller.config();
        let own_name = above.agent.as_ref().map_or("agent", |it| it.name.as_str());
        let path = match &above.parent {
            Some(parent) => parent.path.clone(),
            None => own_name.to_owned(),
        };
        let parent = Parent {
            run: caller.id().clone(),
            origin: above
                .parent
                .as_ref()
                .map_or(caller.id(), |it| &it.origin)
                .clone(),
            path: format!("{path}:{}", loaded.name),
        };
        let nonce = Host::draw_nonce();
        let mut goal = loaded.goal(Assignment {
            input: given.input,
            format: ReportFormat::SubAgent,
            nonce: nonce.clone(),
            now: (self.moment)(),
            limits: caller.limits_left_for_each(),
            parent: Some(parent),
        })?;
        let own = goal.config.policy.take();
        goal.config.policy = policy::below(own, caller, &nonce);
        goal.config.confine_to_policy();
        // What was said for all agents holds for those that are called from there as well.
        if let Some(called) = &mut goal.config.agent
            && called.handed_down.is_some()
        {
            called.handed_down = Some(Box::new(above_all.handed_down()));
        }
        Ok(goal)
    }
}

impl Host {
    /// Ends a run as cancelled, and where it waits for a person in an agent that it called, that one too:
    /// nobody drives them who would.
    pub async fn cancel_waiting(&self, id: &RunId, reason: &str) -> Result<Run, HostError> {
        let run = self.load(id).await?;
        if PendingReview::of(&*self.store, &run).await?.is_some() {
            self.cancel_tree(id, reason).await?;
        }
        self.cancel(id, reason).await
    }

    /// Ends a run and the agents that it has called, from the lowest up: none of them goes on by itself.
    ///
    /// The caller last: until then it is what shows that its children belong to it.
    pub async fn cancel_tree(&self, id: &RunId, reason: &str) -> Result<(), HostError> {
        let run = self.load(id).await?;
        for child in called_by(&run) {
            if self.store.head(&child).await?.is_some() {
                Box::pin(self.cancel_tree(&child, reason)).await?;
            }
        }
        self.cancel(id, reason).await.map(drop)
    }
}

impl Host {
    /// Runs an agent as the call of another one. `None` where it waits for a person: its caller waits with it.
    ///
    /// What goes wrong with the child is the output of a failed call, and the caller's model reads it.
    pub(crate) async fn call_agent(
        &self,
        caller: &Run,
        agent: &SubAgent,
        invocation: &Invocation,
        cancel: CancellationToken,
    ) -> Option<ToolOutput> {
        let started = self.clock.now();
        let mut output = match self.run_child(caller, agent, invocation, cancel).await {
            Ok(run) => answer(&run)?,
            // Nothing came of it yet: the caller is let go of as well.
            Err(_) if self.is_ending() => return None,
            Err(why) => ToolOutput {
                outcome: Outcome::Failed,
                text: format!("(tool failed: {why})"),
                ..ToolOutput::default()
            },
        };
        output.latency_ms = self.clock.now() - started;
        Some(output)
    }

    /// The id follows from the call, so that after a crash the same call finds the run that it began.
    /// Arguments that held a secret are not in the log: such a call can be taken up and not begun
    /// again.
    async fn run_child(
        &self,
        caller: &Run,
        agent: &SubAgent,
        invocation: &Invocation,
        cancel: CancellationToken,
    ) -> Result<Run, String> {
        let children = self
            .children
            .as_ref()
            .ok_or("agents cannot be called here")?;
        let goal = children
            .goal(caller, agent, invocation.arguments())
            .map_err(|error| error.to_string())?;
        let id = child_id(&invocation.key());
        if !invocation.is_as_written() {
            // It began while the arguments were known, or it cannot begin.
            let begun = self
                .store
                .head(&id)
                .await
                .map_err(|error| error.to_string())?;
            begun.ok_or("not executed: the arguments held a secret, which is not kept")?;
        }
        // An agent that calls an agent is a future inside itself.
        let run = Box::pin(self.run_as(id, goal, cancel));
        run.await.map_err(|error| error.to_string())
    }
}

/// What a run came to; `None` where it waits and has not ended.
///
/// The text of the report, or its JSON where it has some. An agent that read something untrusted marks
/// its caller.
fn answer(run: &Run) -> Option<ToolOutput> {
    let spend = run.spend();
    let termination = run.termination()?;
    let (outcome, text) = match termination.kind {
        TerminationKind::Done => {
            let json = run.report().and_then(|report| report.content_json);
            let text = json.map_or_else(|| termination.reason().to_string(), |it| it.to_string());
            (Outcome::Ok, text)
        }
        kind @ (TerminationKind::Blocked
        | TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Cancelled
        | TerminationKind::Fatal
        | TerminationKind::BudgetExhausted
        | TerminationKind::TimedOut
        | TerminationKind::Denied) => {
            let (kind, reason) = (kind.as_str(), termination.reason());
            let text = format!("(tool failed: agent ended as {kind}: {reason})");
            (Outcome::Failed, text)
        }
    };
    Some(ToolOutput {
        outcome,
        text,
        spent: Some(Spent {
            usage: spend.usage,
            cost: spend.cost,
            held: spend.held,
        }),
        marked: run.marked_by().is_some(),
        ..ToolOutput::default()
    })
}
