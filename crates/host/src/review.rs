//! Calls that wait for a person: which one it is, and what the person says of it.
//!
//! A verdict is an entry of the log like any other, and names the digest of the call: what was shown to
//! a person is what is approved, and nothing else. It is bound to no process; the run may be resumed
//! anywhere.

use bonded_kernel::{self as kernel, Effect, Input, Run, RunId, Verdict, WaitingCall};
use bonded_state::StoreError;

use crate::accounting::child_id;
use crate::error::HostError;
use crate::host::Host;
use crate::load::load_run;

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingReview {
    /// The run whose call it is: the one that was asked for, or one below it.
    pub run: RunId,
    /// What would be executed, why a person is asked, and the digest to answer with.
    pub call: WaitingCall,
}

/// What came of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reviewed {
    /// It is in the log; the run goes on when it is resumed.
    Recorded,
    /// The call did not wait any more; nothing was recorded.
    TooLate,
}

/// The runs of the agents whose calls are under way.
///
/// Only calls that are under way: an agent that has answered is no part of it.
pub(crate) fn called_by(run: &Run) -> Vec<RunId> {
    let Effect::Invoke(first) = kernel::next(run) else {
        return vec![];
    };
    let mut under_way = vec![first];
    under_way.extend(kernel::beside(run));
    let agents = under_way
        .iter()
        .filter(|it| run.sub_agent(it.tool()).is_some());
    agents.map(|it| child_id(&it.key())).collect()
}

impl PendingReview {
    /// Finds the call that a run waits for: its own, or that of an agent that it called.
    pub async fn of(store: &dyn bonded_state::Store, run: &Run) -> Result<Option<Self>, HostError> {
        if let Some(call) = run.waiting_call() {
            let run = run.id().clone();
            return Ok(Some(Self { run, call }));
        }
        for child in called_by(run) {
            if store.head(&child).await?.is_none() {
                continue;
            }
            let child = load_run(store, &child).await?;
            if let Some(waiting) = Box::pin(Self::of(store, &child)).await? {
                return Ok(Some(waiting));
            }
        }
        Ok(None)
    }
}

impl Host {
    /// Records what a person says of a call that waits. It does not drive the run: see
    /// [`resume`](Self::resume).
    ///
    /// Tried again where somebody else wrote at the same moment. The person's words are masked before
    /// they enter the log.
    pub async fn review(
        &self,
        waiting: &PendingReview,
        verdict: Verdict,
        by: &str,
    ) -> Result<Reviewed, HostError> {
        loop {
            let mut run = self.load(&waiting.run).await?;
            let mask = self.secrets.mask_of(run.config());
            let verdict = match &verdict {
                Verdict::Approved => Verdict::Approved,
                Verdict::Denied { reason } => Verdict::Denied {
                    reason: mask.text(reason).into(),
                },
            };
            let input = Input::Reviewed {
                turn: waiting.call.turn,
                call: waiting.call.call,
                digest: Some(waiting.call.digest),
                verdict,
                by: by.to_owned(),
            };
            let step = kernel::step(&mut run, self.clock.now(), input);
            if step.entries().is_empty() {
                return Ok(Reviewed::TooLate);
            }
            let (before, after) = (step.before(), step.after());
            let entries = step.entries().clone();
            match self.store.append_as_guest(before, entries).await {
                Ok(_) => {}
                // Somebody else wrote: what the log says now decides.
                Err(StoreError::Conflict { .. }) => continue,
                // A store may fail after its commit.
                Err(error) => match self.store.head(&waiting.run).await? {
                    Some(head) if head == after => {}
                    _ => return Err(error.into()),
                },
            }
            self.wake_root(&run).await;
            return Ok(Reviewed::Recorded);
        }
    }

    /// A verdict queues the run that asked. One that was called by another is driven with that, which was set aside.
    async fn wake_root(&self, run: &Run) {
        if let (Some(queues), Some(parent)) = (self.store.queues(), &run.config().parent) {
            // Workers look at it again after a while in any case.
            let _woken = queues.wake(&parent.origin).await;
        }
    }

    /// The run at the root of the tree that a run hangs in: the one to resume after a verdict.
    pub async fn root_of(&self, run: &RunId) -> Result<RunId, HostError> {
        let run = self.load(run).await?;
        let parent = run.config().parent.as_ref();
        Ok(parent.map_or_else(|| run.id().clone(), |parent| parent.origin.clone()))
    }
}
