//! Thousands of seeded fleets: several drivers that share runs by the leases of one server.
//!
//! `BONDED_SIM_SEEDS` says how many, `BONDED_SIM_FROM` with which seed they begin.

use std::io::Write as _;
use std::ops::Range;

use bonded_testkit::fleet_sim::{FleetFeats, FleetPlan, FleetSabotage, FleetWorld};
use bonded_testkit::rng::number;

const SEEDS: u64 = 400;
const THREADS: u64 = 2;

/// Within how many seeds a broken protocol is found.
const FOUND_WITHIN: u64 = 600;

fn seeds() -> Range<u64> {
    let from = number("BONDED_SIM_FROM").unwrap_or(1);
    let count = number("BONDED_SIM_SEEDS").unwrap_or(SEEDS);
    from..from.saturating_add(count)
}

/// What went wrong, and how to see it alone.
fn told(seed: u64, wrong: &[String]) -> String {
    let wrong: Vec<&str> = wrong.iter().take(5).map(String::as_str).collect();
    format!(
        "fleet {seed}: {}\n  alone: BONDED_SIM_FROM={seed} BONDED_SIM_SEEDS=1 cargo test -p bonded-testkit --test leases thousands",
        wrong.join("; ")
    )
}

fn play_all(seeds: impl Iterator<Item = u64>) -> (FleetFeats, Vec<String>) {
    let (mut feats, mut found) = (FleetFeats::new(), vec![]);
    for seed in seeds {
        let history = FleetWorld::new(seed).play();
        for (feat, count) in history.feats {
            *feats.entry(feat).or_default() += count;
        }
        if !history.wrong.is_empty() {
            found.push(told(seed, &history.wrong));
        }
    }
    (feats, found)
}

/// What some hundred fleets show.
const FEATS: [&str; 10] = [
    "cancelled",
    "clock set",
    "cut off back",
    "cut off there",
    "died",
    "failed over",
    "failed over behind",
    "orphaned in the calm",
    "restarted",
    "stood still",
];

#[test]
fn thousands_of_seeded_fleets_keep_every_promise() {
    let seeds = seeds();
    let shares: Vec<(FleetFeats, Vec<String>)> = std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|nth| {
            let share = seeds.clone().filter(move |seed| seed % THREADS == nth);
            scope.spawn(move || play_all(share))
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|it| it.expect("no fleet panics")).collect()
    });
    let (mut feats, mut found) = (FleetFeats::new(), vec![]);
    for (share, broken) in shares {
        for (feat, count) in share {
            *feats.entry(feat).or_default() += count;
        }
        found.extend(broken);
    }
    let worlds = seeds.end - seeds.start;
    let line = format!("simulated {worlds} fleets: {feats:?}\n");
    // Not `println!`: the harness would keep the line to itself when all is well.
    let written = std::io::stdout().write_all(line.as_bytes());
    written.expect("the report is written");
    let (count, shown) = (found.len(), found.join("\n"));
    assert!(count == 0, "{count} fleets broke a promise:\n{shown}");
    if worlds >= SEEDS {
        for feat in FEATS {
            assert!(feats.contains_key(feat), "nothing was ever \"{feat}\"");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_fleet() {
    for seed in 2_820..2_835 {
        let (one, other) = (FleetWorld::new(seed).play(), FleetWorld::new(seed).play());
        assert_eq!((one.feats, one.wrong), (other.feats, other.wrong), "{seed}");
    }
}

/// A part of the protocol that is left out breaks a promise within a few hundred seeds.
fn breaks(sabotage: FleetSabotage, promise: &str) {
    let found = (1..=FOUND_WITHIN).find_map(|seed| {
        let mut plan = FleetPlan::of(seed);
        plan.sabotage = sabotage;
        let wrong = FleetWorld::planned(seed, plan).play().wrong;
        let is_it = wrong.iter().any(|it| it.contains(promise));
        is_it.then_some((seed, wrong))
    });
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{sabotage:?} breaks nothing"));
    let line = format!("{sabotage:?} is found by seed {seed}: {}\n", wrong[0]);
    let written = std::io::stdout().write_all(line.as_bytes());
    written.expect("it is told");
}

#[test]
fn an_append_without_its_epoch_is_found() {
    breaks(FleetSabotage::AppendWithoutEpoch, "overtaken");
}

#[test]
fn a_lease_that_is_counted_from_the_answer_is_found() {
    breaks(FleetSabotage::CountedFromAnswer, "lease that is over");
}

#[test]
fn a_driver_that_does_not_look_at_its_lease_is_found() {
    breaks(FleetSabotage::DriverGoesOn, "lease that is over");
}

#[test]
fn a_run_that_a_process_holds_without_knowing_it_is_found() {
    breaks(FleetSabotage::StraysAreKept, "ends at []");
}

#[test]
fn a_lost_answer_that_is_settled_by_a_read_is_found() {
    breaks(FleetSabotage::SettledByRead, "acknowledged");
}

#[test]
fn a_run_that_is_taken_with_its_old_epoch_is_found() {
    breaks(FleetSabotage::TakenWithoutEpoch, "overtaken");
}
