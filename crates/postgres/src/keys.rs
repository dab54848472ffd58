//! The runs that this process holds, with what an append of theirs needs, and the states that a run can be in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{GoalId, RunId};

/// It waits for a worker.
pub(crate) const QUEUED: i16 = 0;
/// It waits for a person.
pub(crate) const WAITING: i16 = 2;
pub(crate) const ENDED: i16 = 3;
/// It is of no queue: who began it drives it, or who gave it another goal.
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
    /// Set where this process has ended the run: nobody needs to be told that it holds it no more.
    pub(crate) has_ended: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
pub(crate) struct HeldRuns(Mutex<HeldTable>);

#[derive(Debug, Default)]
struct HeldTable {
    runs: BTreeMap<RunId, HeldRun>,
    /// The claims that this process did not know of and gave back. An answer that comes later is that of such a claim.
    given_back: BTreeMap<RunId, i64>,
}

impl HeldRuns {
    fn table(&self) -> MutexGuard<'_, HeldTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, run: &RunId) -> Option<HeldRun> {
        self.table().runs.get(run).cloned()
    }

    pub(crate) fn holds(&self, run: &RunId, worker: i64) -> bool {
        let table = self.table();
        table.runs.get(run).is_some_and(|it| it.worker == worker)
    }

    /// Whether this process holds the run by this claim from now on: it does not where it gave the claim back, or has a later
    /// one, as another worker too. Who appends under an earlier claim keeps their turn.
    #[must_use]
    pub(crate) fn hold(&self, run: &RunId, held: HeldRun) -> bool {
        let mut table = self.table();
        if table
            .given_back
            .get(run)
            .is_some_and(|it| *it >= held.epoch)
        {
            return false;
        }
        table.given_back.remove(run);
        let known = table.runs.get(run);
        if known.is_some_and(|known| known.epoch > held.epoch) {
            return false;
        }
        let turn = known.map(|before| Arc::clone(&before.turn));
        let turn = turn.unwrap_or_else(|| Arc::clone(&held.turn));
        table.runs.insert(run.clone(), HeldRun { turn, ..held });
        true
    }

    /// Whether this process does not know that it holds the run by such a claim, and will not learn it any more.
    pub(crate) fn give_back(&self, run: &RunId, worker: i64, epoch: i64) -> bool {
        let mut table = self.table();
        let is_stray = table.runs.get(run).is_none_or(|it| it.worker != worker);
        if is_stray {
            table.given_back.insert(run.clone(), epoch);
        }
        is_stray
    }

    /// Forgets a claim that was lost or given up. The process may hold the run again under a later one, which is another
    /// driver's.
    pub(crate) fn forget_claim(&self, run: &RunId, lost: &HeldRun) {
        let mut table = self.table();
        let is_it = |known: &HeldRun| known.worker == lost.worker && known.epoch <= lost.epoch;
        if table.runs.get(run).is_some_and(is_it) {
            table.runs.remove(run);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table().runs.is_empty()
    }

    /// Forgets a run that has ended.
    pub(crate) fn forget(&self, run: &RunId) {
        let mut table = self.table();
        if let Some(held) = table.runs.remove(run) {
            held.has_ended.store(true, Ordering::Release);
        }
        table.given_back.remove(run);
    }
}
