//! When signals are sent.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use bonded_testkit::signals::sent;
use rustix::process::Signal;

use crate::rng::{Rng, seed, tell};

pub(crate) use bonded_testkit::signals::signalled;

const SEED: &str = "BONDED_SIGNAL_SEED";

/// Tries something with each signal at each of its moments. The moments lie within the time that it takes undisturbed.
pub(crate) fn each(
    name: &str,
    undisturbed: impl FnOnce(),
    act: impl Fn(Signal, &mut Rng, Duration),
) {
    let seed = seed(SEED);
    let part = name.bytes().map(u64::from).sum();
    let mut rng = Rng::of(seed, part);
    let began = Instant::now();
    undisturbed();
    let within = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let sent = sent(&mut rng);
    for signal in &sent {
        let after = Duration::from_micros(rng.below(within.max(1)));
        let one = AssertUnwindSafe(|| act(*signal, &mut rng, after));
        if let Err(panic) = catch_unwind(one) {
            tell(&format!(
                "{name}: {signal:?} after {after:?}, {SEED}={seed}"
            ));
            resume_unwind(panic);
        }
    }
    tell(&format!("{name}: {} signals, {SEED}={seed}", sent.len()));
}
