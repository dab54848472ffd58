//! Runs that are queued where they begin, and driven by whichever worker takes them.
//!
//! What is checked before a run begins is checked where it is queued: its goal, its settings, its tools. What it is bound
//! to is its first entry, and a worker needs no more. Who has queued it follows the log until the run ends or waits for a
//! person, and ends it through the log; nothing here drives.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Entry, Run, RunId, replay_on};
use bonded_state::{RunQueues, StoreError, Submission};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::agent::AgentTools;
use crate::driver::{AskedGoal, GoalTexts};
use crate::error::HostError;
use crate::host::{Goal, Host};
use crate::load::{PART_ENTRIES, load_run};
use crate::review::{PendingReview, called_by};

/// How often the agents that a run has called are looked at: one that waits for a person leaves no entry in the log of its
/// caller.
const CALLED_LOOK: Duration = Duration::from_millis(500);

/// How long a store that fails is left alone before it is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the runs of a surface wait for a worker.
#[derive(Clone, Debug)]
pub struct Queueing {
    /// The queue.
    pub queue: String,
    /// The labels that a worker must have.
    pub needs: Vec<String>,
    /// Says what a machine must have at hand for a run.
    pub tools: Arc<AgentTools>,
}

impl Host {
    /// The queues of the store.
    fn queues(&self) -> Result<&dyn RunQueues, HostError> {
        self.store.queues().ok_or(HostError::NoQueues)
    }

    /// Queues a run for a worker. Says whether it was begun by that: there may be one of this id already, which is left as it
    /// is.
    pub async fn queue(
        &self,
        queueing: &Queueing,
        submitter: &str,
        id: &RunId,
        goal: Goal,
    ) -> Result<bool, HostError> {
        let queues = self.queues()?;
        let at_hand = queueing.tools.at_hand(&goal.config);
        let at_hand = at_hand.map_err(|error| HostError::Agent(Box::new(error)))?;
        let agent = goal.config.agent.as_ref();
        let submission = Submission {
            queue: queueing.queue.clone(),
            submitter: submitter.to_owned(),
            needs: queueing.needs.clone(),
            dir: match &goal.config.item {
                // Its worker makes a copy of the tree, wherever it has a place for that.
                Some(_) => "/".into(),
                None => goal.config.dir.clone(),
            },
            at_hand: at_hand.iter().map(ToString::to_string).collect(),
            agent: agent.map(|agent| agent.name.clone()).unwrap_or_default(),
        };
        let first = self.first_entry(id, goal).await?;
        Ok(queues.submit([first].into(), submission).await?)
    }

    /// Queues a run under an id that a caller chose, or joins the one that has it already, and follows it to its end, or until
    /// it waits for a person. One that has begun and is of no queue is driven here.
    ///
    /// The same goal must be given again, as with [`run_as`](Self::run_as).
    pub async fn run_queued(
        &self,
        queueing: &Queueing,
        submitter: &str,
        id: RunId,
        goal: Goal,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let mask = self.secrets.mask_of(&goal.config);
        let (text, _) = GoalTexts::new(goal.text.clone(), goal.system.clone(), &mask).kept();
        let images = goal.images.clone();
        let asked = AskedGoal { text, images };
        let is_new = self.store.head(&id).await?.is_none();
        if is_new && self.interrupt.is_cancelled() {
            // A process that is about to end leaves no run to workers for which nobody waits.
            return Err(HostError::Interrupted { run: id });
        }
        if is_new {
            match self.queue(queueing, submitter, &id, goal).await {
                Ok(true) => return self.follow(&id, None, cancel).await,
                // Somebody else was faster with this id.
                Ok(false) => {}
                // A worker may drive it, and who asked for it may go away.
                Err(HostError::Store(error)) if error.may_pass() => {
                    return self.follow(&id, Some(error), cancel).await;
                }
                Err(error) => return Err(error),
            }
        }
        if !asked.is_of(&load_run(&*self.store, &id).await?) {
            return Err(HostError::OtherGoal { run: id });
        }
        self.resume_queued(&id, cancel).await
    }

    /// Follows a run that has begun, if it is one of a queue; drives it if it is not.
    pub async fn resume_queued(
        &self,
        id: &RunId,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        if self.queues()?.is_of_a_queue(id).await? {
            return self.follow(id, None, cancel).await;
        }
        let run = load_run(&*self.store, id).await?;
        match run.termination() {
            Some(_) => Ok(run),
            None => Box::pin(self.resume(id, cancel)).await,
        }
    }

    /// Waits until a run that others drive has ended or waits for a person. Who cancels it ends it, wherever it is driven;
    /// when this process is about to end, it is left to its worker. A store that is away is waited for: the run goes on.
    /// Where it is not known whether the run was queued, `doubt` says why: that is the answer if it was not.
    async fn follow(
        &self,
        id: &RunId,
        doubt: Option<StoreError>,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let mut known = None;
        loop {
            let looked = tokio::select! {
                biased;
                () = self.interrupt.cancelled() => {
                    return Err(HostError::Interrupted { run: id.clone() });
                }
                () = cancel.cancelled() => self.end_followed(id).await.map(Some),
                looked = self.look_at(id, &mut known) => looked,
            };
            match (looked, &doubt) {
                (Ok(Some(run)), _) => return Ok(run),
                (Ok(None), _) => {}
                (Err(HostError::Store(StoreError::UnknownRun { .. })), Some(doubt)) => {
                    return Err(doubt.clone().into());
                }
                (Err(HostError::Store(error)), _) if error.may_pass() => sleep(PAUSE).await,
                (Err(error), _) => return Err(error),
            }
        }
    }

    async fn end_followed(&self, id: &RunId) -> Result<Run, HostError> {
        Box::pin(self.cancel_waiting(id, "cancelled by the user")).await
    }

    /// The run, if it has ended or waits for a person; what is known of it is kept for the next look.
    async fn look_at(&self, id: &RunId, known: &mut Option<Run>) -> Result<Option<Run>, HostError> {
        let run = match known {
            Some(run) => run,
            None => known.insert(load_run(&*self.store, id).await?),
        };
        let is_over = self.look(run).await?;
        Ok(if is_over { known.take() } else { None })
    }

    /// Whether the run has ended or waits for a person; if not, when there may be something new.
    async fn look(&self, run: &mut Run) -> Result<bool, HostError> {
        let is_over = run.termination().is_some();
        if is_over || PendingReview::of(&*self.store, run).await?.is_some() {
            return Ok(true);
        }
        tokio::select! {
            changed = self.store.changed(run.id(), run.head().seq) => changed?,
            () = sleep(CALLED_LOOK), if !called_by(run).is_empty() => {}
        }
        let mut part = self.part_after(run).await?;
        while !part.is_empty() {
            replay_on(run, &part).map_err(|source| HostError::BadLog {
                run: run.id().clone(),
                source,
            })?;
            part = self.part_after(run).await?;
        }
        Ok(false)
    }

    async fn part_after(&self, run: &Run) -> Result<Vec<Entry>, HostError> {
        let after = run.head().seq;
        let part = self.store.load_part(run.id(), after, PART_ENTRIES).await?;
        Ok(part)
    }
}
