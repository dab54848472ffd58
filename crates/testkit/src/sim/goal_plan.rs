//! Goals that come after an end: how many, within which limits, and whether the run is a conversation.

use bonded_kernel::{GoalGiven, Limits, Money, OverallLimits, RunConfig};

use crate::rng::Rng;

/// Gives some worlds further goals, and makes conversations of some of them. What it draws shifts nothing of the others.
pub(crate) fn make_goals(seed: u64, config: &mut RunConfig) -> Vec<GoalGiven> {
    let mut rng = Rng::derive(seed, "goals", &[]);
    let rng = &mut rng;
    if config.looping.is_some() || !rng.chance(400) {
        return vec![];
    }
    config.conversation = config.agent.is_none() && rng.chance(500);
    config.overall = rng.chance(700).then(|| overall(rng));
    let limits = config.limits.clone();
    (2..=rng.between(2, 4))
        .map(|nth| GoalGiven {
            sums_up: rng.chance(200),
            ..GoalGiven::new(format!("and now goal {nth}"), limits_of(rng, &limits))
        })
        .collect()
}

fn overall(rng: &mut Rng) -> OverallLimits {
    OverallLimits {
        turns_max: rng.chance(400).then(|| rng.pick(&[3, 9, 30]) as u32),
        elapsed_ms_max: rng.chance(300).then(|| rng.between(10_000, 1_800_000)),
        tokens_max: rng.chance(300).then(|| rng.between(4_000, 120_000)),
        cost_max: None,
    }
}

/// What a turn may do is the same for every goal; what may be used in all is not.
fn limits_of(rng: &mut Rng, first: &Limits) -> Limits {
    Limits {
        turns_max: rng.pick(&[1, 2, 4, 8]),
        elapsed_ms_max: rng.chance(500).then(|| rng.between(3_000, 300_000)),
        tokens_max: rng.chance(300).then(|| rng.between(2_000, 60_000)),
        cost_max: first
            .cost_max
            .map(|_| Money(rng.between(1_000_000_000, 200_000_000_000))),
        ..first.clone()
    }
}
