//! Crashes not by chance but everywhere: one world for each place that a run passes.

use bonded_testkit::sim::{Faults, History, Manner, Plan, Tally, Temper, World, check};

/// How many calm runs are broken at each of their places.
const RUNS: u64 = 12;

/// A run in which nothing goes wrong but the deaths that are planned.
fn calm(seed: u64) -> Plan {
    let mut plan = Plan::of(seed);
    plan.faults = Faults::NONE;
    plan.temper = Temper::Diligent;
    plan.crashes_max = 0;
    plan.provider_lies = false;
    plan.config.limits.turns_max = 5;
    plan
}

fn play(plan: &Plan, seed: u64, crashes_at: &[u64]) -> Tally {
    history(plan, seed, crashes_at).tally
}

fn history(plan: &Plan, seed: u64, crashes_at: &[u64]) -> History {
    let mut plan = plan.clone();
    plan.crashes_at = crashes_at.to_vec();
    let history = World::planned(seed, plan).play();
    let result = check(&history);
    assert!(result.is_ok(), "crashes at {crashes_at:?}: {result:?}");
    history
}

#[test]
fn a_process_may_die_at_any_place_and_twice_in_a_row() {
    crash_everywhere(1..=RUNS);
}

#[test]
fn a_process_of_a_run_that_works_in_loops_may_die_at_any_place_too() {
    let loops = |seed: &u64| Plan::of(*seed).config.looping.is_some();
    crash_everywhere((1..).filter(loops).take(RUNS as usize));
}

/// A refusal and what it teaches are one append: a process dies with the refusal in its hands, or with the lesson in
/// the log and the next request on its way.
#[test]
fn a_process_may_die_right_after_a_refusal_and_right_after_its_lesson() {
    let teaches = |seed: &u64| {
        let plan = Plan::of(*seed);
        let met = plan
            .manners
            .iter()
            .filter(|it| **it != Manner::Easy && it.can_be_met());
        met.count() > 0
    };
    let mut died = 0;
    for seed in (1..).filter(teaches).take(RUNS as usize / 2) {
        let plan = calm(seed);
        for place in 0..play(&plan, seed, &[]).places {
            died += u32::from(died_after_a_lesson(&history(&plan, seed, &[place])));
            play(&plan, seed, &[place, place + 1]);
        }
    }
    assert!(died > 5, "only {died} died after a lesson");
}

/// Whether the request after a lesson was cut off.
fn died_after_a_lesson(history: &History) -> bool {
    let kinds: Vec<&str> = history.entries.iter().map(|it| it.event.kind()).collect();
    let cut = ["target_learned", "attempt_started", "run_resumed"];
    kinds.windows(3).any(|kinds| kinds == cut)
}

fn crash_everywhere(seeds: impl Iterator<Item = u64>) {
    let mut total = Tally::default();
    for seed in seeds {
        let plan = calm(seed);
        let places = play(&plan, seed, &[]).places;
        assert!(
            places > 5,
            "the run of seed {seed} passes {places} places only"
        );
        for place in 0..places {
            let once = play(&plan, seed, &[place]);
            assert_eq!(once.crashes_total(), 1, "seed {seed}, place {place}");
            total.add(&once);
            for gap in [1, 2, 5] {
                total.add(&play(&plan, seed, &[place, place + gap]));
            }
        }
    }
    assert!(
        total.crashes_total() > 1_000,
        "only {} crashes",
        total.crashes_total()
    );
}
