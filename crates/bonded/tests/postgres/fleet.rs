//! Workers that are killed and stopped again and again while they drive many runs.
//!
//! `BONDED_FLEET_KILLS` says how often, `BONDED_FLEET_SEED` when; `BONDED_FLEET_RUNS` and `BONDED_FLEET_WORKERS` how many
//! there are, `BONDED_FLEET_STOP_MS` how long the longest stop is. `BONDED_FLEET_OTHER` names another build of the
//! program, of which every second process is then.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, finish, of_kind, program, start, with};
use bonded_testkit::postgres::PostgresServer;
use bonded_testkit::process::Process;
use bonded_testkit::rng::{Rng, number, seed, tell};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE_MS: u64 = 2_000;
const WORKERS_DEFAULT: u64 = 4;
const CALLS: usize = 6;
const KILLS_DEFAULT: u64 = 24;
/// Longer than a lease.
const STOP_MS_DEFAULT: u64 = 3_000;
/// Enough that there are runs under way for as long as workers are killed: in tenths.
const RUNS_PER_KILL: u64 = 25;

/// How much is disturbed, and by what.
struct Fleet {
    shop: Shop,
    programs: Vec<PathBuf>,
    workers: usize,
    kills: u64,
    stop_ms: u64,
}

/// A worker that is stopped for a while.
struct StoppedWorker {
    process: Process,
    until: Instant,
}

impl StoppedWorker {
    fn wake(self) -> Process {
        self.process.signal(Signal::CONT);
        self.process
    }
}

impl Fleet {
    fn new() -> Option<Self> {
        let other = std::env::var_os("BONDED_FLEET_OTHER").map(PathBuf::from);
        let workers = number("BONDED_FLEET_WORKERS").unwrap_or(WORKERS_DEFAULT);
        let database = PostgresServer::shared()?.database();
        let address = format!("{}&bonded_lease_ms={LEASE_MS}", database.address("app"));
        // The older program makes the store, which the newer one must be able to use as it is.
        let maker = other.clone().unwrap_or_else(program);
        Some(Self {
            shop: Shop::made_by(&maker, database, &address),
            programs: [program()].into_iter().chain(other).collect(),
            workers: workers as usize,
            kills: number("BONDED_FLEET_KILLS").unwrap_or(KILLS_DEFAULT),
            stop_ms: number("BONDED_FLEET_STOP_MS").unwrap_or(STOP_MS_DEFAULT),
        })
    }

    /// A build of the program, each in its turn.
    fn program(&self, turn: usize) -> &PathBuf {
        &self.programs[turn % self.programs.len()]
    }

    fn queue(&self, ids: &[String]) {
        for_all(ids, |turn, id| {
            let text: String = lines(id).iter().map(|line| format!("{line}\n")).collect();
            let script = self.shop.place.write(&format!("{id}.jsonl"), text);
            let script = format!("script:{}", script.display());
            // Kills that fall into one call again and again would end it.
            let words = [
                "run",
                "--detach",
                "--no-progress",
                "0",
                "--id",
                id,
                "--model",
                &script,
                "the goal",
            ];
            let program = self.program(turn);
            let mut command = self.shop.place.command_of(program, &words);
            finish(start(&mut command)).succeeds();
        });
    }

    fn begin(&self, turn: usize) -> Process {
        let words = ["worker", "--concurrent", "2"];
        let program = self.program(turn);
        let worker = Process::begin(&mut self.shop.place.command_of(program, &words));
        worker.wait_until_told("worker of");
        worker
    }

    /// One in three is stopped for a while, which may be longer than its lease; all others are killed.
    fn disturb(&self, rng: &mut Rng) {
        let mut turns = 0..;
        let mut next = || self.begin(turns.next().unwrap_or_default());
        let mut workers: Vec<Process> = (0..self.workers).map(|_| next()).collect();
        let mut stopped: Vec<StoppedWorker> = vec![];
        for _ in 0..self.kills {
            // The moment is what is tried.
            thread::sleep(Duration::from_millis(rng.between(50, 700)));
            let process = workers.remove(rng.below(workers.len() as u64) as usize);
            match rng.chance(333) {
                true => {
                    process.signal(Signal::STOP);
                    let stop_ms = rng.between(self.stop_ms / 10, self.stop_ms);
                    let until = Instant::now() + Duration::from_millis(stop_ms);
                    stopped.push(StoppedWorker { process, until });
                }
                false => drop(process.end(Signal::KILL)),
            }
            let now = Instant::now();
            let due = stopped.extract_if(.., |it| it.until <= now);
            workers.extend(due.map(StoppedWorker::wake));
            while workers.len() < self.workers {
                workers.push(next());
            }
            note_heads(&self.shop);
        }
        for worker in stopped {
            thread::sleep(worker.until.saturating_duration_since(Instant::now()));
            workers.push(worker.wake());
        }
        wait_while_runs_end(&self.shop);
        for worker in workers {
            worker.end(Signal::TERM).succeeds();
        }
    }
}

/// A call that may be made again follows each that may not.
pub(crate) fn lines(id: &str) -> Vec<Value> {
    let calls = (0..CALLS).flat_map(|n| {
        let command = format!("echo {id}-{n} >> ran; sleep 0.05");
        let write = with(call("run", json!({ "command": command })), "delay_ms", 120);
        [write, call("read", json!({ "path": "note" }))]
    });
    calls.chain([done(&format!("answer of {id}"))]).collect()
}

/// Keeps beside the store what it has acknowledged so far.
fn note_heads(shop: &Shop) {
    shop.database.sql(
        "CREATE TABLE IF NOT EXISTS acknowledged (run bigint, head int, hash bytea, PRIMARY KEY (run, head)); \
         INSERT INTO acknowledged SELECT run, head, hash FROM bonded.drive ON CONFLICT DO NOTHING",
    );
}

fn check_heads(shop: &Shop) {
    let noted = "SELECT count(*) FROM acknowledged";
    assert_ne!(shop.database.sql(noted), "0");
    let missing = "SELECT count(*) FROM acknowledged a WHERE NOT EXISTS \
         (SELECT 1 FROM bonded.step s WHERE s.run = a.run AND s.last = a.head AND s.hash = a.hash)";
    assert_eq!(shop.database.sql(missing), "0", "it was acknowledged");
}

/// However many are left: as long as one ends now and then, the others are waited for.
pub(crate) fn wait_while_runs_end(shop: &Shop) {
    let mut left = shop.open();
    while left > 0 {
        wait_until("another run has ended", || shop.open() < left);
        left = shop.open();
    }
}

#[test]
fn many_runs_end_as_undisturbed_whatever_happens_to_their_workers() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let shop = &fleet.shop;
    let seed = seed("BONDED_FLEET_SEED");
    tell(&format!("BONDED_FLEET_SEED={seed}"));
    shop.place.write("work/note", "a note");
    let runs = number("BONDED_FLEET_RUNS").unwrap_or(fleet.kills * RUNS_PER_KILL / 10);
    let ids: Vec<String> = (0..runs).map(|n| format!("r{n}")).collect();
    fleet.queue(&ids);
    fleet.disturb(&mut Rng::of(seed, 0));
    let again = "SELECT count(*) FROM bonded.drive WHERE epoch > 2";
    let again = shop.database.sql(again);
    assert_ne!(again, "0", "no run was ever taken over");
    tell(&format!("{again} runs were taken over"));
    check_heads(shop);
    check_all(shop, &ids);
}

/// No call was made twice, and each run ended as if nothing had happened.
pub(crate) fn check_all(shop: &Shop, ids: &[String]) {
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for line in shop.lines("ran") {
        *ran.entry(line).or_default() += 1;
    }
    assert!(ran.values().all(|times| *times == 1), "twice: {ran:?}");
    for_all(ids, |_, id| check(shop, id, &ran));
}

/// Each call was executed once; or, where its outcome is unknown, at most once.
fn check(shop: &Shop, id: &str, ran: &BTreeMap<String, usize>) {
    let entries = shop.place.entries(id);
    let finished = of_kind(&entries, "tool_finished");
    let calls: Vec<_> = finished.iter().filter(|it| it["tool"] == "run").collect();
    assert_eq!(calls.len(), CALLS, "{id}: {finished:?}");
    for (n, call) in calls.iter().enumerate() {
        let is_certain = call["outcome"] == "ok";
        let was_made = ran.contains_key(&format!("{id}-{n}"));
        assert!(was_made || !is_certain, "{id}-{n} was never made: {call}");
    }
    let ended = of_kind(&entries, "run_ended");
    assert_eq!(ended.len(), 1);
    let answer = format!("answer of {id}");
    assert!(ended[0].to_string().contains(&answer), "{}", ended[0]);
    shop.place.passes_the_audit(id);
}

/// Four at a time: each starts processes.
fn for_all(ids: &[String], act: impl Fn(usize, &str) + Sync) {
    let ids: Vec<_> = ids.iter().enumerate().collect();
    thread::scope(|scope| {
        for part in ids.chunks(ids.len().div_ceil(4)) {
            let act = &act;
            scope.spawn(move || part.iter().for_each(|(turn, id)| act(*turn, id)));
        }
    });
}
