//! What a seed means: the settings of the run, the temper of the model, and how often what goes wrong.

use bonded_kernel::{GoalGiven, Limits, LongPrice, Money, Price, RunConfig, Target};

use super::agent_plan;
use super::goal_plan;
use super::loop_plan;
use super::policy_plan;
use super::refusal::Manner;
use super::refusal_plan;
use crate::rng::Rng;

/// Everything about a world that is fixed before it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    pub config: RunConfig,
    pub temper: Temper,
    pub faults: Faults,
    /// How many times a process may die by chance.
    pub crashes_max: u32,
    /// The places, counted as they are passed from 0, where a process dies for certain.
    pub crashes_at: Vec<u64>,
    /// The provider reports more tokens than were reserved.
    pub provider_lies: bool,
    /// How the service of each target refuses; those beyond the end take everything.
    pub manners: Vec<Manner>,
    /// What the service of each target really takes in, where that is less than anybody knows.
    pub narrow: Vec<Option<u64>>,
    /// What the run is asked each time that it has ended.
    pub goals: Vec<GoalGiven>,
    pub sabotage: Sabotage,
}

/// What kind of model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    /// Works, and ends when it has done enough.
    Diligent,
    /// Works, and never ends.
    Endless,
    /// Writes whatever comes: bad calls, bad arguments, free text.
    Erratic,
    /// Says next to nothing.
    Silent,
}

/// How often things go wrong, in a thousand.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub crash: u32,
    pub cancel_inside: u32,
    pub store: u32,
    pub request: u32,
    pub tool: u32,
    pub clock: u32,
    /// How often somebody outside meddles with the run of a process.
    pub meddling: u32,
}

/// A deliberate breach of the contract, to see that it is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    #[default]
    None,
    /// The tools execute every `push` twice.
    PushTwice,
    /// The store acknowledges one append that it does not make.
    LoseAppend,
}

impl Faults {
    pub const NONE: Self = Self {
        crash: 0,
        cancel_inside: 0,
        store: 0,
        request: 0,
        tool: 0,
        clock: 0,
        meddling: 0,
    };
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::derive(seed, "plan", &[]);
        let rng = &mut rng;
        let mut config = config(rng);
        agent_plan::make_agent(seed, &mut config);
        policy_plan::make_policy(seed, &mut config);
        loop_plan::make_loop(seed, &mut config);
        let manners = refusal_plan::make_refusing(seed, &mut config);
        // Not drawn, so that a seed makes the world that it always made.
        config.context_summary = !seed.is_multiple_of(3);
        let narrow = narrow(seed, &config);
        let goals = goal_plan::make_goals(seed, &mut config);
        Self {
            config,
            temper: rng.weighted(&[
                (5, Temper::Diligent),
                (2, Temper::Endless),
                (3, Temper::Erratic),
                (1, Temper::Silent),
            ]),
            faults: Faults {
                crash: rng.pick(&[0, 5, 20, 60, 120]),
                cancel_inside: rng.pick(&[0, 0, 0, 2, 10]),
                store: rng.pick(&[0, 0, 10, 50, 150]),
                request: rng.pick(&[0, 50, 200, 500]),
                tool: rng.pick(&[0, 50, 200]),
                clock: rng.pick(&[0, 0, 5, 20]),
                meddling: rng.pick(&[0, 0, 150, 500]),
            },
            crashes_max: rng.pick(&[0, 1, 1, 2, 3, 5, 8]),
            crashes_at: vec![],
            provider_lies: rng.chance(100),
            manners,
            narrow,
            goals,
            sabotage: Sabotage::None,
        }
    }
}

/// Gives a fifth of all worlds services whose windows are small. What it draws shifts nothing of the others.
fn narrow(seed: u64, config: &RunConfig) -> Vec<Option<u64>> {
    let mut rng = Rng::derive(seed, "narrow", &[]);
    let is_narrow = rng.chance(200);
    let windows = config.targets.iter().map(|_| {
        let tokens = rng.pick(&[300, 900, 1_500, 3_000, 8_000]);
        (is_narrow && rng.chance(800)).then_some(tokens)
    });
    windows.collect()
}

fn config(rng: &mut Rng) -> RunConfig {
    let mut targets: Vec<Target> = (0..rng.between(1, 3)).map(|i| target(rng, i)).collect();
    let limits = limits(rng);
    if limits.cost_max.is_some() {
        // A run with a limit of money is refused where a price is not known.
        for target in &mut targets {
            target.price.get_or_insert(USUAL_PRICE);
        }
    }
    RunConfig {
        limits,
        output_tokens_max: rng.pick(&[128, 1024, 4096]),
        repairs: false,
        ..RunConfig::new("/simulated", targets)
    }
}

fn target(rng: &mut Rng, index: u64) -> Target {
    Target {
        stream: rng.chance(500),
        timeout_ms: rng.between(1_000, 120_000),
        price: rng.chance(600).then(|| price(rng)),
        ..Target::new("sim", format!("sim:{index}"), format!("model-{index}"))
    }
}

/// Not drawn, so that a seed makes the world that it always made.
const USUAL_PRICE: Price = Price {
    input: 1_000_000,
    output: 4_000_000,
    cached: 100_000,
    written: None,
    above: None,
};

fn price(rng: &mut Rng) -> Price {
    let input = rng.between(0, 3_000_000);
    let output = rng.between(0, 15_000_000);
    let cached = rng.between(0, 300_000);
    // Not drawn, so that a seed makes the world that it always made.
    let above = input.is_multiple_of(3).then_some(LongPrice {
        tokens: output % 4_000,
        input: input * 2,
        output: output * 2,
        cached: cached * 2,
        written: None,
    });
    Price {
        input,
        output,
        cached,
        written: None,
        above,
    }
}

fn limits(rng: &mut Rng) -> Limits {
    let elapsed_ms_max = rng.pick(&[3_000, 15_000, 60_000, 300_000, 900_000]);
    let tokens_max = rng.between(2_000, 60_000);
    let cost_max = Money(rng.between(1_000_000_000, 200_000_000_000));
    Limits {
        turns_max: rng.pick(&[1, 2, 4, 8, 12, 20]),
        calls_per_turn_max: rng.pick(&[1, 2, 3, 5, 8]),
        attempts_per_turn_max: rng.pick(&[1, 2, 3, 5]),
        elapsed_ms_max: rng.chance(500).then_some(elapsed_ms_max),
        tokens_max: rng.chance(300).then_some(tokens_max),
        cost_max: rng.chance(300).then_some(cost_max),
        repeats_max: rng.pick(&[0, 2, 3, 5]),
        tool_timeout_ms: rng.between(500, 30_000),
        tool_output_bytes_max: rng.pick(&[100, 600, 32_768]),
    }
}
