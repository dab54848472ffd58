//! The protocol of leases and epochs as a small model, all of whose states are looked at.
//!
//! Time goes in ticks. A message arrives at any time, or its connection breaks while it is under way; a statement that was
//! sent may be carried out when nobody waits for it any more. Workers crash, are stopped and go on; a standby takes over
//! with what it has. A worker that is stopped is one of which no step comes, whatever its lease. The run has effects that
//! may not be begun twice, each between its entry and that of its outcome.

mod model;
mod search;

use std::io::Write as _;

use model::{Budget, State, Variant};
use search::explore;

/// Looks at everything, and says how much it was.
fn hold(workers: usize, effects: u8, budget: Budget) -> usize {
    let explored = explore(State::new(workers, effects, budget), Variant::Sound);
    if let Some(found) = &explored.broken {
        panic!("{}", found.render());
    }
    assert_eq!(explored.stuck, 0, "the run can end from every state");
    explored.states
}

const fn budget(crashes: u8, losses: u8, failovers: u8, leases: u8) -> Budget {
    Budget {
        crashes,
        losses,
        failovers,
        leases,
        releases: 0,
    }
}

/// A worker may give the run up before it has ended.
const fn releasing(budget: Budget) -> Budget {
    Budget {
        releases: 1,
        ..budget
    }
}

/// The numbers are those of the documents: a model that loses states proves less.
#[test]
fn no_state_of_two_workers_with_a_broken_connection_breaks_a_promise() {
    assert_eq!(hold(2, 1, budget(0, 1, 0, 2)), 75_643);
}

#[test]
fn no_state_of_two_workers_of_which_one_gives_the_run_up_breaks_a_promise() {
    assert_eq!(hold(2, 1, releasing(budget(0, 0, 0, 2))), 91_430);
}

#[test]
fn no_state_of_two_workers_with_a_crash_and_a_failover_breaks_a_promise() {
    assert_eq!(hold(2, 1, budget(1, 0, 1, 2)), 84_427);
}

#[test]
fn no_state_of_three_workers_breaks_a_promise() {
    assert_eq!(hold(3, 1, budget(0, 0, 0, 2)), 27_839);
}

#[test]
fn no_state_of_two_workers_with_two_effects_breaks_a_promise() {
    assert_eq!(hold(2, 2, budget(0, 0, 0, 2)), 31_095);
}

/// All of it at once takes minutes: where `BONDED_MODEL_LARGE` is set.
#[test]
fn no_state_breaks_a_promise_where_everything_happens() {
    if std::env::var_os("BONDED_MODEL_LARGE").is_none() {
        return;
    }
    for (workers, effects, budget) in [
        (2, 1, budget(1, 1, 1, 2)),
        (2, 1, releasing(budget(0, 1, 0, 2))),
        (2, 2, budget(0, 1, 0, 2)),
        (3, 1, budget(0, 0, 0, 3)),
    ] {
        let states = hold(workers, effects, budget);
        let line = format!("{workers} workers, {effects} effects, {budget:?}: {states} states\n");
        let written = std::io::stdout().write_all(line.as_bytes());
        written.expect("it is told");
    }
}

/// The shortest way to where a broken protocol breaks its promise, by what it breaks.
fn breaks(variant: Variant, promise: &str) {
    breaks_within(budget(0, 1, 1, 2), variant, promise);
}

fn breaks_within(budget: Budget, variant: Variant, promise: &str) {
    let explored = explore(State::new(2, 1, budget), variant);
    let found = explored
        .broken
        .unwrap_or_else(|| panic!("{variant:?} breaks nothing"));
    assert!(
        found.promise.contains(promise),
        "{variant:?}: {}",
        found.render()
    );
}

#[test]
fn a_server_that_answers_before_the_standby_has_it_loses_what_it_acknowledged() {
    breaks(Variant::AnsweredUnsynced, "acknowledged");
}

#[test]
fn a_lost_answer_that_is_settled_by_a_read_loses_what_it_acknowledged() {
    breaks(Variant::SettledByRead, "acknowledged");
}

#[test]
fn a_lease_that_is_counted_from_the_answer_is_acted_on_when_it_is_over() {
    breaks(Variant::CountedFromAnswer, "lease");
}

#[test]
fn a_driver_that_does_not_look_at_its_clock_acts_on_a_lease_that_is_over() {
    breaks(Variant::DriverGoesOn, "lease");
}

#[test]
fn an_append_that_names_no_epoch_is_taken_from_a_worker_that_was_overtaken() {
    breaks(Variant::AppendWithoutEpoch, "overtaken");
}

#[test]
fn a_run_that_is_taken_with_the_old_epoch_takes_appends_of_its_last_driver() {
    breaks(Variant::TakenWithoutEpoch, "overtaken");
}

#[test]
fn a_run_that_is_found_again_under_its_old_claim_is_freed_by_a_late_release() {
    let budget = releasing(budget(0, 1, 0, 2));
    breaks_within(budget, Variant::FoundByRead, "lease");
}

#[test]
fn a_driver_that_makes_an_unfinished_call_again_makes_it_twice() {
    breaks(Variant::RepeatsInterrupted, "twice");
}
