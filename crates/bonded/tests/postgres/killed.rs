//! Drivers that are killed, and others that take their runs over.

use std::time::Duration;

use bonded_testkit::done::kill;
use bonded_testkit::place::{call, done, of_kind, start, with};
use bonded_testkit::rng::{Rng, seed, tell};
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE: Duration = Duration::from_secs(2);
const CALLS: usize = 12;
const KILLS: usize = 6;

/// What a busy machine adds to a lease: processes are started and asked for who drives.
const BUSY: Duration = Duration::from_secs(40);

fn lines() -> Vec<Value> {
    let calls = (0..CALLS).map(|n| {
        let line = call("run", json!({ "command": format!("echo {n} >> ran") }));
        with(line, "delay_ms", 40)
    });
    calls.chain([done("ok")]).collect()
}

#[test]
fn a_run_whose_drivers_are_killed_is_taken_over_after_a_lease_and_repeats_nothing() {
    let Some(shop) = Shop::new(LEASE.as_millis() as u64) else {
        return;
    };
    let seed = seed("BONDED_CRASH_SEED");
    let mut rng = Rng::of(seed, 0);
    tell(&format!("BONDED_CRASH_SEED={seed}"));
    let script = shop.place.script(&lines());
    // Three calls in a row whose outcome is unknown would end it, wherever the kills fall.
    let words = [
        "run",
        "--id",
        "run",
        "--no-progress",
        "0",
        "--model",
        &script,
        "the goal",
    ];
    let mut driver = start(&mut shop.place.command(&words));
    shop.place.wait_for_entry("run", 1, "attempt_started");
    for _ in 0..KILLS {
        // The moment is what is tried.
        std::thread::sleep(Duration::from_millis(rng.below(400)));
        kill(driver);
        let (next, after) = shop.take_over();
        assert!(after < LEASE + BUSY, "it was nobody's for {after:?}");
        driver = next;
    }
    kill(driver);
    shop.finish().succeeds();
    check(&shop);
}

/// Each call was executed once; or, where its outcome is unknown, at most once.
fn check(shop: &Shop) {
    let mut ran = shop.lines("ran");
    shop.place.check_witness("run", ran.len());
    let before = ran.len();
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), before, "a call was made twice");
    let entries = shop.place.entries("run");
    assert_eq!(of_kind(&entries, "run_ended").len(), 1);
    shop.place.passes_the_audit("run");
}
