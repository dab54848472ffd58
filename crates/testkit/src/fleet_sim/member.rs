//! One life of a process: everything that it does is polled here and nowhere else, so that it can stand still or die at any
//! await.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use super::fleet_plan::FleetPlan;
use super::lease_server::LeaseServer;
use crate::rng::Rng;
use crate::sim::SimClock;

/// Which way a connection does not carry anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutWay {
    /// Statements do not arrive.
    There,
    /// Statements are carried out, and nobody hears of it.
    Back,
}

/// What happens to a process at its next await.
#[derive(Clone, Copy, Debug, Default)]
struct MemberState {
    frozen_until: Option<Instant>,
    broken: Option<(CutWay, Instant)>,
}

pub(super) struct FleetMember {
    /// Its number, and how often that process was started before.
    pub(super) life: u64,
    pub(super) server: Arc<LeaseServer>,
    /// What the machine shows; it may be wrong, and is set.
    pub(super) clock: SimClock,
    began: Instant,
    /// How fast its own clock goes, in thousandths; never a tenth too slow.
    rate: u32,
    /// Of a thousand awaits, in how many it dies, and in how many it stands still.
    crash: u32,
    freeze: u32,
    /// Of a thousand statements, how many lose their connection, and how many wait for a lock.
    cut: u32,
    lock: u32,
    lease: Duration,
    pub(super) chance: Arc<Mutex<Rng>>,
    pub(super) is_calm: Arc<AtomicBool>,
    is_dead: AtomicBool,
    state: Mutex<MemberState>,
    woken: Notify,
    /// Those that were begun since the last poll.
    begun: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// What a life begins with.
pub(super) struct MemberBirth {
    pub(super) life: u64,
    pub(super) server: Arc<LeaseServer>,
    pub(super) chance: Arc<Mutex<Rng>>,
    pub(super) is_calm: Arc<AtomicBool>,
    pub(super) plan: FleetPlan,
}

impl FleetMember {
    pub(super) fn new(birth: MemberBirth) -> Self {
        let clock = SimClock::new();
        let (skew_ms, rate) = {
            let mut rng = birth.chance.lock().unwrap_or_else(PoisonError::into_inner);
            (rng.between(0, 60_000) as i64, rng.between(980, 1_020))
        };
        clock.jump(skew_ms - 30_000);
        Self {
            life: birth.life,
            server: birth.server,
            clock,
            began: Instant::now(),
            rate: rate as u32,
            crash: birth.plan.crash,
            freeze: birth.plan.freeze,
            cut: birth.plan.cut,
            lock: birth.plan.lock,
            lease: birth.plan.lease,
            chance: birth.chance,
            is_calm: birth.is_calm,
            is_dead: AtomicBool::new(false),
            state: Mutex::default(),
            woken: Notify::new(),
            begun: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        let mut rng = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        draw(&mut rng)
    }

    /// Whether something goes wrong, this often in a thousand.
    pub(super) fn chance(&self, per_mille: u32) -> bool {
        let is_calm = self.is_calm.load(Ordering::Relaxed);
        !is_calm && per_mille > 0 && self.draw(|rng| rng.chance(per_mille))
    }

    /// The time since it began, by a clock of its own that is never set.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed() * self.rate / 1_000
    }

    /// Begins something that goes on whoever waits for it, as long as the process lives.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.begun().push(Box::pin(task));
        self.woken.notify_one();
    }

    pub(super) fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        self.woken.notify_one();
    }

    pub(super) fn stand_still(&self, length: Duration) {
        self.state().frozen_until = Some(Instant::now() + length);
        self.woken.notify_one();
    }

    pub(super) fn break_connection(&self, way: CutWay, length: Duration) {
        self.state().broken = Some((way, Instant::now() + length));
    }

    pub(super) fn cut_now(&self) -> Option<CutWay> {
        let (way, until) = self.state().broken?;
        (Instant::now() < until).then_some(way)
    }

    /// Everything that happened to it is over.
    pub(super) fn heal(&self) {
        *self.state() = MemberState::default();
        self.woken.notify_one();
    }

    /// What goes wrong with one statement: its connection, how long it waits for a lock, and for how long the standby does not
    /// have what it wrote though its answer is lost.
    pub(super) fn misfortune(&self) -> (Option<CutWay>, Duration, Option<Duration>) {
        let is_cut = self.chance(self.cut);
        let cut = match self.cut_now() {
            None if is_cut => Some(self.draw(|rng| rng.pick(&[CutWay::There, CutWay::Back]))),
            cut => cut,
        };
        let lock_ms = match self.chance(self.lock) {
            true => self.draw(|rng| rng.pick(&[20, 500, 2_000, 6_000])),
            false => 0,
        };
        let is_behind = cut == Some(CutWay::Back) && self.chance(400);
        let lag = is_behind.then(|| self.draw(|rng| Duration::from_millis(rng.between(50, 3_000))));
        (cut, Duration::from_millis(lock_ms), lag)
    }

    /// Lives until it dies.
    pub(super) async fn live(self: Arc<Self>) {
        let mut tasks: Vec<BoxFuture<'static, ()>> = vec![];
        let mut thaw = Box::pin(tokio::time::sleep(Duration::ZERO));
        let mut woken = Box::pin(self.woken.notified());
        std::future::poll_fn(|context| {
            while woken.as_mut().poll(context).is_ready() {
                woken.set(self.woken.notified());
            }
            if self.is_struck() {
                return Poll::Ready(());
            }
            if self.is_frozen(context, &mut thaw) {
                return Poll::Pending;
            }
            self.poll_all(context, &mut tasks);
            Poll::Pending
        })
        .await;
    }

    /// Whether it dies here; it may stand still from here on.
    fn is_struck(&self) -> bool {
        if self.chance(self.freeze) {
            let lease_ms = self.lease.as_millis() as u64;
            let ms = self.draw(|rng| rng.between(lease_ms / 2, lease_ms * 3));
            self.state().frozen_until = Some(Instant::now() + Duration::from_millis(ms));
        }
        let dies = self.is_dead.load(Ordering::Relaxed) || self.chance(self.crash);
        self.is_dead.store(dies, Ordering::Relaxed);
        dies
    }

    pub(super) fn has_died(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    fn is_frozen(&self, context: &mut Context<'_>, thaw: &mut std::pin::Pin<Box<Sleep>>) -> bool {
        let Some(until) = self.state().frozen_until else {
            return false;
        };
        thaw.as_mut().reset(until);
        let is_frozen = thaw.as_mut().poll(context).is_pending();
        if !is_frozen {
            self.state().frozen_until = None;
        }
        is_frozen
    }

    /// Nothing says in which order tasks go on after their process stood still.
    fn poll_all(&self, context: &mut Context<'_>, tasks: &mut Vec<BoxFuture<'static, ()>>) {
        let turn = self.draw(|rng| rng.next_u64()) as usize;
        if !tasks.is_empty() {
            let turn = turn % tasks.len();
            tasks.rotate_left(turn);
        }
        tasks.retain_mut(|task| task.as_mut().poll(context).is_pending());
        loop {
            let begun = std::mem::take(&mut *self.begun());
            if begun.is_empty() {
                return;
            }
            for mut task in begun {
                if task.as_mut().poll(context).is_pending() {
                    tasks.push(task);
                }
            }
        }
    }
}

impl std::fmt::Debug for FleetMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FleetMember {}", self.life)
    }
}
