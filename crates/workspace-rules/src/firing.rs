//! Firings: a rule and what set it off. The names of both give the name of the run, so that nothing fires twice.
//!
//! An event that is looked at again after a crash, or an instant that is seen twice, derives the same id and finds the
//! run that was queued for it. Whether a queued run still begins is decided here too, from the rule as it is then.

use std::path::PathBuf;

use bonded_kernel::{EventId, Millis, RuleId, RunId};

use super::action::{Action, Resource};
use super::automation::AutomationRun;
use super::change::{RunEnd, RunMove};
use super::code::Code;
use super::rule::Rule;

/// The event that an instant of a schedule stands for.
/// Instants leave no event in any stream; the id is derived so that rule and instant always give the same one.
pub fn firing_event_id(rule: RuleId, instant: Millis) -> EventId {
    EventId::derived(&[b"instant", rule.as_bytes(), &instant.0.to_le_bytes()])
}

/// The run of a rule that was set off by this event.
/// A hash of both ids, in the form of an id.
pub fn run_of_firing(rule: RuleId, event: EventId) -> RunId {
    let id = EventId::derived(&[b"run", rule.as_bytes(), event.as_bytes()]);
    RunId::new(&id.to_string()).expect("hexadecimal digits and hyphens name a run")
}

/// How a run that is queued ends instead of beginning, where its rule does not want it any more.
/// None lets it begin. A rule that was deleted or disabled meanwhile cancels the run; a chain that is too long fails
/// it.
pub fn never_begins(run: &AutomationRun, rule: &Rule, is_deleted: bool) -> Option<RunMove> {
    if is_deleted {
        let message = "the rule was deleted before the run began";
        return Some(RunMove::Cancelled(RunEnd::of(Code::RuleDeleted, message)));
    }
    if !rule.draft.enabled {
        let message = "the rule was disabled before the run began";
        return Some(RunMove::Cancelled(RunEnd::of(Code::RuleDisabled, message)));
    }
    let (depth, most) = (run.depth, rule.draft.max_chain_depth);
    if depth > most {
        let message = format!(
            "the run would be number {depth} of a chain in which each run was triggered by what the one before wrote; \
             the rule allows {most} (max_chain_depth)"
        );
        return Some(RunMove::Failed(RunEnd::of(
            Code::ChainDepthExceeded,
            &message,
        )));
    }
    None
}

/// What a run uses alone while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// The file of an agent's memory.
    Memory(PathBuf),
    /// The tree that a plan changes.
    Tree(PathBuf),
    /// The rule itself: the instants of a schedule come one after the other, and so do their runs.
    Rule(RuleId),
}

/// What no two runs may use at once. `memory` and `tree` say where what the action names lies, if the rule may use it:
/// what it may not use it does not hold against others, because it fails when it begins.
pub fn exclusive(
    rule: &Rule,
    action: &Action,
    memory: impl FnOnce(&str) -> Option<PathBuf>,
    tree: impl FnOnce(&str) -> Option<PathBuf>,
) -> Vec<Exclusive> {
    let used = match action.exclusive() {
        Some(Resource::Memory(name)) => memory(name).map(Exclusive::Memory),
        Some(Resource::Tree(path)) => tree(path).map(Exclusive::Tree),
        None => None,
    };
    let schedule = rule.draft.schedule.as_ref();
    let schedule = schedule.map(|_| Exclusive::Rule(rule.rule_id));
    used.into_iter().chain(schedule).collect()
}
