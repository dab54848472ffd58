//! The storm: writers at work, a server that is killed and started again, and the calm after it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bonded_kernel::{Memory, Millis, RUN_ID_KEY};
use rustix::process::Signal;
use serde_json::json;

use crate::client::Request;
use crate::model;
use crate::place::Place;
use crate::remains::Remains;
use crate::rng::Rng;
use crate::rules::{self, Kind, World};
use crate::server::{Server, Shared};
use crate::writer::Writer;

const WRITERS: u64 = 4;

/// Runs that take longer to come to rest than this, for each kill, never will.
const REST_PER_KILL: Duration = Duration::from_secs(10);
const REST_MIN: Duration = Duration::from_secs(120);

/// How long a server is let alone at most once it listens.
const CALM_MS: u64 = 1500;

/// Lets writers write, sends the server one of these signals so often, and waits until all runs have ended.
pub(crate) fn storm(kills: u64, seed: u64, signals: &[Signal]) -> Remains {
    let shared = Arc::new(Shared::default());
    let model = model::serve(shared.clone());
    let config = json!({ "automation": { "allowed_providers": [format!("lmstudio={model}")] } });
    let place = Place::with_config(&config);
    let mut server = Server::begin(&place, &shared);
    let took = server.wait();
    let world = rules::furnish(&shared, &model);
    let scheduled_from = now();
    let mut told = vec![];
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| writer(number, seed, &shared, &world))
            .map(|writer| scope.spawn(move || writer.work()))
            .collect();
        let mut rng = Rng::of(seed, WRITERS);
        let over = Over(&shared);
        for _ in 0..kills {
            wait_for_moment(&mut rng, took, &server, &shared);
            let signal = *rng.one_of(signals);
            check_lines(&server.restart(&place, signal));
        }
        drop(over);
        told = writers.into_iter().map(joined).collect();
    });
    let scheduled_until = stop_schedule(&shared, &world);
    let patience = REST_MIN.max(REST_PER_KILL * u32::try_from(kills).unwrap_or(u32::MAX));
    rest(&shared, &world, patience);
    let data = place.path("data");
    wait_for_memories(
        world.rules.iter().map(|rule| rule.memory_in(&data)),
        patience,
    );
    let mut remains = Remains::seen(place, &shared, world, told);
    remains.scheduled = (scheduled_from, scheduled_until.0, scheduled_until.1);
    check_lines(&server.kill());
    remains.read();
    remains
}

/// Lets the writers come to their end, also where a check fails: whoever fails waits for them.
pub(crate) struct Over<'a>(pub(crate) &'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn joined<T>(worker: thread::ScopedJoinHandle<'_, T>) -> T {
    match worker.join() {
        Ok(told) => told,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn writer(number: u64, seed: u64, shared: &Arc<Shared>, world: &World) -> Writer {
    let workspace = &world.workspaces[(number % 2) as usize];
    let rule = |kind| {
        let rule = world.rules.iter().find(|it| it.kind == kind);
        rule.expect("there is one of each kind").rule_id.to_string()
    };
    let launched = (number == 0).then(|| [Kind::Manual, Kind::GivenUp].map(rule));
    Writer::new(number, seed, shared.clone(), workspace, launched)
}

/// A server says nothing that a person would have to act on. That the usual provider is away is no matter: every rule
/// names its own.
pub(crate) fn check_lines(lines: &[String]) {
    let bad = ["panicked", "error:", "rules:"];
    let found: Vec<&String> = lines
        .iter()
        .filter(|line| !line.starts_with("provider: "))
        .filter(|line| bad.iter().any(|word| line.contains(word)))
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

/// A moment for a kill: while the server starts and recovers, while it works, while a write is under way, or when the
/// model has just said the last words of a run.
fn wait_for_moment(rng: &mut Rng, took: Duration, server: &Server, shared: &Shared) {
    let start_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    match rng.below(4) {
        0 => thread::sleep(Duration::from_micros(rng.below(start_us * 2))),
        1 => {
            server.wait();
            thread::sleep(Duration::from_millis(rng.below(CALM_MS)));
        }
        2 => aim(server, &shared.writes_sent, rng.below(300), rng.below(6000)),
        _ => aim(
            server,
            &shared.last_replies,
            rng.below(300),
            rng.below(60_000),
        ),
    }
}

/// Waits, lets something happen once more, and waits for a moment within it.
pub(crate) fn aim(server: &Server, counted: &AtomicU64, first_ms: u64, then_us: u64) {
    server.wait();
    thread::sleep(Duration::from_millis(first_ms));
    let before = counted.load(Ordering::Relaxed);
    let began = Instant::now();
    while counted.load(Ordering::Relaxed) == before
        && began.elapsed() < Duration::from_millis(CALM_MS)
    {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(Duration::from_micros(then_us));
}

/// Lets no more instants come; gives the moments between which that happened.
fn stop_schedule(shared: &Shared, world: &World) -> (Millis, Millis) {
    let before = now();
    for rule in world.rules.iter().filter(|it| it.kind == Kind::Cron) {
        let answer = shared.insist(&Request {
            method: "PATCH",
            path: format!("/api/automation/rules/{}", rule.rule_id),
            key: "stop".into(),
            body: Some(json!({ "enabled": false })),
        });
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    (before, now())
}

/// Waits until no run is queued or under way, and none follows.
fn rest(shared: &Shared, world: &World, patience: Duration) {
    let began = Instant::now();
    let mut quiet = 0;
    while quiet < 3 {
        let open: usize = ["queued", "running"]
            .iter()
            .flat_map(|status| world.workspaces.iter().map(move |it| (status, it)))
            .map(|(status, workspace)| {
                let path = format!("/api/automation/runs?workspace_id={workspace}&status={status}");
                shared.list(&path, "runs").len()
            })
            .sum();
        quiet = if open == 0 { quiet + 1 } else { 0 };
        assert!(
            began.elapsed() < patience,
            "{open} runs have not ended after {patience:?}"
        );
        thread::sleep(Duration::from_millis(150));
    }
}

/// A run that is cancelled has ended for everybody at once, and its driver learns of it a little later: the memory has
/// come to rest when no run's name is in it any more.
fn wait_for_memories(files: impl Iterator<Item = PathBuf>, patience: Duration) {
    let began = Instant::now();
    let is_used = |file: &PathBuf| {
        let content = std::fs::read_to_string(file).unwrap_or_default();
        Memory::read(&content).is_some_and(|memory| memory.get(RUN_ID_KEY).is_some())
    };
    for file in files {
        while is_used(&file) {
            assert!(
                began.elapsed() < patience,
                "no run is under way, and after {patience:?} {file:?} still names one"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.expect("the clock is set");
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
