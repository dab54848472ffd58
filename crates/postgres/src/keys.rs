//! The runs that this process holds, with what an append of theirs needs, and the states that a run can be in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{GoalId, RunId};

/// It waits for a worker.
pub(crate) const QUEUED: i16 = 0;
/// It waits for a person.
pub(crate) const WAITING: i16 = 2;
pub(crate) const ENDED: i16 = 3;
/// It was not queued: who began it drives it.
pub(crate) const UNQUEUED: i16 = 4;
/// It is set aside: the state that it had before, and this.
pub(crate) const ASIDE: i16 = 10;

/// A run's number.
pub(crate) type RunNumber = i64;

/// A run that this process holds, or believes to hold.
#[derive(Clone, Debug)]
pub(crate) struct HeldRun {
    pub(crate) key: RunNumber,
    pub(crate) goal: GoalId,
    /// As which of its workers this process holds it.
    pub(crate) worker: i64,
    /// The claim by which it does.
    pub(crate) epoch: i64,
    /// Held by who appends to the run; the others of this process follow in their order.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct HeldRuns(Mutex<BTreeMap<RunId, HeldRun>>);

impl HeldRuns {
    fn all(&self) -> MutexGuard<'_, BTreeMap<RunId, HeldRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, run: &RunId) -> Option<HeldRun> {
        self.all().get(run).cloned()
    }

    /// Who appends under an earlier claim keeps their turn. A claim that is known only now may be an earlier one.
    pub(crate) fn hold(&self, run: &RunId, held: HeldRun) {
        let mut all = self.all();
        let is_earlier = |known: &HeldRun| known.worker == held.worker && known.epoch > held.epoch;
        if all.get(run).is_some_and(is_earlier) {
            return;
        }
        let turn = all.get(run).map(|before| Arc::clone(&before.turn));
        let turn = turn.unwrap_or_else(|| Arc::clone(&held.turn));
        all.insert(run.clone(), HeldRun { turn, ..held });
    }

    /// Forgets a claim that was lost. The process may hold the run again under a later one, which is another driver's.
    pub(crate) fn forget_lost(&self, run: &RunId, lost: &HeldRun) {
        let mut all = self.all();
        let is_it = |known: &HeldRun| known.worker == lost.worker && known.epoch <= lost.epoch;
        if all.get(run).is_some_and(is_it) {
            all.remove(run);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    pub(crate) fn forget(&self, run: &RunId) {
        self.all().remove(run);
    }
}
