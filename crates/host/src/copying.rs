//! Copies all runs of one store to another, where each then has the same log, entry for entry.
//!
//! Nothing is claimed: what is driven meanwhile is copied as far as it goes. What is there already is compared by its head and
//! not copied again, so that a copy which was stopped is simply made again. A run that has not ended continues in one store
//! only: the copy of it is set aside, or, where runs are moved, the original is, before the copy is let go.

mod passage;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bonded_kernel::{Head, RunId};
use bonded_state::{Holder, RunAside, RunCopies, Store, StoreError, StoredRun};

use passage::Passage;

/// How many runs are looked at together.
const PAGE_RUNS: usize = 256;

/// What a copy came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyTally {
    /// The runs that were looked at.
    pub runs: u64,
    /// Those of them of which something was copied.
    pub copied: u64,
    /// The entries that were copied.
    pub entries: u64,
    /// The logs that were read again where they were copied to, and are what they were.
    pub verified: u64,
    /// The runs that have not ended and are set aside where they were copied to.
    pub set_aside: u64,
    /// The runs that have not ended and continue where they were copied to.
    pub moved: u64,
    /// Those of them that waited in a queue, and wait in none now.
    pub left_queue: u64,
    /// The runs that have not ended and continue in a third store.
    pub moved_elsewhere: u64,
    /// The runs that are driven, so that their logs go on.
    pub driven: u64,
    /// The runs of which a log is damaged.
    pub damaged: u64,
    /// The runs whose logs differ.
    pub diverged: u64,
}

/// Why a run is not the same in both stores.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CopyFinding {
    /// It is driven where it is copied from; it was copied as far as it went.
    #[error("it is driven just now, and copied up to entry {0}")]
    Driven(u64),
    /// It is driven where it is copied to, so that nothing can be added.
    #[error("it is driven in the store to copy to")]
    DrivenThere,
    /// Its log was changed there meanwhile, for instance by another copy.
    #[error("its log was changed in the store to copy to meanwhile")]
    ChangedThere,
    /// Its log cannot be read where it is copied from.
    #[error("it was not copied: {0}")]
    Damaged(String),
    /// What was copied cannot be read, or is something else.
    #[error("its copy is not what was copied: {0}")]
    NotVerified(String),
    /// It was moved before, to a store of another name.
    #[error("it was moved to {0}, which continues it; this is one more copy")]
    MovedElsewhere(String),
    /// The log there is not the beginning of this one.
    #[error(
        "the logs differ: entry {seq} of the store to copy to is not an entry of the store to copy from"
    )]
    Diverged {
        /// The last entry there.
        seq: u64,
    },
}

/// Why a copy was not finished.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CopyError {
    /// Both are the same.
    #[error("both are the same store")]
    SameStore,
    /// One of them cannot be copied from or to.
    #[error("a store of this kind cannot be copied")]
    NotCopied,
    /// One of them failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Is told how a copy goes.
pub trait CopyWatch: Send + Sync {
    /// What was done so far.
    fn progress(&self, tally: &CopyTally);

    /// Something about a run that a person should know.
    fn finding(&self, run: &RunId, finding: &CopyFinding);
}

/// How a copy is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// Runs that have not ended continue where they are copied to.
    pub moves: bool,
    /// Logs that are there already are read again too.
    pub checks_all: bool,
}

/// Copies the runs of `from` to `to`, those that began first before the others.
pub async fn copy_store(
    from: &dyn Store,
    to: &dyn Store,
    options: CopyOptions,
    watch: &dyn CopyWatch,
) -> Result<CopyTally, CopyError> {
    let (Some(source), Some(target)) = (from.copies(), to.copies()) else {
        return Err(CopyError::NotCopied);
    };
    if source.identity().await? == target.identity().await? {
        return Err(CopyError::SameStore);
    }
    let mut copying = StoreCopy {
        from: source,
        to: target,
        has_queues: to.queues().is_some(),
        options,
        watch,
        tally: CopyTally::default(),
    };
    let mut place = 0;
    loop {
        let page = source.runs_after(place, PAGE_RUNS).await?;
        let Some(last) = page.last() else {
            break;
        };
        place = last.place;
        copying.copy_page(page).await?;
    }
    // What was found there, and was perhaps kept for a moment only, is as durable as this when it is answered.
    to.try_writing().await?;
    Ok(copying.tally)
}

struct StoreCopy<'a> {
    from: &'a dyn RunCopies,
    to: &'a dyn RunCopies,
    has_queues: bool,
    options: CopyOptions,
    watch: &'a dyn CopyWatch,
    tally: CopyTally,
}

/// A run on its way.
struct CopiedRun {
    /// As it is in the store that it is copied from.
    here: StoredRun,
    /// How far the other store has its log.
    at: Head,
    /// Why the other store does not continue it, if it had it before and does not.
    aside_there: Option<RunAside>,
    /// Whether something was added.
    is_new: bool,
    /// How far its copy was read again.
    verified: Head,
    /// Nothing more can be done for it.
    is_over: bool,
}

impl CopiedRun {
    /// Whether the other store has all that this one had when it was looked at.
    fn is_complete(&self) -> bool {
        self.at.seq >= self.here.head.seq
    }
}

impl StoreCopy<'_> {
    async fn copy_page(&mut self, page: Vec<StoredRun>) -> Result<(), CopyError> {
        let names = page.iter().map(|it| it.run.clone()).collect();
        let there = self.to.runs_named(names).await?;
        let mut there: BTreeMap<RunId, StoredRun> =
            there.into_iter().map(|it| (it.run.clone(), it)).collect();
        let mut runs = Vec::with_capacity(page.len());
        for here in page {
            self.tally.runs += 1;
            let found = there.remove(&here.run);
            runs.extend(self.compare(here, found).await?);
        }
        self.carry(&mut runs).await?;
        for run in runs.iter_mut().filter(|it| !it.is_over) {
            self.settle(run).await?;
        }
        self.watch.progress(&self.tally);
        Ok(())
    }

    /// Where the copy of a run begins; `None` where there is nothing to be done.
    async fn compare(
        &mut self,
        here: StoredRun,
        there: Option<StoredRun>,
    ) -> Result<Option<CopiedRun>, CopyError> {
        let at = there.as_ref().map_or(Head::EMPTY, |it| it.head);
        let is_moved = matches!(here.aside, Some(RunAside::MovedTo(_)));
        let is_beginning = match at.seq.cmp(&here.head.seq) {
            _ if at == Head::EMPTY => true,
            Ordering::Equal => at.hash == here.head.hash,
            Ordering::Less => self.from.head_at(&here.run, at.seq).await? == Some(at),
            // It continued there.
            Ordering::Greater => {
                let known = self.to.head_at(&here.run, here.head.seq).await?;
                if is_moved && known == Some(here.head) {
                    return Ok(None);
                }
                let now = self.from.runs_named(vec![here.run.clone()]).await?;
                let now = now.into_iter().next().filter(|it| it.head == at);
                match now {
                    // It is driven, and another copy was faster.
                    Some(_) => return Ok(None),
                    None => false,
                }
            }
        };
        if !is_beginning {
            self.report(&here.run, &CopyFinding::Diverged { seq: at.seq });
            return Ok(None);
        }
        Ok(Some(CopiedRun {
            here,
            at,
            aside_there: there.and_then(|it| it.aside),
            is_new: false,
            verified: Head::EMPTY,
            is_over: false,
        }))
    }

    /// Copies what is missing, and reads it again.
    async fn carry(&mut self, runs: &mut [CopiedRun]) -> Result<(), CopyError> {
        let mut passage = Passage { copy: self };
        passage.copy(runs).await?;
        passage.verify(runs).await
    }

    /// Sees to it that the run continues in one of the stores, if it continues.
    async fn settle(&mut self, run: &mut CopiedRun) -> Result<(), CopyError> {
        if run.here.has_ended {
            return Ok(());
        }
        if run.here.queued.is_some() && !self.has_queues {
            self.tally.left_queue += 1;
        }
        match &run.here.aside {
            // Whoever moved it was stopped before its copy was let go.
            Some(RunAside::MovedTo(label)) if *label == self.to.label() => self.let_go(run).await,
            Some(RunAside::MovedTo(other)) => {
                if run.is_new || run.aside_there.is_some() {
                    let finding = CopyFinding::MovedElsewhere(other.clone());
                    self.report(&run.here.run, &finding);
                }
                Ok(())
            }
            Some(RunAside::CopyOf(_)) => self.stay_aside(run).await,
            None => self.settle_open(run).await,
        }
    }

    /// The same for a run that continues where it is copied from.
    async fn settle_open(&mut self, run: &mut CopiedRun) -> Result<(), CopyError> {
        self.stay_aside(run).await?;
        if run.is_over {
            return Ok(());
        }
        let is_driven = matches!(run.here.held, Holder::This | Holder::Other);
        if is_driven || (self.options.moves && !self.take_over(run).await?) {
            self.report(&run.here.run, &CopyFinding::Driven(run.at.seq));
        }
        Ok(())
    }

    /// Sets a run aside where it was, copies what came last, and lets the copy go. False where it is driven by now.
    async fn take_over(&mut self, run: &mut CopiedRun) -> Result<bool, CopyError> {
        let aside = RunAside::MovedTo(self.to.label());
        match self.from.set_aside(&run.here.run, aside).await {
            Err(StoreError::Held { .. }) => return Ok(false),
            done => done?,
        };
        let found = self.from.runs_named(vec![run.here.run.clone()]).await?;
        if let Some(now) = found.into_iter().next() {
            run.here = now;
        }
        self.carry(std::slice::from_mut(run)).await?;
        if !run.is_over {
            self.tally.set_aside -= 1;
            if !run.here.has_ended {
                self.let_go(run).await?;
            }
        }
        Ok(true)
    }

    async fn let_go(&mut self, run: &CopiedRun) -> Result<(), CopyError> {
        if run.is_new || matches!(run.aside_there, Some(RunAside::CopyOf(_))) {
            self.to.let_go(&run.here.run).await?;
            self.tally.moved += 1;
        }
        Ok(())
    }

    /// What was only found there may not be set aside yet.
    async fn stay_aside(&mut self, run: &mut CopiedRun) -> Result<(), CopyError> {
        if !run.is_new && run.aside_there.is_none() {
            let aside = RunAside::CopyOf(self.from.label());
            match self.to.set_aside(&run.here.run, aside.clone()).await {
                Err(StoreError::Held { .. }) => {
                    run.is_over = true;
                    self.report(&run.here.run, &CopyFinding::DrivenThere);
                    return Ok(());
                }
                done => done?,
            };
            run.aside_there = Some(aside);
        }
        self.tally.set_aside += 1;
        Ok(())
    }

    fn report(&mut self, run: &RunId, finding: &CopyFinding) {
        let count = match finding {
            CopyFinding::Driven(_) | CopyFinding::DrivenThere | CopyFinding::ChangedThere => {
                &mut self.tally.driven
            }
            CopyFinding::Damaged(_) | CopyFinding::NotVerified(_) => &mut self.tally.damaged,
            CopyFinding::Diverged { .. } => &mut self.tally.diverged,
            CopyFinding::MovedElsewhere(_) => &mut self.tally.moved_elsewhere,
        };
        *count += 1;
        self.watch.finding(run, finding);
    }
}
