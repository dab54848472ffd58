//! Appending as `append.rs` and `doubt.rs` of `crates/postgres` do it: in turn, and what was lost is settled.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use bonded_kernel::{Head, RunId};
use bonded_state::{Append, StoreError};

use super::fleet_plan::FleetSabotage;
use super::handle::{Asking, HeldLease, LeaseHandle};

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appender {
    Driver,
    Guest,
}

/// What became of an append whose answer was lost.
enum Settling {
    Done,
    NotDone(Option<HeldLease>),
}

impl LeaseHandle {
    fn doubts(&self) -> MutexGuard<'_, BTreeMap<RunId, Head>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doubt(&self, run: &RunId) -> Option<Head> {
        self.doubts().get(run).copied()
    }

    fn end_doubt(&self, run: &RunId) {
        self.doubts().remove(run);
    }

    pub(super) async fn append(
        &self,
        append: &Arc<Append>,
        by: Appender,
    ) -> Result<Head, StoreError> {
        let run = append.run();
        let done = self.go_on_in_turn(append, by).await;
        match &done {
            Err(error) if error.may_pass() => {
                self.doubts().insert(run.clone(), append.head);
            }
            Ok(()) => self.end_doubt(run),
            Err(_) if self.doubt(run) == Some(append.head) => self.end_doubt(run),
            Err(_) => {}
        }
        done?;
        if append.ends_run() {
            self.forget(run);
        }
        self.watchers.publish(run, append.head.seq);
        self.acknowledge(run, append.head);
        Ok(append.head)
    }

    async fn go_on_in_turn(&self, append: &Arc<Append>, by: Appender) -> Result<(), StoreError> {
        let Some(held) = self.held(append.run()) else {
            return match by {
                Appender::Driver => Err(self.taken_over(append.run(), None)),
                Appender::Guest => self.go_on(append, None).await,
            };
        };
        let _turn = held.turn.lock().await;
        // The append before may have been settled under a claim of its own.
        let held = self.held(append.run()).unwrap_or_else(|| held.clone());
        self.go_on(append, Some(held)).await
    }

    async fn go_on(
        &self,
        append: &Arc<Append>,
        mut held: Option<HeldLease>,
    ) -> Result<(), StoreError> {
        let until = self.patience();
        loop {
            let (sent, epoch) = (Arc::clone(append), held.as_ref().map(|held| held.epoch));
            let life = self.member.life;
            let sent = self.ask(Asking::Write, move |it| it.append(&sent, epoch, life));
            match sent.await {
                Ok(true) => return Ok(()),
                Ok(false) => return self.refuse(append, held.as_ref()).await,
                Err(error) if Self::bears(&error, until).await => {
                    match self.settle(append, held.as_ref()).await? {
                        Settling::Done => return Ok(()),
                        Settling::NotDone(claim) => held = claim,
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Says why an append was not carried out.
    async fn refuse(&self, append: &Append, held: Option<&HeldLease>) -> Result<(), StoreError> {
        let run = append.run();
        let id = run.clone();
        let found = self.ask_again(Asking::Read, move |it| it.standing(&id));
        let Some(found) = found.await? else {
            return Err(StoreError::UnknownRun { run: run.clone() });
        };
        if let Some(held) = held.filter(|held| held.epoch != found.epoch) {
            return Err(self.taken_over(run, Some(held)));
        }
        append.check_head(found.head)?;
        Err(StoreError::Conflict {
            run: run.clone(),
            expected: append.expected.seq,
            found: found.head.seq,
        })
    }

    fn taken_over(&self, run: &RunId, held: Option<&HeldLease>) -> StoreError {
        if let Some(held) = held {
            self.lose_claim(run, held.worker, held.epoch);
        }
        StoreError::TakenOver { run: run.clone() }
    }

    async fn settle(
        &self,
        append: &Append,
        held: Option<&HeldLease>,
    ) -> Result<Settling, StoreError> {
        let (found, claim) = self.settle_at(append.run(), append.head, held).await?;
        Ok(match found == append.head {
            true => Settling::Done,
            false => Settling::NotDone(claim),
        })
    }

    /// Where the log stands after an append that may have brought it to `after`, and the claim that counts from now on.
    async fn settle_at(
        &self,
        run: &RunId,
        after: Head,
        held: Option<&HeldLease>,
    ) -> Result<(Head, Option<HeldLease>), StoreError> {
        let asking = match self.sabotage {
            FleetSabotage::SettledByRead => Asking::Read,
            _ => Asking::Write,
        };
        let (id, claim) = (run.clone(), held.map(|held| (held.worker, held.epoch)));
        let found = self.ask_again(asking, move |it| match claim {
            Some((worker, epoch)) => it.settle(&id, worker, epoch, after),
            None => it.standing(&id),
        });
        let Some(found) = found.await? else {
            return Err(self.taken_over(run, held));
        };
        if held.is_some_and(|held| !self.hold(run, held.worker, found.epoch)) {
            return Err(self.taken_over(run, held));
        }
        let claim = held.map(|held| HeldLease {
            epoch: found.epoch,
            ..held.clone()
        });
        Ok((found.head, claim))
    }

    /// Where the log of a run stands, if an append of this process is in doubt.
    async fn settle_doubt(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        if self.doubt(run).is_none() {
            return Ok(None);
        }
        let _settling = self.settling.lock().await;
        let turn = self.held(run).map(|held| held.turn).unwrap_or_default();
        let _turn = turn.lock().await;
        // It may have been settled while this waited.
        let Some(after) = self.doubt(run) else {
            return Ok(None);
        };
        let held = self.held(run);
        let head = match self.settle_at(run, after, held.as_ref()).await {
            Ok((head, _)) => Some(head),
            // Who took the run over did so by a write that came after it.
            Err(StoreError::TakenOver { .. }) => None,
            Err(error) => return Err(error),
        };
        self.end_doubt(run);
        if head == Some(after) {
            self.acknowledge(run, after);
        }
        Ok(head)
    }

    pub(super) async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        if let Some(settled) = self.settle_doubt(run).await? {
            return Ok(Some(settled));
        }
        let id = run.clone();
        let found = self.ask_again(Asking::Read, move |it| it.standing(&id));
        Ok(found.await?.map(|found| found.head))
    }
}
