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

/// How often a process looks for runs that it holds without knowing it, and for how long it looks at each pause of its lease
/// after an answer was lost.
const LOOK: Duration = Duration::from_secs(60);

/// The longest until a connection is found to be broken.
pub(super) const NOTICED_MS_MAX: u64 = 3_000;

/// A run that this process holds, or believes to hold.
#[derive(Clone, Debug)]
pub(super) struct HeldLease {
    pub(super) worker: i64,
    pub(super) epoch: i64,
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    pub(super) has_ended: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct HeldLeases {
    runs: BTreeMap<RunId, HeldLease>,
    given_back: BTreeMap<RunId, i64>,
}

/// What was seen of runs that this process holds without knowing it.
#[derive(Debug, Default)]
struct StrayLooks {
    doubted: Option<Duration>,
    looked: Duration,
    unknown: BTreeMap<RunId, i64>,
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
    held: Mutex<HeldLeases>,
    /// Appends of which it is not known whether they were carried out, by where the log stands if they were.
    pub(super) doubts: Mutex<BTreeMap<RunId, Head>>,
    pub(super) settling: tokio::sync::Mutex<()>,
    pub(super) watchers: Arc<Watchers>,
    strays: Mutex<StrayLooks>,
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
            strays: Mutex::default(),
            acknowledged,
        }
    }

    /// An append was answered. What is only read may not be at a standby yet.
    pub(super) fn acknowledge(&self, run: &RunId, head: Head) {
        let acknowledged = self.acknowledged.lock();
        let mut acknowledged = acknowledged.unwrap_or_else(PoisonError::into_inner);
        acknowledged.insert((run.clone(), head.seq, head.hash.to_string()));
    }

    fn all_held(&self) -> MutexGuard<'_, HeldLeases> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn held(&self, run: &RunId) -> Option<HeldLease> {
        self.all_held().runs.get(run).cloned()
    }

    /// Whether this process holds the run by this claim from now on: it does not as a worker that it is no more, or by a claim
    /// that it gave back, or where it has a later one.
    #[must_use]
    pub(super) fn hold(&self, run: &RunId, worker: i64, epoch: i64) -> bool {
        if self.counted().worker != Some(worker) {
            return false;
        }
        let mut all = self.all_held();
        if all.given_back.get(run).is_some_and(|it| *it >= epoch) {
            return false;
        }
        all.given_back.remove(run);
        let known = all.runs.get(run);
        if known.is_some_and(|known| known.epoch > epoch) {
            return false;
        }
        let turn = known.map(|known| Arc::clone(&known.turn));
        let turn = turn.unwrap_or_default();
        let held = HeldLease {
            worker,
            epoch,
            turn,
            has_ended: Arc::default(),
        };
        all.runs.insert(run.clone(), held);
        true
    }

    pub(super) fn forget(&self, run: &RunId) {
        let mut all = self.all_held();
        if let Some(held) = all.runs.remove(run) {
            held.has_ended.store(true, Ordering::Relaxed);
        }
        all.given_back.remove(run);
    }

    pub(super) fn holds(&self, worker: i64) -> bool {
        let counted = self.counted.borrow();
        counted.worker == Some(worker) && self.member.now() < counted.until
    }

    /// The process may hold the run again under a later claim, which is another driver's.
    pub(super) fn lose_claim(&self, run: &RunId, worker: i64, epoch: i64) {
        let mut all = self.all_held();
        let is_it = |known: &HeldLease| known.worker == worker && known.epoch <= epoch;
        if all.runs.get(run).is_some_and(is_it) {
            all.runs.remove(run);
        }
        drop(all);
        self.wake();
        self.doubt_claims();
    }

    fn looks(&self) -> MutexGuard<'_, StrayLooks> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a claim was lost, or a release did not arrive.
    fn doubt_claims(&self) {
        self.looks().doubted = Some(self.member.now());
    }

    fn is_look_due(&self) -> bool {
        let (mut looks, now) = (self.looks(), self.member.now());
        let is_doubted = looks.doubted.is_some_and(|it| now < it + LOOK);
        let is_due = is_doubted || !looks.unknown.is_empty() || now >= looks.looked + LOOK;
        if is_due {
            looks.looked = now;
        }
        is_due
    }

    async fn look_for_strays(self: Arc<Self>, worker: i64) {
        let pause = self.terms.pause();
        while self.counted().worker == Some(worker) {
            sleep(pause).await;
            if self.sabotage != FleetSabotage::StraysAreKept && self.is_look_due() {
                // A server that is away is asked again.
                let _given_back = self.give_strays_back(worker).await;
            }
        }
    }

    async fn give_strays_back(&self, worker: i64) -> Result<(), StoreError> {
        let mut rows = self.ask(Asking::Read, move |it| it.mine(worker)).await?;
        rows.retain(|row| !self.holds_run(&row.run, worker));
        let unknown = rows.iter().map(|row| (row.run.clone(), row.epoch));
        let before = std::mem::replace(&mut self.looks().unknown, unknown.collect());
        rows.retain(|row| before.get(&row.run) == Some(&row.epoch));
        for ClaimedRun { run, epoch } in rows {
            if self.give_back(&run, worker, epoch) {
                self.ask(Asking::Write, move |it| it.release(&run, worker, epoch))
                    .await?;
            }
        }
        Ok(())
    }

    fn holds_run(&self, run: &RunId, worker: i64) -> bool {
        self.held(run).is_some_and(|it| it.worker == worker)
    }

    fn give_back(&self, run: &RunId, worker: i64, epoch: i64) -> bool {
        let mut all = self.all_held();
        let is_stray = all.runs.get(run).is_none_or(|it| it.worker != worker);
        if is_stray {
            all.given_back.insert(run.clone(), epoch);
        }
        is_stray
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
        self.member.spawn(Arc::clone(self).look_for_strays(worker));
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

    /// Resolves when what was held as this worker is lost, with an error where the lease is, and looks at the clock at every poll.
    async fn lose_lease_of(&self, run: &RunId, worker: i64) -> Result<(), StoreError> {
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
            if !self.holds(worker) || !self.holds_run(run, worker) {
                return std::task::Poll::Ready(());
            }
            alarm.as_mut().poll(context)
        })
        .await;
        if self.holds(worker) {
            return Ok(());
        }
        Err(StoreError::LeaseLost {
            run: run.clone(),
            why: "simulated".into(),
        })
    }

    pub(super) async fn lost(&self, run: &RunId) -> StoreError {
        if self.sabotage == FleetSabotage::DriverGoesOn {
            return std::future::pending().await;
        }
        if let Some(held) = self.held(run) {
            if let Err(lost) = self.lose_lease_of(run, held.worker).await {
                self.lose_claim(run, held.worker, i64::MAX);
                return lost;
            }
            if held.has_ended.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        }
        let id = run.clone();
        let is_over = move |it: &mut Transaction<'_>| it.rows.has_ended(&id);
        match self.ask_again(Asking::Read, is_over).await {
            Ok(true) => std::future::pending().await,
            _ => StoreError::TakenOver { run: run.clone() },
        }
    }

    /// Has those who wait for a loss look again.
    fn wake(&self) {
        self.counted.send_modify(|_| {});
    }

    fn is_driving(&self, run: &RunId) -> bool {
        let held = self.held(run);
        held.is_some_and(|held| self.holds(held.worker))
    }

    pub(super) async fn claim(self: &Arc<Self>, run: &RunId) -> Result<(), StoreError> {
        if self.is_driving(run) {
            return Ok(());
        }
        let until = self.patience();
        loop {
            let worker = match self.as_worker().await {
                Err(error) if Self::bears(&error, until).await => continue,
                done => done?,
            };
            match self.claim_as(run, worker).await {
                Err(error) if Self::bears(&error, until).await => {}
                Err(error) => {
                    self.doubt_claims();
                    return Err(error);
                }
                Ok(epoch) if self.hold(run, worker, epoch) || self.is_driving(run) => {
                    return Ok(());
                }
                Ok(_) => {}
            }
        }
    }

    async fn claim_as(&self, run: &RunId, worker: i64) -> Result<i64, StoreError> {
        loop {
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
            let Some(found) = found else {
                return Err(StoreError::UnknownRun { run: run.clone() });
            };
            if found.worker != Some(worker) {
                return Err(StoreError::Held {
                    run: run.clone(),
                    by: "another process".into(),
                });
            }
            // The answer to a claim of our own was lost.
            let (run, epoch) = (run.clone(), found.epoch);
            let found = ClaimedRun { run, epoch };
            let claimed = self.ask(Asking::Write, move |it| it.claim_anew(found, worker));
            if let Some(claimed) = claimed.await? {
                return Ok(claimed.epoch);
            }
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
        self.lose_claim(run, held.worker, held.epoch);
        released.map(drop)
    }

    /// The next run of the queue.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Option<RunId>, StoreError> {
        let until = self.patience();
        loop {
            match self.take_once().await {
                Ok(taken) => return Ok(taken),
                Err(error) => {
                    self.doubt_claims();
                    if !Self::bears(&error, until).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn take_once(self: &Arc<Self>) -> Result<Option<RunId>, StoreError> {
        let worker = self.as_worker().await?;
        let taken = self.ask(Asking::Write, move |it| it.take(worker)).await?;
        let taken = taken.filter(|it| self.hold(&it.run, worker, it.epoch));
        Ok(taken.map(|it| it.run))
    }

    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
        self.ask_again(Asking::Write, |it| it.bury(None)).await?;
        self.ask_again(Asking::Write, |it| it.requeue()).await
    }
}
