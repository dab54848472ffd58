//! Every signal to a plan at random moments: whatever stopped it, when it is resumed it comes to the same end.

use std::time::Duration;

use bonded_testkit::signals::{sent, signalled};
use rustix::process::Signal;

use crate::SEED;
use crate::boundary::resolve;
use crate::matrix::{Undisturbed, with_context};
use crate::place::Done;
use crate::plans::{one_item, three_items};
use crate::rng::{Rng, seed, tell};
use crate::runs::Finished;
use crate::world::World;

#[test]
fn a_plan_that_is_sent_any_signal_comes_to_the_same_end_unless_a_person_has_ended_it() {
    let seed = seed(SEED);
    let mut rng = Rng::of(seed, 77);
    let undisturbed = Undisturbed::new(three_items());
    let first = Undisturbed::new(one_item()).end.tree;
    let trees = [&undisturbed.before, &first, &undisturbed.end.tree];
    let sent = sent(&mut rng);
    let within = u64::try_from(undisturbed.took.as_micros()).unwrap_or(u64::MAX);
    for signal in &sent {
        let after = Duration::from_micros(rng.below(within));
        with_context(
            &format!("{signal:?} after {after:?}, {SEED}={seed}"),
            || {
                let world = undisturbed.world();
                let ended = signalled(world.begin(), *signal, after);
                check_end(*signal, &ended);
                world.check_after_kill(&trees, &undisturbed.repository);
                undisturbed.check(&world, &world.finished_if_begun());
            },
        );
    }
    tell(&format!("{} signals to plans, {SEED}={seed}", sent.len()));
}

/// An item of the plan fails by itself, so that a plan that nobody disturbs ends with 1.
fn check_end(signal: Signal, ended: &Done) {
    let is_due = match signal {
        Signal::TERM => matches!(ended.code, Some(143 | 1) | None),
        Signal::HUP => matches!(ended.code, Some(129 | 1) | None),
        Signal::INT => matches!(ended.code, Some(1 | 130) | None),
        // It ends only what has not begun yet, and so has said nothing.
        Signal::PIPE => ended.code == Some(1) || (ended.code.is_none() && ended.stderr.is_empty()),
        _ => matches!(ended.code, Some(1) | None),
    };
    assert!(is_due, "{ended:?}");
}

impl World {
    /// What was finished by now, where anything was begun.
    fn finished_if_begun(&self) -> Finished {
        match resolve(&self.dir(), "store.db") {
            Some(_) => self.finished(),
            None => Finished::default(),
        }
    }
}
