//! A process of a world: it lives, drives the run, and may die at any place that it passes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_host::CancellationToken;
use bonded_kernel::{Entry, Event, GoalGiven, Head, Run, RunId};
use bonded_state::{MemoryStore, Store as _};
use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::SimClock;
use super::ledger::{Ledger, Place};
use super::plan::Plan;
use crate::rng::Rng;

/// What outlives every process of a world.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) run: RunId,
    /// The log itself, seen without faults.
    pub(crate) log: MemoryStore,
    pub(crate) clock: SimClock,
    ledger: Mutex<Ledger>,
    chance: Mutex<Rng>,
    crashes: AtomicU32,
    /// How many further goals somebody wants by now.
    wanted: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(seed: u64, plan: Plan, run: RunId) -> Self {
        Self {
            seed,
            plan,
            run,
            log: MemoryStore::new(),
            clock: SimClock::new(),
            ledger: Mutex::default(),
            chance: Mutex::new(Rng::derive(seed, "chance", &[])),
            crashes: AtomicU32::new(0),
            wanted: AtomicUsize::new(0),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws from the one generator that all chance events of a world share, in the order in which they
    /// come; nothing else runs beside the world, so the order is the same each time.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        let mut rng = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        draw(&mut rng)
    }

    pub(crate) fn chance(&self, per_mille: u32) -> bool {
        per_mille > 0 && self.draw(|rng| rng.chance(per_mille))
    }

    pub(crate) fn complain(&self, complaint: String) {
        self.ledger().complaints.push(complaint);
    }

    /// How far the log goes at this moment.
    pub(crate) fn head(&self) -> Head {
        let head = self.log.head(&self.run).now_or_never();
        head.and_then(Result::ok).flatten().unwrap_or(Head::EMPTY)
    }

    /// How many further goals the log has.
    pub(crate) fn goals_given(&self) -> usize {
        let entries = self.log.load(&self.run, 0).now_or_never();
        let entries = entries.and_then(Result::ok).unwrap_or_default();
        let is_goal = |entry: &&Entry| matches!(entry.event, Event::GoalGiven(_));
        entries.iter().filter(is_goal).count()
    }

    /// Whether somebody wants more of a run that has ended, and it takes that.
    pub(crate) fn wants_more_of(&self, run: &Run) -> bool {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let is_wanted = wanted < self.plan.goals.len() && run.takes_goal().is_ok();
        self.wanted
            .fetch_add(usize::from(is_wanted), Ordering::Relaxed);
        is_wanted
    }

    /// The goal that was wanted and is not in the log yet.
    pub(crate) fn goal_to_give(&self) -> Option<GoalGiven> {
        let given = self.goals_given();
        let is_due = given < self.wanted.load(Ordering::Relaxed);
        is_due.then(|| self.plan.goals.get(given).cloned())?
    }

    fn may_crash(&self) -> bool {
        self.crashes.load(Ordering::Relaxed) < self.plan.crashes_max
    }
}

/// One life of the driver.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) shared: Arc<Shared>,
    /// Counts the processes of a world, from 0.
    pub(crate) number: u32,
    pub(crate) cancel: CancellationToken,
    died: Notify,
    is_dead: AtomicBool,
    holds_run: AtomicBool,
    /// When somebody outside ended the run that this process drives.
    outside_end: Mutex<Option<Instant>>,
}

impl Process {
    pub(crate) fn new(shared: Arc<Shared>, number: u32) -> Self {
        Self {
            shared,
            number,
            cancel: CancellationToken::new(),
            died: Notify::new(),
            is_dead: AtomicBool::new(false),
            holds_run: AtomicBool::new(false),
            outside_end: Mutex::default(),
        }
    }

    /// Passes a place where the process may die. It does not come back from there if it does.
    pub(crate) async fn pass(&self, place: Place) {
        self.live().await;
        self.disturb_clock();
        let faults = self.shared.plan.faults;
        if self.shared.chance(faults.cancel_inside) {
            self.shared.ledger().tally.cancels += 1;
            self.cancel.cancel();
        }
        let is_planned = self.is_planned_to_die();
        if is_planned || self.shared.may_crash() && self.shared.chance(faults.crash) {
            self.die(place);
            self.live().await;
        }
    }

    fn is_planned_to_die(&self) -> bool {
        let passed = &mut self.shared.ledger().tally.places;
        *passed += 1;
        self.shared.plan.crashes_at.contains(&(*passed - 1))
    }

    /// Nothing that a dead process had begun goes on.
    pub(crate) async fn live(&self) {
        if self.is_dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn die(&self, place: Place) {
        self.shared.crashes.fetch_add(1, Ordering::Relaxed);
        let mut ledger = self.shared.ledger();
        *ledger.tally.crashes.entry(place).or_default() += 1;
        self.is_dead.store(true, Ordering::Relaxed);
        self.died.notify_one();
    }

    pub(crate) async fn died(&self) {
        self.died.notified().await;
    }

    /// Notes that somebody outside has just ended the run.
    pub(crate) fn note_outside_end(&self) {
        *self.outside_end() = Some(Instant::now());
    }

    /// How long the driver has gone on since somebody outside ended the run.
    pub(crate) fn late_ms(&self) -> u64 {
        let ended = *self.outside_end();
        ended.map_or(0, |at| at.elapsed().as_millis() as u64)
    }

    fn outside_end(&self) -> MutexGuard<'_, Option<Instant>> {
        let ended = self.outside_end.lock();
        ended.unwrap_or_else(PoisonError::into_inner)
    }

    /// The store has made this process the holder of the run.
    pub(crate) fn took_hold(&self) {
        self.holds_run.store(true, Ordering::Relaxed);
    }

    pub(crate) fn holds_run(&self) -> bool {
        self.holds_run.load(Ordering::Relaxed)
    }

    /// When this process dies by the clock, if it does.
    pub(crate) fn lifetime_ms(&self) -> Option<u64> {
        let faults = self.shared.plan.faults;
        let is_short = self.shared.may_crash() && self.shared.chance(faults.crash * 3);
        is_short.then(|| {
            self.shared.draw(|rng| {
                let longest_ms = rng.pick(&[500, 5_000, 60_000]);
                rng.between(0, longest_ms)
            })
        })
    }

    fn disturb_clock(&self) {
        if self.shared.chance(self.shared.plan.faults.clock) {
            self.set_clock();
        }
    }

    fn set_clock(&self) {
        let by_ms = self.shared.draw(|rng| rng.between(0, 60_000)) as i64;
        let back = self.shared.draw(|rng| rng.chance(500));
        self.shared.clock.jump(if back { -by_ms } else { by_ms });
    }

    /// Sets the clock at any time, be it in the middle of a request.
    pub(crate) async fn disturb_clock_in_time(&self) {
        if self.shared.chance(self.shared.plan.faults.clock * 20) {
            let after_ms = self.shared.draw(|rng| rng.between(0, 20_000));
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            self.set_clock();
        }
    }

    /// Looks whether an effect may begin now.
    pub(crate) fn witness_effect(&self, what: &str) {
        if self.cancel.is_cancelled() {
            let complaint = format!("{what} began after the run was cancelled");
            self.shared.complain(complaint);
        }
    }
}
