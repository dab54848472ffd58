//! What a process knows of the server: its lease, the runs that it holds, and the way to send a statement.
//!
//! This mirrors `lease.rs`, `renewal.rs`, `claim.rs`, `take.rs` and `sweep.rs` of `crates/postgres`; how a lease is counted is
//! the same code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::{Head, RunId};
use bonded_state::{LeaseTerms, ServerProblem, StoreError, Watchers};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use super::fleet_plan::FleetSabotage;
use super::lease_server::Manner;
use super::member::{CutWay, FleetMember};
use super::statements::{ClaimedRun, Transaction};

/// How long after an error the next try is made.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest until a connection is found to be broken.
pub(super) const NOTICED_MS_MAX: u64 = 3_000;

/// A run that this process holds, or believes to hold.
#[derive(Clone, Debug)]
pub(super) struct HeldLease {
    pub(super) worker: i64,
    pub(super) epoch: i64,
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    worker: Option<i64>,
    until: Duration,
}

/// Whether a statement changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    Read,
    Write,
}

#[derive(Debug)]
pub(super) struct LeaseHandle {
    pub(super) member: Arc<FleetMember>,
    pub(super) terms: LeaseTerms,
    pub(super) sabotage: FleetSabotage,
    counted: watch::Sender<Counted>,
    making: tokio::sync::Mutex<()>,
    held: Mutex<BTreeMap<RunId, HeldLease>>,
    /// Appends of which it is not known whether they were carried out, by where the log stands if they were.
    pub(super) doubts: Mutex<BTreeMap<RunId, Head>>,
    pub(super) settling: tokio::sync::Mutex<()>,
    pub(super) watchers: Arc<Watchers>,
    in_doubt: AtomicBool,
    /// What was answered as done: it must be in the log for ever.
    pub(super) acknowledged: Arc<Mutex<BTreeSet<(RunId, u64, String)>>>,
}

impl LeaseHandle {
    pub(super) fn new(
        member: Arc<FleetMember>,
        terms: LeaseTerms,
        sabotage: FleetSabotage,
        acknowledged: Arc<Mutex<BTreeSet<(RunId, u64, String)>>>,
    ) -> Self {
        Self {
            member,
            terms,
            sabotage,
            counted: watch::Sender::default(),
            making: tokio::sync::Mutex::default(),
            held: Mutex::default(),
            doubts: Mutex::default(),
            settling: tokio::sync::Mutex::default(),
            watchers: Arc::default(),
            in_doubt: AtomicBool::new(false),
            acknowledged,
        }
    }

    pub(super) fn acknowledge(&self, run: &RunId, head: Head) {
        let acknowledged = self.acknowledged.lock();
        let mut acknowledged = acknowledged.unwrap_or_else(PoisonError::into_inner);
        acknowledged.insert((run.clone(), head.seq, head.hash.to_string()));
    }

    fn all_held(&self) -> MutexGuard<'_, BTreeMap<RunId, HeldLease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn held(&self, run: &RunId) -> Option<HeldLease> {
        self.all_held().get(run).cloned()
    }

    pub(super) fn hold(&self, run: &RunId, worker: i64, epoch: i64) {
        let mut all = self.all_held();
        let known = all.get(run);
        if known.is_some_and(|known| known.worker == worker && known.epoch > epoch) {
            return;
        }
        let turn = known.map(|known| Arc::clone(&known.turn));
        let turn = turn.unwrap_or_default();
        let held = HeldLease {
            worker,
            epoch,
            turn,
        };
        all.insert(run.clone(), held);
    }

    pub(super) fn forget(&self, run: &RunId) {
        self.all_held().remove(run);
    }

    pub(super) fn holds(&self, worker: i64) -> bool {
        let counted = self.counted.borrow();
        counted.worker == Some(worker) && self.member.now() < counted.until
    }

    /// The process may hold the run again under a later claim, which is another driver's.
    pub(super) fn lose_claim(&self, run: &RunId, worker: i64, epoch: i64) {
        let mut all = self.all_held();
        let is_it = |known: &HeldLease| known.worker == worker && known.epoch <= epoch;
        if all.get(run).is_some_and(is_it) {
            all.remove(run);
        }
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    fn counted(&self) -> Counted {
        self.counted.borrow().clone()
    }

    fn lose(&self, worker: i64) {
        self.change(worker, Counted::default());
    }

    fn change(&self, worker: i64, to: Counted) {
        self.counted.send_if_modified(|counted| {
            let is_ours = counted.worker == Some(worker);
            if is_ours {
                *counted = to;
            }
            is_ours
        });
    }

    pub(super) fn away() -> StoreError {
        StoreError::Server {
            at: "(simulated)".into(),
            problem: ServerProblem::Unreachable {
                why: "the connection is broken".into(),
            },
        }
    }

    /// Sends one statement. An error says nothing of whether it was, or will be, carried out.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        asking: Asking,
        work: impl FnOnce(&mut Transaction<'_>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let member = &self.member;
        let is_slow = member.draw(|rng| rng.chance(300));
        if is_slow {
            sleep(member.draw(|rng| Duration::from_millis(rng.between(1, 60)))).await;
        }
        let (cut, lock, lag) = member.misfortune();
        let noticed = Duration::from_millis(match cut {
            Some(_) => member.draw(|rng| rng.between(0, NOTICED_MS_MAX)),
            None => 0,
        });
        if cut == Some(CutWay::There) {
            sleep(noticed).await;
            return Err(Self::away());
        }
        let (tell, told) = oneshot::channel();
        let manner = Manner {
            is_write: asking == Asking::Write,
            lock,
            lag,
        };
        let work = move |rows: &mut Transaction<'_>| {
            // Nobody may be waiting for it any more.
            let _sent = tell.send(work(rows));
        };
        member.server.send(manner, Box::new(work));
        if cut == Some(CutWay::Back) {
            sleep(noticed).await;
            return Err(Self::away());
        }
        let answer = told.await.map_err(|_| Self::away())?;
        if is_slow {
            sleep(member.draw(|rng| Duration::from_millis(rng.between(0, 60)))).await;
        }
        Ok(answer)
    }

    pub(super) fn patience(&self) -> Instant {
        Instant::now() + self.terms.length
    }

    /// Whether it is worth another try, after a pause.
    pub(super) async fn bears(error: &StoreError, until: Instant) -> bool {
        let is_worth_it = error.may_pass() && Instant::now() < until;
        if is_worth_it {
            sleep(PAUSE).await;
        }
        is_worth_it
    }

    /// Asks what may be asked twice.
    pub(super) async fn ask_again<T: Send + 'static>(
        &self,
        asking: Asking,
        work: impl Fn(&mut Transaction<'_>) -> T + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        let until = self.patience();
        loop {
            match self.ask(asking, work.clone()).await {
                Err(error) if Self::bears(&error, until).await => {}
                done => return done,
            }
        }
    }

    /// The worker that this process is; a new one where it has none, or has lost its lease.
    async fn as_worker(self: &Arc<Self>) -> Result<i64, StoreError> {
        let _making = self.making.lock().await;
        if let Some(worker) = self.counted().worker.filter(|it| self.holds(*it)) {
            return Ok(worker);
        }
        let (life, length) = (self.member.life, self.terms.length);
        let sent = self.member.now();
        let worker = self
            .ask(Asking::Write, move |it| it.register(life, length))
            .await?;
        let until = self.until(sent);
        let worker_now = Some(worker);
        self.counted.send_replace(Counted {
            worker: worker_now,
            until,
        });
        let keeper = Arc::clone(self);
        self.member.spawn(async move { keeper.keep(worker).await });
        Ok(worker)
    }

    fn until(&self, sent: Duration) -> Duration {
        let counted_from = match self.sabotage {
            FleetSabotage::CountedFromAnswer => self.member.now(),
            _ => sent,
        };
        self.terms.until(counted_from)
    }

    async fn keep(&self, worker: i64) {
        let pause = self.terms.pause();
        let mut wait = pause;
        while self.counted().worker == Some(worker) {
            sleep(wait).await;
            let sent = self.member.now();
            let left = self.counted().until.saturating_sub(sent);
            if left.is_zero() {
                return self.lose(worker);
            }
            let length = self.terms.length;
            let renewal = self.ask(Asking::Write, move |it| it.renew(worker, length));
            wait = match timeout(left.min(pause), renewal).await {
                Ok(Ok(true)) => {
                    let until = self.until(sent);
                    let worker_now = Some(worker);
                    let counted = Counted {
                        worker: worker_now,
                        until,
                    };
                    self.change(worker, counted);
                    pause
                }
                Ok(Ok(false)) => return self.lose(worker),
                Ok(Err(_)) | Err(_) => self.terms.pause_after_failure(),
            };
        }
    }

    /// Resolves when what was held as this worker is lost, and looks at the clock at every poll.
    pub(super) async fn lost(&self, run: &RunId, worker: i64) -> StoreError {
        if self.sabotage == FleetSabotage::DriverGoesOn {
            return std::future::pending().await;
        }
        let mut changes = self.counted.subscribe();
        let alarm = async {
            loop {
                let until = changes.borrow_and_update().until;
                let left = until.saturating_sub(self.member.now());
                tokio::select! {
                    biased;
                    () = sleep(left.max(Duration::from_millis(1))) => {}
                    changed = changes.changed() => if changed.is_err() {
                        std::future::pending::<()>().await;
                    },
                }
            }
        };
        let mut alarm = std::pin::pin!(alarm);
        std::future::poll_fn(|context| {
            if !self.holds(worker) {
                return std::task::Poll::Ready(());
            }
            alarm.as_mut().poll(context)
        })
        .await;
        self.lose_claim(run, worker, i64::MAX);
        StoreError::LeaseLost {
            run: run.clone(),
            why: "simulated".into(),
        }
    }

    pub(super) async fn claim(self: &Arc<Self>, run: &RunId) -> Result<(), StoreError> {
        let held = self.held(run);
        if held.is_some_and(|held| self.holds(held.worker)) {
            return Ok(());
        }
        let until = self.patience();
        let worker = loop {
            match self.as_worker().await {
                Err(error) if Self::bears(&error, until).await => {}
                done => break done?,
            }
        };
        let until = self.patience();
        loop {
            match self.claim_as(run, worker).await {
                Err(error) if Self::bears(&error, until).await => {}
                done => return done.map(|epoch| self.hold(run, worker, epoch)),
            }
        }
    }

    async fn claim_as(&self, run: &RunId, worker: i64) -> Result<i64, StoreError> {
        let id = run.clone();
        self.ask(Asking::Write, move |it| it.bury(Some(&id)))
            .await?;
        let id = run.clone();
        let claimed = self.ask(Asking::Write, move |it| it.claim(&id, worker));
        if let Some(claimed) = claimed.await? {
            return Ok(claimed.epoch);
        }
        let id = run.clone();
        let found = self.ask(Asking::Read, move |it| it.standing(&id)).await?;
        match found {
            None => Err(StoreError::UnknownRun { run: run.clone() }),
            // The answer to a claim of our own was lost.
            Some(found) if found.worker == Some(worker) => Ok(found.epoch),
            Some(_) => Err(StoreError::Held {
                run: run.clone(),
                by: "another process".into(),
            }),
        }
    }

    pub(super) async fn release(&self, run: &RunId) -> Result<(), StoreError> {
        let Some(held) = self.held(run) else {
            return Ok(());
        };
        let released = match self.holds(held.worker) {
            true => {
                let id = run.clone();
                let release =
                    move |it: &mut Transaction<'_>| it.release(&id, held.worker, held.epoch);
                self.ask_again(Asking::Write, release).await
            }
            false => Ok(true),
        };
        self.forget(run);
        if !matches!(released, Ok(true)) {
            self.in_doubt.store(true, Ordering::Relaxed);
        }
        released.map(drop)
    }

    /// The next run of the queue.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Option<RunId>, StoreError> {
        let until = self.patience();
        loop {
            match self.take_once().await {
                Ok(taken) => return Ok(taken),
                Err(error) => {
                    self.in_doubt.store(true, Ordering::Relaxed);
                    if !Self::bears(&error, until).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn take_once(self: &Arc<Self>) -> Result<Option<RunId>, StoreError> {
        let worker = self.as_worker().await?;
        if self.in_doubt.swap(false, Ordering::Relaxed) {
            let mine = self.ask(Asking::Read, move |it| it.mine(worker)).await?;
            let unknown = mine.into_iter().find(|it| self.held(&it.run).is_none());
            if let Some(ClaimedRun { run, epoch }) = unknown {
                // There may be more.
                self.in_doubt.store(true, Ordering::Relaxed);
                self.hold(&run, worker, epoch);
                return Ok(Some(run));
            }
        }
        let taken = self.ask(Asking::Write, move |it| it.take(worker)).await?;
        Ok(taken.map(|ClaimedRun { run, epoch }| {
            self.hold(&run, worker, epoch);
            run
        }))
    }

    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
        self.ask_again(Asking::Write, |it| it.bury(None)).await?;
        self.ask_again(Asking::Write, |it| it.requeue()).await
    }
}
