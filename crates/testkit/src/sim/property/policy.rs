//! Policies: what was invoked, against what the rules and the untrusted data before it demand.

use bonded_kernel::{Entry, Event, Permission, Policy, RECORD_SEARCH, ToolEffect, Verdict};

use super::own_tools::is_own;
use super::tools::is_terminal;
use crate::sim::history::History;

/// What a person said of a call, and where.
fn verdicts(entries: &[Entry], turn: u32, at: u32) -> impl Iterator<Item = &Verdict> {
    entries.iter().filter_map(move |entry| match &entry.event {
        Event::CallReviewed(reviewed) if entry.turn == turn && reviewed.call == at => {
            Some(&reviewed.verdict)
        }
        _ => None,
    })
}

/// What is demanded of a call of this tool after these entries.
fn demanded(policy: &Policy, before: &[Entry], tool: &str, effect: ToolEffect) -> Permission {
    let by_rule = policy.permission(tool).0;
    let is_marked = policy.begins_marked
        || before.iter().any(|entry| {
            matches!(&entry.event, Event::ToolFinished(it)
                if it.marked || !is_own(&it.tool) && policy.is_untrusted(&it.tool))
        });
    match is_marked && effect != ToolEffect::Read {
        true => by_rule.max(policy.after_untrusted()),
        false => by_rule,
    }
}

/// No call that the policy asks about or denies is ever invoked without an approval before it.
pub(super) fn nothing_held_is_invoked_unapproved(history: &History) -> Result<(), String> {
    let Some(policy) = &history.config.policy else {
        return Ok(());
    };
    for (index, entry) in history.entries.iter().enumerate() {
        let Event::ToolInvoked {
            call, tool, effect, ..
        } = &entry.event
        else {
            continue;
        };
        if is_terminal(tool) || is_own(tool) {
            continue;
        }
        let before = &history.entries[..index];
        let is_approved = verdicts(before, entry.turn, *call).any(|it| *it == Verdict::Approved);
        match demanded(policy, before, tool, *effect) {
            Permission::Allow => {}
            Permission::Ask if is_approved => {}
            permission => {
                let (seq, word) = (entry.seq, permission.as_str());
                return Err(format!(
                    "entry {seq} invokes {tool}: the policy says {word}"
                ));
            }
        }
    }
    Ok(())
}

/// A run that reads only is offered nothing else, and nothing else is executed for it, whatever the log says of it.
pub(super) fn a_run_that_reads_only_changes_nothing(history: &History) -> Result<(), String> {
    let policy = history.config.policy.as_ref();
    if !policy.is_some_and(|policy| policy.reads_only()) {
        return Ok(());
    }
    let changes = |tool: &str| ["look", RECORD_SEARCH].iter().all(|reads| *reads != tool);
    if let Some(one) = history.executions.iter().find(|one| changes(&one.tool)) {
        return Err(format!("turn {} executes {}", one.turn, one.tool));
    }
    let offered = history.requests.iter().flat_map(|sent| &sent.offered);
    let mut others = offered.filter(|tool| changes(tool) && !is_terminal(tool) && !is_own(tool));
    match others.next() {
        Some(tool) => Err(format!("{tool} is offered")),
        None => Ok(()),
    }
}

/// A verdict answers a question, once; what was denied is not invoked.
pub(super) fn every_verdict_answers_one_question(history: &History) -> Result<(), String> {
    for (index, entry) in history.entries.iter().enumerate() {
        let Event::CallReviewed(reviewed) = &entry.event else {
            continue;
        };
        let (before, after) = history.entries.split_at(index);
        let is_asked = before.iter().any(|it| {
            it.turn == entry.turn
                && matches!(it.event, Event::ReviewAsked { call, .. } if call == reviewed.call)
        });
        let is_invoked = after.iter().any(|it| {
            it.turn == entry.turn
                && matches!(it.event, Event::ToolInvoked { call, .. } if call == reviewed.call)
        });
        let count = verdicts(&history.entries, entry.turn, reviewed.call).count();
        let seq = entry.seq;
        match (is_asked, count, &reviewed.verdict) {
            (true, 1, Verdict::Denied { .. }) if is_invoked => {
                return Err(format!("the call that entry {seq} denies was invoked"));
            }
            (true, 1, _) => {}
            _ => return Err(format!("entry {seq} answers what nobody asked")),
        }
    }
    Ok(())
}
