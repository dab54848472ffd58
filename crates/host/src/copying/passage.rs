//! The way of steps from one store to the other: many runs at once, or a part of a long one, never more than fits into memory.

use bonded_kernel::{BadEntry, Head, RunId};
use bonded_state::{CopiedPart, LogPart, RunCopies, StoreError};

use crate::with_causes;

use super::{CopiedRun, CopyError, CopyFinding, StoreCopy};

/// How many steps are carried together.
const STEPS_MAX: usize = 1024;

/// How often in a row a store may fail in the middle and be there again.
const FAILURES_MAX: u32 = 5;

pub(super) struct Passage<'a, 'b> {
    pub(super) copy: &'a mut StoreCopy<'b>,
}

impl Passage<'_, '_> {
    /// Copies until the other store has what this one had.
    pub(super) async fn copy(&mut self, runs: &mut [CopiedRun]) -> Result<(), CopyError> {
        let mut failures = 0;
        loop {
            let open = |run: &&mut CopiedRun| !run.is_over && !run.is_complete();
            let mut waiting: Vec<&mut CopiedRun> = runs.iter_mut().filter(open).collect();
            if waiting.is_empty() {
                return Ok(());
            }
            let after = waiting.iter().map(|it| (it.here.run.clone(), it.at));
            let parts = self
                .copy
                .from
                .read_steps(after.collect(), STEPS_MAX)
                .await?;
            let parts = self.without_faults(&mut waiting, parts);
            match self.copy.to.add_copies(parts.clone()).await {
                Ok(added) => {
                    failures = 0;
                    self.note(&mut waiting, &parts, added)?;
                }
                // Perhaps it was carried out: the heads tell.
                Err(error) if error.may_pass() && failures < FAILURES_MAX => {
                    failures += 1;
                    self.look_again(&mut waiting).await?;
                }
                Err(error) => return Err(error.into()),
            }
            self.copy.watch.progress(&self.copy.tally);
        }
    }

    /// The parts that can be copied. A log that is damaged is left as it is.
    fn without_faults(
        &mut self,
        waiting: &mut [&mut CopiedRun],
        parts: Vec<LogPart>,
    ) -> Vec<CopiedPart> {
        let is_empty = { parts.iter() }.all(|it| it.steps.is_empty() && it.fault.is_none());
        let mut good = vec![];
        for (run, part) in waiting.iter_mut().zip(parts) {
            let fault = match part.fault {
                // Its head says that there is more.
                None if is_empty => Some(cut(self.copy.from, &run.here.run, run.at)),
                fault => fault,
            };
            if let Some(error) = fault {
                run.is_over = true;
                let finding = CopyFinding::Damaged(with_causes(&error));
                self.copy.report(&run.here.run, &finding);
            } else if !part.steps.is_empty() {
                good.push(CopiedPart {
                    steps: part.steps,
                    from: self.copy.from.label(),
                    queued: run.here.queued.clone(),
                });
            }
        }
        good
    }

    fn note(
        &mut self,
        waiting: &mut [&mut CopiedRun],
        parts: &[CopiedPart],
        added: Vec<Result<(), StoreError>>,
    ) -> Result<(), CopyError> {
        let mut runs = waiting.iter_mut();
        for (part, added) in parts.iter().zip(added) {
            let Some(run) = runs.find(|it| it.here.run == *part.run()) else {
                continue;
            };
            let finding = match added {
                Ok(()) => {
                    let before = run.at;
                    run.at = part.after();
                    self.copy.tally.entries += run.at.seq - before.seq;
                    self.copy.tally.copied += u64::from(!run.is_new);
                    run.is_new = true;
                    continue;
                }
                Err(StoreError::Held { .. }) => CopyFinding::DrivenThere,
                Err(StoreError::Conflict { .. }) => CopyFinding::ChangedThere,
                Err(StoreError::NotAppendable { .. }) => CopyFinding::Diverged { seq: run.at.seq },
                Err(error) => return Err(error.into()),
            };
            run.is_over = true;
            self.copy.report(&run.here.run, &finding);
        }
        Ok(())
    }

    async fn look_again(&mut self, waiting: &mut [&mut CopiedRun]) -> Result<(), CopyError> {
        let names = waiting.iter().map(|it| it.here.run.clone()).collect();
        let found = self.copy.to.runs_named(names).await?;
        for there in found {
            let run = waiting.iter_mut().find(|it| it.here.run == there.run);
            let Some(run) = run.filter(|it| it.at != there.head) else {
                continue;
            };
            let known = self.copy.from.head_at(&there.run, there.head.seq).await?;
            if known != Some(there.head) {
                run.is_over = true;
                self.copy.report(&there.run, &CopyFinding::ChangedThere);
                continue;
            }
            self.copy.tally.entries += there.head.seq.saturating_sub(run.at.seq);
            self.copy.tally.copied += u64::from(!run.is_new);
            run.is_new = true;
            run.at = there.head;
        }
        Ok(())
    }

    /// Reads what was copied from its beginning, and compares the chain's end with the one that was copied.
    pub(super) async fn verify(&mut self, runs: &mut [CopiedRun]) -> Result<(), CopyError> {
        let checks_all = self.copy.options.checks_all;
        let wanted = |run: &&mut CopiedRun| {
            !run.is_over && run.verified != run.at && (run.is_new || checks_all)
        };
        let read = runs.iter_mut().filter(wanted);
        let mut read: Vec<(&mut CopiedRun, Head)> = read.map(|it| (it, Head::EMPTY)).collect();
        while !read.is_empty() {
            let after = read.iter().map(|(run, at)| (run.here.run.clone(), *at));
            let parts = self.copy.to.read_steps(after.collect(), STEPS_MAX).await?;
            let is_empty = { parts.iter() }.all(|it| it.steps.is_empty() && it.fault.is_none());
            for ((run, at), part) in read.iter_mut().zip(parts) {
                let fault = match part.fault {
                    None if is_empty => Some(cut(self.copy.to, &run.here.run, *at)),
                    fault => fault,
                };
                let last = part.steps.iter().map(|it| it.head);
                *at = last
                    .take_while(|it| it.seq <= run.at.seq)
                    .last()
                    .unwrap_or(*at);
                let why = match fault {
                    Some(error) => Some(with_causes(&error)),
                    None if at.seq == run.at.seq && at.hash != run.at.hash => {
                        Some(format!("entry {} has another hash", at.seq))
                    }
                    None => None,
                };
                if let Some(why) = why {
                    run.is_over = true;
                    let finding = CopyFinding::NotVerified(why);
                    self.copy.report(&run.here.run, &finding);
                } else if at.seq == run.at.seq {
                    self.copy.tally.verified += u64::from(run.verified == Head::EMPTY);
                    run.verified = run.at;
                }
            }
            read.retain(|(run, at)| !run.is_over && at.seq < run.at.seq);
            self.copy.watch.progress(&self.copy.tally);
        }
        Ok(())
    }
}

/// The entries that follow are missing.
fn cut(store: &dyn RunCopies, run: &RunId, at: Head) -> StoreError {
    StoreError::BadLog {
        file: store.label().into(),
        run: run.clone(),
        source: BadEntry::BrokenChain { seq: at.seq + 1 },
    }
}
