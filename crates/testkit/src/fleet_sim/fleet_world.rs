//! A fleet: its processes, what happens to them, and how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_host::Goal;
use bonded_kernel::{Limits, RunConfig, RunId, Target};
use bonded_state::LeaseTerms;
use tokio::time::{Instant, sleep};

use super::effects::{EffectsSeen, model_name};
use super::fleet_life::{FleetLife, SWEEP};
use super::fleet_plan::FleetPlan;
use super::handle::{LeaseHandle, NOTICED_MS_MAX};
use super::judging::JudgedRun;
use super::lease_server::{LeaseServer, Manner};
use super::member::{CutWay, FleetMember, MemberBirth};
use crate::rng::Rng;

/// Longer than all runs take that nothing happens to.
const LAST_CALM: Duration = Duration::from_secs(300);

/// For the statements of a take.
const STATEMENTS: Duration = Duration::from_millis(1_500);

/// Who cancels is no worker.
const GUEST: u64 = 1_000_000;

/// A seeded fleet.
#[derive(Clone, Debug)]
pub struct FleetWorld {
    seed: u64,
    plan: FleetPlan,
}

/// How often what happened.
pub type FleetFeats = BTreeMap<&'static str, u64>;

/// What is left of a fleet.
#[derive(Clone, Debug)]
pub struct FleetHistory {
    pub seed: u64,
    pub feats: FleetFeats,
    /// What did not hold, in the order in which it was seen.
    pub wrong: Vec<String>,
}

impl FleetWorld {
    pub fn new(seed: u64) -> Self {
        Self::planned(seed, FleetPlan::of(seed))
    }

    /// A fleet in which the seed decides only what the plan leaves open.
    pub fn planned(seed: u64, plan: FleetPlan) -> Self {
        Self { seed, plan }
    }

    /// Lets the world happen, in virtual time.
    pub fn play(&self) -> FleetHistory {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without IO needs nothing from the system");
        runtime.block_on(Box::pin(async {
            // From here on the time is a whole number of ticks, so that a seed makes the same world each time.
            sleep(Duration::from_millis(1)).await;
            Unfolding::new(self).unfold().await
        }))
    }
}

/// A fleet while it happens.
struct Unfolding<'a> {
    seed: u64,
    plan: &'a FleetPlan,
    server: Arc<LeaseServer>,
    rng: Rng,
    /// Drawn from by all processes, in the order in which they come.
    chance: Arc<Mutex<Rng>>,
    is_calm: Arc<AtomicBool>,
    seen: EffectsSeen,
    acknowledged: Arc<Mutex<BTreeSet<(RunId, u64, String)>>>,
    runs: Vec<RunId>,
    members: Vec<Arc<FleetMember>>,
    guest: Arc<FleetLife>,
    lives: u64,
    cancelled: BTreeSet<RunId>,
    feats: FleetFeats,
}

impl<'a> Unfolding<'a> {
    fn new(world: &'a FleetWorld) -> Self {
        let FleetWorld { seed, plan } = world;
        let server = Arc::new(LeaseServer::new(plan.sabotage));
        let chance = Arc::new(Mutex::new(Rng::derive(*seed, "member", &[])));
        let is_calm = Arc::new(AtomicBool::new(false));
        let (seen, acknowledged) = (EffectsSeen::default(), Arc::default());
        let mut steady = plan.clone();
        (steady.crash, steady.freeze) = (0, 0);
        let guest = Arc::new(FleetMember::new(MemberBirth {
            life: GUEST,
            server: Arc::clone(&server),
            chance: Arc::clone(&chance),
            is_calm: Arc::clone(&is_calm),
            plan: steady,
        }));
        let terms = LeaseTerms { length: plan.lease };
        let handle = LeaseHandle::new(guest, terms, plan.sabotage, Arc::clone(&acknowledged));
        let guest = FleetLife::new(Arc::new(handle), Arc::clone(&seen), 0, vec![]);
        let runs = (0..plan.turns.len()).map(|nth| format!("run-{seed}-{nth}"));
        let runs = runs.map(|id| RunId::new(&id).expect("digits name a run"));
        Self {
            seed: *seed,
            plan,
            server,
            rng: Rng::derive(*seed, "fleet events", &[]),
            chance,
            is_calm,
            seen,
            acknowledged,
            runs: runs.collect(),
            members: vec![],
            guest: Arc::new(guest),
            lives: 0,
            cancelled: BTreeSet::new(),
            feats: FleetFeats::new(),
        }
    }

    async fn unfold(mut self) -> FleetHistory {
        tokio::spawn(Arc::clone(&self.guest.member).live());
        self.submit().await;
        for nth in 0..self.plan.members as usize {
            let member = self.begin_life(nth);
            self.members.push(member);
        }
        for _ in 0..2 {
            self.trouble().await;
            self.calm().await;
            self.orphan().await;
        }
        let until = Instant::now() + LAST_CALM;
        while !self.left().is_empty() && Instant::now() < until {
            sleep(SWEEP).await;
        }
        self.judge()
    }

    fn count(&mut self, feat: &'static str) {
        *self.feats.entry(feat).or_default() += 1;
    }

    async fn submit(&self) {
        for (run, turns) in self.runs.iter().zip(&self.plan.turns) {
            let target = Target::new("sim", "sim:0", model_name(run, *turns));
            let goal = Goal {
                text: format!("reach the end of {run}").into(),
                system: "Work with the tools.".into(),
                images: vec![],
                config: RunConfig {
                    limits: Limits {
                        turns_max: 100,
                        attempts_per_turn_max: 1_000,
                        elapsed_ms_max: None,
                        repeats_max: 0,
                        ..Limits::default()
                    },
                    ..RunConfig::new("/simulated", vec![target])
                },
            };
            let entry = self.guest.host.first_entry(run, goal).await;
            let entry = entry.expect("a goal without secrets makes an entry");
            let manner = Manner {
                is_write: true,
                lock: Duration::ZERO,
                lag: None,
            };
            let work = move |it: &mut super::statements::Transaction<'_>| it.submit(&[entry]);
            self.server.send(manner, Box::new(work));
        }
    }

    /// One process of three or four takes nothing from the queue.
    fn is_worker(nth: usize) -> bool {
        nth != 2
    }

    fn begin_life(&mut self, nth: usize) -> Arc<FleetMember> {
        self.lives += 1;
        let member = Arc::new(FleetMember::new(MemberBirth {
            life: self.lives,
            server: Arc::clone(&self.server),
            chance: Arc::clone(&self.chance),
            is_calm: Arc::clone(&self.is_calm),
            plan: self.plan.clone(),
        }));
        let (length, sabotage) = (self.plan.lease, self.plan.sabotage);
        let acknowledged = Arc::clone(&self.acknowledged);
        let terms = LeaseTerms { length };
        let handle = LeaseHandle::new(Arc::clone(&member), terms, sabotage, acknowledged);
        let (seen, runs) = (Arc::clone(&self.seen), self.runs.clone());
        let life = FleetLife::new(Arc::new(handle), seen, self.plan.places, runs);
        let life = Arc::new(life);
        match Self::is_worker(nth) {
            true => member.spawn(life.work()),
            false => member.spawn(life.resume_by_name()),
        }
        tokio::spawn(Arc::clone(&member).live());
        member
    }

    /// The runs that have not ended.
    fn left(&self) -> Vec<RunId> {
        let left = |run: &&RunId| !self.server.look(|rows, _| rows.has_ended(run));
        self.runs.iter().filter(left).cloned().collect()
    }

    async fn trouble(&mut self) {
        self.is_calm.store(false, Ordering::Relaxed);
        let until = Instant::now() + self.plan.trouble;
        let pause_ms = self.plan.pause.as_millis() as u64;
        while Instant::now() < until && !self.left().is_empty() {
            let wait_ms = self.rng.between(0, pause_ms * 2);
            sleep(Duration::from_millis(wait_ms)).await;
            self.restart(400);
            self.happen();
        }
    }

    /// Processes that died are started again, each this often in a thousand.
    fn restart(&mut self, per_mille: u32) {
        for nth in 0..self.members.len() {
            if self.members[nth].has_died() && self.rng.chance(per_mille) {
                self.members[nth] = self.begin_life(nth);
                self.count("restarted");
            }
        }
    }

    fn happen(&mut self) {
        let member = Arc::clone(self.rng.one_of(&self.members));
        let lease_ms = self.plan.lease.as_millis() as u64;
        let a_while = Duration::from_millis(self.rng.between(lease_ms / 4, lease_ms * 3));
        if self.rng.chance(self.plan.cancel) {
            self.cancel();
        }
        let is_behind = self.server.is_behind();
        match self.rng.below(12) {
            0 | 1 => {
                self.count("stood still");
                member.stand_still(a_while);
            }
            2 => {
                self.count("died");
                member.die();
            }
            3 => {
                self.count("cut off there");
                member.break_connection(CutWay::There, a_while);
            }
            4 => {
                self.count("cut off back");
                member.break_connection(CutWay::Back, a_while);
            }
            5 => {
                self.count("clock set");
                let by_ms = self.rng.between(0, 60_000) as i64;
                member.clock.jump(by_ms - 30_000);
            }
            6 => {
                self.count("failed over");
                self.server.fail_over();
            }
            7..=10 if is_behind => {
                self.count("failed over behind");
                self.server.fail_over();
            }
            _ => {}
        }
    }

    fn cancel(&mut self) {
        let run = self.rng.one_of(&self.runs).clone();
        self.count("cancelled");
        self.cancelled.insert(run.clone());
        let guest = Arc::clone(&self.guest);
        let member = Arc::clone(&guest.member);
        member.spawn(async move {
            // One that fails says nothing, and one that finds an end has only read it.
            let _cancelled = guest.host.cancel(&run, "cancelled by a guest").await;
        });
    }

    /// Nothing goes wrong any more, and what did is over.
    async fn calm(&mut self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.restart(1_000);
        for member in self.members.iter().chain([&self.guest.member]) {
            member.heal();
        }
        sleep(Duration::from_millis(NOTICED_MS_MAX)).await;
        while !self.server.is_level() {
            sleep(SWEEP).await;
        }
    }

    /// A process dies in the calm: whatever it drove is driven by another one when its lease is over and was swept up.
    async fn orphan(&mut self) {
        let holder = |run: &RunId| {
            let look = |rows: &super::lease_rows::LeaseRows, now| {
                rows.holder(run, now).map(|holder| holder.life)
            };
            self.server.look(look)
        };
        let left = self.left();
        let Some((run, life)) = left
            .iter()
            .find_map(|run| Some((run.clone(), holder(run)?)))
        else {
            return;
        };
        let (nth, places) = (
            self.members.iter().position(|it| it.life == life),
            self.plan.places,
        );
        let workers = |dead| {
            let alive = (0..self.members.len()).filter(|it| Self::is_worker(*it) && *it != dead);
            alive.count()
        };
        let Some(nth) = nth.filter(|nth| workers(*nth) * places >= left.len()) else {
            return;
        };
        self.members[nth].die();
        sleep(self.plan.lease + SWEEP + STATEMENTS).await;
        let is_taken = |rows: &super::lease_rows::LeaseRows, now| {
            let holder = rows.holder(&run, now).map(|it| it.life);
            rows.has_ended(&run) || holder.is_some_and(|it| it != life)
        };
        if !self.server.look(is_taken) {
            let wrong = format!("{run} is not taken though its driver is dead");
            self.server.complain(wrong);
        }
        self.count("orphaned in the calm");
        self.restart(1_000);
    }

    fn judge(mut self) -> FleetHistory {
        let mut wrong = self.server.wrong();
        let acknowledged = self.acknowledged.lock();
        let acknowledged = acknowledged.unwrap_or_else(PoisonError::into_inner).clone();
        for (run, turns) in self.runs.iter().zip(&self.plan.turns) {
            let log = self.server.look(|rows, _| {
                let row = rows.drives.get(run);
                row.map(|row| (row.log.clone(), row.epoch))
            });
            let (log, epoch) = log.unwrap_or_default();
            let judged = JudgedRun {
                run,
                log: &log,
                turns: *turns,
                may_be_cancelled: self.cancelled.contains(run),
            };
            wrong.extend(judged.judge().err());
            wrong.extend(judged.judge_acknowledged(&acknowledged).err());
            *self.feats.entry("epochs").or_default() += epoch.unsigned_abs();
            *self.feats.entry("entries").or_default() += log.len() as u64;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.feats.insert("effects", seen.len() as u64);
        FleetHistory {
            seed: self.seed,
            feats: self.feats,
            wrong,
        }
    }
}
