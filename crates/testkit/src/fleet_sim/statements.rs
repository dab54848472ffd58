//! The statements of `crates/postgres` (`renewal.rs`, `claim.rs`, `append.rs`, `take.rs`, `sweep.rs`), on the simulated rows.
//! Each has the conditions of the SQL of its name there.

use std::time::Duration;

use bonded_kernel::{Entry, Event, Head, RunId};
use bonded_state::Append;

use super::fleet_plan::FleetSabotage;
use super::lease_rows::{DRIVEN, DriveRow, ENDED, LeaseRow, LeaseRows, QUEUED};

/// What one statement can see and change.
pub(super) struct Transaction<'a> {
    pub(super) rows: &'a mut LeaseRows,
    pub(super) now: Duration,
    pub(super) sabotage: FleetSabotage,
    /// Numbers of workers are never given twice, not by a standby either.
    pub(super) numbers: &'a mut i64,
    /// What was seen to be wrong.
    pub(super) wrong: &'a mut Vec<String>,
}

/// Where a run stands, and under which claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) epoch: i64,
    pub(super) head: Head,
    pub(super) worker: Option<i64>,
}

/// A claim that was answered.
#[derive(Clone, Debug)]
pub(super) struct ClaimedRun {
    pub(super) run: RunId,
    pub(super) epoch: i64,
}

impl Transaction<'_> {
    pub(super) fn register(&mut self, life: u64, length: Duration) -> i64 {
        *self.numbers += 1;
        let row = LeaseRow {
            life,
            expires: self.now + length,
            dead: false,
        };
        self.rows.workers.insert(*self.numbers, row);
        *self.numbers
    }

    pub(super) fn renew(&mut self, worker: i64, length: Duration) -> bool {
        let lives = self.rows.lives(worker, self.now);
        if let Some(row) = self.rows.workers.get_mut(&worker).filter(|_| lives) {
            row.expires = self.now + length;
        }
        lives
    }

    /// Of one run where it is named, else of all.
    pub(super) fn bury(&mut self, run: Option<&RunId>) {
        let only = run.map(|run| self.rows.drives.get(run).and_then(|row| row.worker));
        for (worker, row) in &mut self.rows.workers {
            let is_meant = only.is_none_or(|only| only == Some(*worker));
            if is_meant && row.expires <= self.now {
                row.dead = true;
            }
        }
    }

    fn raised(&self, epoch: i64) -> i64 {
        epoch + i64::from(self.sabotage != FleetSabotage::TakenWithoutEpoch)
    }

    pub(super) fn claim(&mut self, run: &RunId, worker: i64) -> Option<ClaimedRun> {
        let row = self.rows.drives.get(run)?;
        let is_free = row.worker.is_none_or(|holder| self.rows.is_dead(holder));
        if !is_free {
            return None;
        }
        let epoch = self.raised(row.epoch);
        let row = self.rows.drives.get_mut(run)?;
        (row.epoch, row.worker) = (epoch, Some(worker));
        row.state = row.state.max(DRIVEN);
        let run = run.clone();
        Some(ClaimedRun { run, epoch })
    }

    /// A worker that was found dead takes nothing.
    pub(super) fn take(&mut self, worker: i64) -> Option<ClaimedRun> {
        if self.rows.workers.get(&worker).is_none_or(|row| row.dead) {
            return None;
        }
        let is_free = |row: &DriveRow| row.state == QUEUED && row.worker.is_none();
        let run = self.rows.drives.iter().find(|(_, row)| is_free(row))?;
        let run = run.0.clone();
        self.claim(&run, worker)
    }

    /// What a worker holds, whether or not it knows.
    pub(super) fn mine(&self, worker: i64) -> Vec<ClaimedRun> {
        let drives = self.rows.drives.iter();
        let mine = drives.filter(|(_, row)| row.worker == Some(worker) && row.state == DRIVEN);
        mine.map(|(run, row)| ClaimedRun {
            run: run.clone(),
            epoch: row.epoch,
        })
        .collect()
    }

    /// Makes a claim that this worker was found to have a new one, so that what was sent under the old one and was never
    /// answered cannot be carried out any more.
    pub(super) fn claim_anew(&mut self, found: ClaimedRun, worker: i64) -> Option<ClaimedRun> {
        let row = self.rows.drives.get_mut(&found.run)?;
        if row.worker != Some(worker) || row.epoch != found.epoch {
            return None;
        }
        row.epoch += 1;
        let ClaimedRun { run, .. } = found;
        let epoch = row.epoch;
        Some(ClaimedRun { run, epoch })
    }

    pub(super) fn release(&mut self, run: &RunId, worker: i64, epoch: i64) -> bool {
        let row = self.rows.drives.get_mut(run);
        let is_held = |row: &&mut DriveRow| row.worker == Some(worker) && row.epoch == epoch;
        let Some(row) = row.filter(is_held) else {
            return false;
        };
        row.worker = None;
        row.epoch += 1;
        if row.state == DRIVEN {
            row.state = QUEUED;
        }
        true
    }

    pub(super) fn requeue(&mut self) {
        let Self { rows, .. } = self;
        let dead: Vec<RunId> = rows
            .drives
            .iter()
            .filter(|(_, row)| row.state < ENDED && row.worker.is_some_and(|it| rows.is_dead(it)))
            .map(|(run, _)| run.clone())
            .collect();
        for run in dead {
            if let Some(row) = rows.drives.get_mut(&run) {
                (row.worker, row.state) = (None, QUEUED);
            }
        }
    }

    /// Begins a run that a worker shall drive.
    pub(super) fn submit(&mut self, entries: &[Entry]) {
        let row = DriveRow {
            epoch: 1,
            worker: None,
            state: QUEUED,
            log: entries.to_vec(),
        };
        if let Some(first) = entries.first() {
            self.rows.drives.insert(first.run.clone(), row);
        }
    }

    /// Who does not hold the run names no epoch.
    pub(super) fn append(&mut self, append: &Append, epoch: Option<i64>, by: u64) -> bool {
        let Some(row) = self.rows.drives.get(append.run()) else {
            return false;
        };
        let names_claim = self.sabotage != FleetSabotage::AppendWithoutEpoch;
        let is_claimed = epoch.is_none_or(|epoch| epoch == row.epoch || !names_claim);
        if row.head() != append.expected || !is_claimed {
            return false;
        }
        self.witness_append(append, row.worker, epoch.map(|_| by));
        let ends = append.entries.iter();
        let ends = ends.filter(|it| matches!(it.event, Event::RunEnded(_)));
        let ends = ends.count();
        if let Some(row) = self.rows.drives.get_mut(append.run()) {
            row.log.extend(append.entries.iter().cloned());
            if ends > 0 {
                (row.state, row.worker) = (ENDED, None);
            }
        }
        true
    }

    /// An append of a driver that was overtaken is taken only where the epoch is not looked at.
    fn witness_append(&mut self, append: &Append, holder: Option<i64>, by: Option<u64>) {
        let run = append.run();
        if self.rows.has_ended(run) {
            self.wrong.push(format!("{run} goes on after its end"));
        }
        let holder = holder.and_then(|it| self.rows.workers.get(&it));
        let is_overtaken = holder.zip(by).is_some_and(|(holder, by)| holder.life != by);
        if is_overtaken {
            let wrong = format!("an append of {run} by a driver that was overtaken is taken");
            self.wrong.push(wrong);
        }
    }

    pub(super) fn standing(&self, run: &RunId) -> Option<Standing> {
        let row = self.rows.drives.get(run)?;
        Some(Standing {
            epoch: row.epoch,
            head: row.head(),
            worker: row.worker,
        })
    }

    /// Makes the claim a new one, so that the lost append cannot be carried out any more.
    pub(super) fn settle(
        &mut self,
        run: &RunId,
        worker: i64,
        epoch: i64,
        after: Head,
    ) -> Option<Standing> {
        let row = self.rows.drives.get_mut(run)?;
        let is_done = row.worker.is_none() && row.epoch >= epoch && row.head() == after;
        if row.worker != Some(worker) && !is_done {
            return None;
        }
        if self.sabotage != FleetSabotage::SettledByRead {
            row.epoch += 1;
        }
        self.standing(run)
    }
}
