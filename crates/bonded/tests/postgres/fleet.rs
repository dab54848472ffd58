//! Workers that are killed and stopped again and again while they drive many runs.
//!
//! `BONDED_FLEET_KILLS` says how often, `BONDED_FLEET_SEED` when.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, of_kind, with};
use bonded_testkit::process::Process;
use bonded_testkit::rng::{Rng, number, seed, tell};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE_MS: u64 = 2_000;
const WORKERS: usize = 4;
const CALLS: usize = 6;
const KILLS_DEFAULT: u64 = 24;
/// Enough that there are runs under way for as long as workers are killed: in tenths.
const RUNS_PER_KILL: u64 = 25;

/// A call that may be made again follows each that may not.
fn lines(id: &str) -> Vec<Value> {
    let calls = (0..CALLS).flat_map(|n| {
        let command = format!("echo {id}-{n} >> ran; sleep 0.05");
        let write = with(call("run", json!({ "command": command })), "delay_ms", 120);
        [write, call("read", json!({ "path": "note" }))]
    });
    calls.chain([done(&format!("answer of {id}"))]).collect()
}

/// One in three is stopped, and goes on when the next one is chosen: for less than its lease, or for longer.
fn disturb(shop: &Shop, rng: &mut Rng, kills: u64) {
    let begin = || shop.worker(&["--concurrent", "2"]);
    let mut workers: Vec<Process> = (0..WORKERS).map(|_| begin()).collect();
    let mut stopped: Vec<Process> = vec![];
    for _ in 0..kills {
        // The moment is what is tried.
        thread::sleep(Duration::from_millis(rng.between(50, 700)));
        let chosen = workers.remove(rng.below(WORKERS as u64) as usize);
        match rng.chance(333) {
            true => {
                chosen.signal(Signal::STOP);
                stopped.push(chosen);
            }
            false => drop(chosen.end(Signal::KILL)),
        }
        if stopped.len() > 2 {
            // It has lost its lease by now, or has it still.
            let woken = stopped.remove(0);
            woken.signal(Signal::CONT);
            workers.push(woken);
        } else {
            workers.push(begin());
        }
    }
    for process in &stopped {
        process.signal(Signal::CONT);
    }
    wait_while_runs_end(shop);
    for worker in workers.into_iter().chain(stopped) {
        worker.end(Signal::TERM).succeeds();
    }
}

/// However many are left: as long as one ends now and then, the others are waited for.
fn wait_while_runs_end(shop: &Shop) {
    let mut left = shop.open();
    while left > 0 {
        wait_until("another run has ended", || shop.open() < left);
        left = shop.open();
    }
}

#[test]
fn many_runs_end_as_undisturbed_whatever_happens_to_their_workers() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let seed = seed("BONDED_FLEET_SEED");
    tell(&format!("BONDED_FLEET_SEED={seed}"));
    shop.place.write("work/note", "a note");
    let kills = number("BONDED_FLEET_KILLS").unwrap_or(KILLS_DEFAULT);
    let runs = kills * RUNS_PER_KILL / 10;
    let ids: Vec<String> = (0..runs).map(|n| format!("r{n}")).collect();
    // Kills that fall into one call again and again would end it.
    let flags = ["--no-progress", "0"];
    for_all(&ids, |id| shop.queue(id, &lines(id), &flags));
    disturb(&shop, &mut Rng::of(seed, 0), kills);
    let again = "SELECT count(*) FROM bonded.drive WHERE epoch > 2";
    let again = shop.database.sql(again);
    assert_ne!(again, "0", "no run was ever taken over");
    tell(&format!("{again} runs were taken over"));
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for line in shop.lines("ran") {
        *ran.entry(line).or_default() += 1;
    }
    assert!(ran.values().all(|times| *times == 1), "twice: {ran:?}");
    for_all(&ids, |id| check(&shop, id, &ran));
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
fn for_all(ids: &[String], act: impl Fn(&str) + Sync) {
    thread::scope(|scope| {
        for part in ids.chunks(ids.len().div_ceil(4)) {
            scope.spawn(|| part.iter().for_each(|id| act(id)));
        }
    });
}
