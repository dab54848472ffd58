//! The policy of a run, from what the options say and from the run that calls it.
//!
//! Policies are put on top of each other and never replaced: the flags, the files, the rules beside
//! them and the caller's all hold, and the strictest of them decides.

use bonded_kernel::{OfferedSkill, Permission, Policy, Rule, Run, SubAgent, ToolPattern};

use super::options::{Options, approvals};
use crate::builtin::BUILTIN;
use crate::skill_choice::SKILL_TOOL;

/// What the options say that a run may do without asking; `None` where they say nothing. The flags can only
/// make stricter what an agent's file or the configuration says.
pub fn policy(
    options: &Options,
    agents: &[SubAgent],
    skills: &[OfferedSkill],
    nonce: &str,
) -> Option<Box<Policy>> {
    let flags = flag_rules(options);
    let (untrusted, trusted) = untrusted(options, agents, skills);
    let written = Policy {
        rules: options.approvals.clone(),
        untrusted,
        trusted,
        after_untrusted: options.after_untrusted,
        reads_only: options.reads_only,
        ..Policy::default()
    };
    let both = match flags.is_empty() {
        true => written,
        false if written.is_empty() => Policy {
            rules: flags,
            ..written
        },
        false => Policy {
            rules: flags,
            ..Policy::default()
        }
        .under(written),
    };
    let all = options.rules_beside.iter().fold(both, |policy, rules| {
        policy.under(Policy {
            rules: rules.clone(),
            ..Policy::default()
        })
    });
    named(all, nonce)
}

/// The policy of a run that another one calls: the caller's holds too, and so does its mark.
pub(crate) fn below(own: Option<Box<Policy>>, caller: &Run, nonce: &str) -> Option<Box<Policy>> {
    let own = own.map_or_else(Policy::default, |own| *own);
    let mut both = match &caller.config().policy {
        Some(above) => own.under(Policy::clone(above)),
        None => own,
    };
    if both.is_empty() {
        return None;
    }
    both.begins_marked = caller.marked_by().is_some();
    named(both, nonce)
}

/// A policy that says nothing is none, so that a run without one is known as such.
fn named(mut policy: Policy, nonce: &str) -> Option<Box<Policy>> {
    if policy.is_empty() {
        return None;
    }
    policy.nonce = nonce.to_owned();
    Some(Box::new(policy))
}

/// There is no flag that allows: flags can only make stricter.
fn flag_rules(options: &Options) -> Vec<Rule> {
    let rules = |patterns: &[String], permission| {
        let rule = move |pattern: &String| Rule {
            tools: ToolPattern::new(pattern),
            permission,
        };
        patterns.iter().map(rule).collect::<Vec<_>>()
    };
    let mut all = rules(&options.deny, Permission::Deny);
    all.extend(rules(&options.ask, Permission::Ask));
    approvals::sorted(all)
}

/// Where it matters and nobody says which tools are not trusted, it is all that are not built in. Another
/// agent is as trusted as what it read: its run says so itself. A skill is offered only where a person trusts it.
fn untrusted(
    options: &Options,
    agents: &[SubAgent],
    skills: &[OfferedSkill],
) -> (Vec<ToolPattern>, Vec<ToolPattern>) {
    let patterns = |names: &[String]| names.iter().map(ToolPattern::new).collect();
    match &options.untrusted {
        Some(names) => (patterns(names), vec![]),
        None if options.after_untrusted == Permission::Allow => (vec![], vec![]),
        None => {
            let built_in = BUILTIN.iter().map(|name| ToolPattern::new(*name));
            let agents = agents.iter().map(|agent| ToolPattern::new(&agent.tool));
            let skills = (!skills.is_empty()).then(|| ToolPattern::new(SKILL_TOOL));
            let trusted = built_in.chain(agents).chain(skills).collect();
            (vec![ToolPattern::new("*")], trusted)
        }
    }
}
