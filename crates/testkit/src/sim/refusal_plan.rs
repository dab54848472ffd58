//! What a seed means for services that refuse: about a third of the worlds have some, and ask for much.

use bonded_kernel::{Dialect, Reasoning, RunConfig, Sampling, Target, ToolChoice};
use serde_json::json;

use super::refusal::{FIELDS, Manner};
use crate::rng::Rng;

/// Gives about a third of all runs services that refuse, one manner for each target; an empty list means that all take
/// everything. What it draws shifts nothing of the others.
pub(crate) fn make_refusing(seed: u64, config: &mut RunConfig) -> Vec<Manner> {
    let mut rng = Rng::derive(seed, "refusals", &[]);
    if !rng.chance(350) {
        return vec![];
    }
    let rng = &mut rng;
    config.temperature = rng.chance(700).then_some(0.5);
    let targets = config.targets.iter_mut();
    targets.map(|target| make_target(rng, target)).collect()
}

fn make_target(rng: &mut Rng, target: &mut Target) -> Manner {
    target.dialect = rng.weighted(&[
        (5, Dialect::Chat),
        (2, Dialect::Responses),
        (2, Dialect::Messages),
        (2, Dialect::Gemini),
    ]);
    target.accepts = Some(Box::default());
    target.sampling = sampling(rng);
    let custom = [("x_lab", json!(true)), ("Lab-Mode", json!("fast"))];
    let custom = custom.into_iter().filter(|_| rng.chance(400));
    target.custom = custom
        .map(|(field, value)| (field.to_owned(), value))
        .collect();
    manner(rng)
}

fn sampling(rng: &mut Rng) -> Sampling {
    const REASONING: [Reasoning; 4] = [
        Reasoning::Minimal,
        Reasoning::High,
        Reasoning::Max,
        Reasoning::Tokens(4_000),
    ];
    Sampling {
        temperature: rng.chance(200).then_some(0.2),
        top_p: rng.chance(500).then_some(0.5),
        top_k: rng.chance(500).then_some(40),
        repeat_penalty: rng.chance(400).then_some(1.1),
        reasoning: rng.chance(600).then(|| rng.pick(&REASONING)),
        tool_choice: rng.chance(400).then_some(ToolChoice::Required),
        caching: rng.chance(400),
        parallel_tool_calls: rng.chance(400).then_some(false),
        prompt_cache_key: rng.chance(400).then(|| "worlds".to_owned()),
        service_tier: rng.chance(400).then(|| "flex".to_owned()),
    }
}

fn manner(rng: &mut Rng) -> Manner {
    let fields = [rng.pick(&FIELDS), rng.pick(&FIELDS), rng.pick(&FIELDS)];
    rng.weighted(&[
        (2, Manner::Easy),
        (8, Manner::Names(fields)),
        (2, Manner::OtherRoute),
        (2, Manner::OtherLimit),
        (2, Manner::Efforts),
        (1, Manner::NamesAll),
        (1, Manner::NamesNothing),
        (1, Manner::Alternates),
        (2, Manner::Whimsical),
    ])
}
