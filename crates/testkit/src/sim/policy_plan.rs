//! What a seed means for policies: about a third of the worlds have one.

use bonded_kernel::{Permission, Policy, Rule, RunConfig, ToolPattern};

use crate::rng::Rng;

const PATTERNS: [&str; 7] = ["look", "put", "push", "pu*", "*o*", "*", "nothing"];
const PERMISSIONS: [Permission; 3] = [Permission::Allow, Permission::Ask, Permission::Deny];

/// Gives about a third of all runs a policy. What it draws shifts nothing of the others.
pub(crate) fn make_policy(seed: u64, config: &mut RunConfig) {
    let mut rng = Rng::derive(seed, "policy", &[]);
    if !rng.chance(350) {
        return;
    }
    let rng = &mut rng;
    let mut policy = draw(rng);
    if rng.chance(300) {
        policy = policy.under(draw(rng));
    }
    policy.begins_marked = rng.chance(100);
    policy.reads_only = rng.chance(120);
    policy.nonce = "0ddba11".into();
    config.policy = Some(Box::new(policy));
}

fn draw(rng: &mut Rng) -> Policy {
    let pattern = |rng: &mut Rng| ToolPattern::new(rng.pick(&PATTERNS));
    let rules = (0..rng.between(0, 3)).map(|_| Rule {
        tools: pattern(rng),
        permission: rng.pick(&PERMISSIONS),
    });
    let rules = rules.collect();
    Policy {
        rules,
        untrusted: (0..rng.between(0, 2)).map(|_| pattern(rng)).collect(),
        trusted: (0..rng.between(0, 1)).map(|_| pattern(rng)).collect(),
        after_untrusted: rng.pick(&PERMISSIONS),
        ..Policy::default()
    }
}
