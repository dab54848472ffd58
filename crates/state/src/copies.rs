//! Copies of logs from one store to another: what a store gives and takes beside [`Store`](crate::Store) for that.
//!
//! A run that has not ended is driven in one store only. Its log in the other is set aside: read like any other, and neither
//! claimed nor continued there.

use bonded_kernel::{GoalId, Head, RunId};
use futures_util::future::BoxFuture;

use crate::{Append, Holder, RunAside, StoreError, Submission};

/// How many bytes of long texts are read at once, unless one step has more.
pub const PART_BYTES: u64 = 8 * 1024 * 1024;

/// A run as it stands in a store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Grows with each run that begins.
    pub place: i64,
    /// Its id.
    pub run: RunId,
    /// What it was asked, by id.
    pub goal: GoalId,
    /// How far its log goes.
    pub head: Head,
    /// Whether the last entry says so.
    pub has_ended: bool,
    /// Who drives it.
    pub held: Holder,
    /// Why it is not continued here, if it is not.
    pub aside: Option<RunAside>,
    /// Where it waits, or waited before it was driven. None of a run that has ended.
    pub queued: Option<QueuedCopy>,
}

/// What a run has in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCopy {
    /// What it was queued with.
    pub submission: Submission,
    /// Whether a person must answer before a worker takes it.
    pub awaits_person: bool,
}

/// Steps of one run that were read.
#[derive(Clone, Debug)]
pub struct LogPart {
    /// The run.
    pub run: RunId,
    /// Each as it was appended. There may be more.
    pub steps: Vec<Append>,
    /// What is wrong with the log after them.
    pub fault: Option<StoreError>,
}

/// Steps of one run that are to be kept.
#[derive(Clone, Debug)]
pub struct CopiedPart {
    /// At least one, each following the one before.
    pub steps: Vec<Append>,
    /// The store that they are from.
    pub from: String,
    /// Where the run waits there.
    pub queued: Option<QueuedCopy>,
}

impl CopiedPart {
    /// The run whose steps they are.
    pub fn run(&self) -> &RunId {
        self.steps[0].run()
    }

    /// The head that they follow.
    pub fn before(&self) -> Head {
        self.steps[0].expected
    }

    /// The head after them.
    pub fn after(&self) -> Head {
        self.steps[self.steps.len() - 1].head
    }

    /// Whether the run ends with them.
    pub fn ends_run(&self) -> bool {
        self.steps[self.steps.len() - 1].ends_run()
    }
}

/// What a store does for copies, from it and into it.
pub trait RunCopies: Send + Sync {
    /// Its name for people, without what is secret.
    fn label(&self) -> String;

    /// Two handles on one store have the same, however it was named.
    fn identity(&self) -> BoxFuture<'_, Result<String, StoreError>>;

    /// The runs after this place, in the order of their places; 0 is before all of them.
    fn runs_after(
        &self,
        place: i64,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>>;

    /// Those of these runs that the store has, in any order.
    fn runs_named(&self, runs: Vec<RunId>) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>>;

    /// The head that the log had when it went as far as this entry; `None` where no append ended there.
    fn head_at<'a>(
        &'a self,
        run: &'a RunId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>>;

    /// The steps of each run after a head that it had, in the order of the question, their chains and long texts checked. Not
    /// many more than `steps_max` together, and not many more bytes of long texts than [`PART_BYTES`]; but at least one of the
    /// first run that has any.
    fn read_steps(
        &self,
        after: Vec<(RunId, Head)>,
        steps_max: usize,
    ) -> BoxFuture<'_, Result<Vec<LogPart>, StoreError>>;

    /// Makes steps durable, each part whole or not at all, and says of each whether it was. Nobody drives the runs meanwhile:
    /// one that has not ended is set aside as a copy, and a part of one that is driven here is refused.
    fn add_copies(
        &self,
        parts: Vec<CopiedPart>,
    ) -> BoxFuture<'_, Result<Vec<Result<(), StoreError>>, StoreError>>;

    /// Sets a run aside that nobody drives, and gives its head, which stays; `None` where it has ended.
    fn set_aside<'a>(
        &'a self,
        run: &'a RunId,
        aside: RunAside,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>>;

    /// Has a run that is set aside continued here from now on. Any other stays as it is.
    fn let_go<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>>;
}
