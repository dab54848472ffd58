//! A world: one run, driven by the real driver from process to process until it ends.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::{Goal, Host, HostError};
use bonded_kernel::{Run, RunId};
use bonded_state::{Store as _, StoreError};
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;

use super::history::History;
use super::judge::{judge, outsider};
use super::ledger::Place;
use super::model::{Asked, SimModel};
use super::plan::Plan;
use super::process::{Process, Shared};
use super::store::SimStore;
use super::tool::SimTools;

/// More processes than any world needs: crashes are counted, and store faults are rare.
const PROCESSES_MAX: u32 = 200;

/// Longer than any delay of a world: a process that still waits then waits for nothing.
const LIFETIME_MAX: Duration = Duration::from_secs(20 * 24 * 3600);

/// A driver notices soon that its run was ended by somebody else, whatever it waits for. The store's delays
/// and the pauses between its tries may come before that.
const LETTING_GO_MS_MAX: u64 = 10_000;

/// A seeded world. Everything that happens in it follows from the seed.
#[derive(Clone, Debug)]
pub struct World {
    seed: u64,
    plan: Plan,
}

/// How the life of a process ended.
enum Life {
    Ended(Box<Run>),
    /// The run waits for a person.
    Paused(Box<Run>),
    /// The driver gave up with an error, as a process does whose disk is failing.
    GaveUp,
    Died,
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self::planned(seed, Plan::of(seed))
    }

    /// A world in which the seed decides only what the plan leaves open.
    pub fn planned(seed: u64, plan: Plan) -> Self {
        Self { seed, plan }
    }

    /// Lets the world happen, in virtual time.
    pub fn play(&self) -> History {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without IO needs nothing from the system");
        runtime.block_on(self.unfold())
    }

    async fn unfold(&self) -> History {
        let id = RunId::new(&format!("world-{}", self.seed)).expect("digits name a run");
        let shared = Arc::new(Shared::new(self.seed, self.plan.clone(), id));
        let asked = Asked::default();
        let mut live = None;
        for number in 0..PROCESSES_MAX {
            let process = Arc::new(Process::new(shared.clone(), number));
            let life = Box::pin(live_once(&process, asked.clone())).await;
            match life {
                Life::Ended(run) => {
                    let goes_on = shared.wants_more_of(&run);
                    live = Some(*run);
                    if !goes_on {
                        break;
                    }
                    between_processes(&shared).await;
                }
                Life::Paused(run) => judge(&shared, &run).await,
                Life::GaveUp | Life::Died => between_processes(&shared).await,
            }
        }
        History::of(&shared, live).await
    }
}

/// A while passes before somebody starts the program again, and the machine's clock may be set meanwhile.
async fn between_processes(shared: &Shared) {
    let pause_ms = shared.draw(|rng| rng.pick(&[0, 0, 500, 3_600_000]));
    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    if shared.chance(shared.plan.faults.clock * 5) {
        let by_ms = shared.draw(|rng| rng.between(0, 7_200_000)) as i64;
        shared.clock.jump(by_ms - 3_600_000);
    }
}

async fn live_once(process: &Arc<Process>, asked: Asked) -> Life {
    let host = Host {
        store: Arc::new(SimStore::new(process.clone())),
        transport: Arc::new(SimModel::new(process.clone(), asked)),
        tools: Arc::new(SimTools::new(process.clone())),
        clock: Arc::new(process.shared.clock.clone()),
        children: None,
        secrets: Arc::default(),
        live: None,
        watch: None,
        interrupt: bonded_host::CancellationToken::new(),
        drain: bonded_host::CancellationToken::new(),
    };
    let mut driving = pin!(drive(&host, process));
    let mut meddling = pin!(meddle(process).fuse());
    let mut ticking = pin!(process.disturb_clock_in_time().fuse());
    let mut dying = pin!(die_in_time(process).fuse());
    let mut stuck = pin!(tokio::time::sleep(LIFETIME_MAX));
    loop {
        tokio::select! {
            biased;
            () = process.died() => return Life::Died,
            result = &mut driving => return life_of(process, result),
            () = &mut meddling, if !meddling.is_terminated() => {}
            () = &mut ticking, if !ticking.is_terminated() => {}
            () = &mut dying, if !dying.is_terminated() => {}
            () = &mut stuck => {
                process.shared.complain(format!("process {} waits for ever", process.number));
                return Life::Died;
            }
        }
    }
}

/// Starts the run, or takes it up where it stands, in any of the ways that a host offers.
async fn drive(host: &Host, process: &Process) -> Result<Run, HostError> {
    let shared = &process.shared;
    let is_new = shared.head().seq == 0;
    let by_name = shared.draw(|rng| rng.chance(500));
    let (id, cancel) = (shared.run.clone(), process.cancel.clone());
    if process.number > 0 {
        shared.ledger().tally.resumes += u64::from(!is_new);
    }
    let goal = Goal {
        text: format!("reach the end of world {}", shared.seed).into(),
        system: "Work with the tools.".into(),
        images: vec![],
        config: shared.plan.config.clone(),
    };
    if let Some(given) = shared.goal_to_give() {
        return host.pursue(&id, given, cancel).await;
    }
    match (by_name && shared.goals_given() == 0, is_new) {
        (true, _) => host.run_as(id, goal, cancel).await,
        (false, true) => host.run(id, goal, cancel).await,
        (false, false) => host.resume(&id, cancel).await,
    }
}

fn life_of(process: &Process, result: Result<Run, HostError>) -> Life {
    let late_ms = process.late_ms();
    if late_ms > LETTING_GO_MS_MAX {
        let complaint = format!("the driver let go {late_ms} ms after the run was ended");
        process.shared.complain(complaint);
    }
    let unexpected = match result {
        Ok(run) if run.waiting_call().is_some() => return Life::Paused(Box::new(run)),
        Ok(run) => return Life::Ended(Box::new(run)),
        Err(HostError::Store(StoreError::Io { .. } | StoreError::Conflict { .. })) => None,
        Err(error) => Some(error),
    };
    if let Some(error) = unexpected {
        let complaint = format!("process {} ended with: {error}", process.number);
        process.shared.complain(complaint);
    }
    Life::GaveUp
}

async fn die_in_time(process: &Process) {
    if let Some(ms) = process.lifetime_ms() {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        process.die(Place::AtATime);
    }
}

/// Somebody else with access to the same log: cancels the run, or tries to take it from its driver.
async fn meddle(process: &Process) {
    let shared = &process.shared;
    if !shared.chance(shared.plan.faults.meddling) {
        return;
    }
    let after_ms = shared.draw(|rng| rng.between(0, 30_000));
    tokio::time::sleep(Duration::from_millis(after_ms)).await;
    if shared.head().seq == 0 {
        return;
    }
    if shared.draw(|rng| rng.chance(700)) {
        return rob(process).await;
    }
    // The outsider is not struck by this process's death: it has a life of its own.
    let host = outsider(shared, process.number);
    shared.ledger().tally.cancels += 1;
    match host.cancel(&shared.run, "cancelled from outside").await {
        Ok(run) if run.termination().is_some() => process.note_outside_end(),
        Ok(_) => shared.complain("a cancelled run goes on".into()),
        Err(error) => shared.complain(format!("cancelling from outside failed: {error}")),
    }
}

/// A run that a living process drives cannot be taken from it.
async fn rob(process: &Process) {
    let shared = &process.shared;
    let robber = shared.log.another();
    let claimed = robber.claim(&shared.run).await;
    let loaded = shared.log.load(&shared.run, 0).await;
    let has_ended = loaded.is_ok_and(|entries| {
        let last = entries.last();
        last.is_some_and(|entry| entry.event.kind() == "run_ended")
    });
    if claimed.is_ok() && !has_ended && process.holds_run() {
        shared.complain("a run was taken from a living process".into());
    }
}
