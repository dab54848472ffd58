//! What a seed means for runs that work in loops: some of the worlds without an agent have one.

use bonded_kernel::{
    LoopConfig, Mode, RuleId, RunConfig, STATES, Scope, Segment, Window, WorkspaceId,
};
use serde_json::json;

use crate::rng::Rng;

/// Makes some runs work in loops. What it draws shifts nothing of the others.
pub(crate) fn make_loop(seed: u64, config: &mut RunConfig) {
    let mut rng = Rng::derive(seed, "loop", &[]);
    if config.agent.is_some() || rng.chance(600) {
        return;
    }
    let rng = &mut rng;
    let mut scope = Scope::default_of(WorkspaceId::from_bytes([1; 16]));
    scope.max_notes_per_loop = rng.pick(&[0, 1, 3, 10]);
    scope.max_edits_per_loop = rng.pick(&[0, 1, 20]);
    scope.strict_scope = rng.chance(200);
    let mut looping = LoopConfig::new(RuleId::from_bytes([2; 16]), scope, &segments());
    looping.prompt_hash = "00".repeat(32);
    looping.strict = rng.chance(200);
    looping.mode = rng.pick(&[Mode::Yolo, Mode::Reviewed]);
    looping.keeps_text = rng.chance(400);
    looping.loop_delay_ms = rng.pick(&[0, 100, 1_500]);
    looping.idle_delay_ms = rng.pick(&[0, 5_000]);
    looping.paging_bytes = rng.pick(&[200, 1_000, 8_192]);
    let memories = [
        json!({}),
        json!({ "state": "idle", "steps": ["a"], "k1": "b", "k2": [1] }),
        json!({ "state": "executing,paging", "long": "x".repeat(900) }),
    ];
    let at = rng.below(memories.len() as u64) as usize;
    looping.memory = memories[at].to_string().into();
    config.policy = None;
    config.looping = Some(Box::new(looping));
    for target in &mut config.targets {
        let window = Window {
            tokens: rng.pick(&[6_000, 20_000, 200_000]),
            buffer: 0,
            vocabulary: Default::default(),
        };
        target.window = rng.chance(300).then_some(window);
    }
}

fn segments() -> Vec<Segment> {
    let conditions = ["default"].into_iter().chain(STATES);
    let segment = |condition: &str| Segment {
        condition: condition.into(),
        prompt: format!("Do what is to be done when it is {condition}."),
    };
    conditions.map(segment).collect()
}
