//! Tools that are not sent with each request.

use std::collections::BTreeSet;

use bonded_kernel::{Entry, Event, FIND_TOOLS, Outcome};

use crate::sim::history::History;

/// A tool that has to be found is sent as soon as a search has named it or the model has called it, and never before.
pub(super) fn a_tool_that_waits_is_sent_once_it_was_named(history: &History) -> Result<(), String> {
    let Some(Event::RunStarted(started)) = history.entries.first().map(|entry| &entry.event) else {
        return Ok(());
    };
    let specs = started.catalog().into_iter().flat_map(|it| it.specs());
    let waiting = specs.filter(|spec| spec.deferred);
    let waiting: BTreeSet<&str> = waiting.map(|spec| spec.name.as_str()).collect();
    let with_search = |offered: &[String]| offered.iter().any(|name| name == FIND_TOOLS);
    for sent in history
        .requests
        .iter()
        .filter(|it| with_search(&it.offered))
    {
        let before = history
            .entries
            .iter()
            .filter(|entry| entry.seq <= sent.log_seq);
        let named: BTreeSet<&str> = before
            .flat_map(named_by)
            .filter(|name| waiting.contains(name))
            .collect();
        let offered = sent.offered.iter().map(String::as_str);
        let offered: BTreeSet<&str> = offered.filter(|name| waiting.contains(name)).collect();
        if named != offered {
            let turn = sent.turn;
            return Err(format!(
                "turn {turn} sends {offered:?}, and {named:?} were named"
            ));
        }
    }
    Ok(())
}

fn named_by(entry: &Entry) -> Vec<&str> {
    match &entry.event {
        Event::ToolFinished(finished)
            if *finished.tool == *FIND_TOOLS && finished.outcome == Outcome::Ok =>
        {
            let lines = finished.output.lines();
            lines.filter_map(|line| line.split(": ").next()).collect()
        }
        Event::DecisionMade(decision) => decision.calls.iter().map(|call| &*call.tool).collect(),
        Event::ReplyRejected { calls, .. } => calls.iter().map(|call| &*call.tool).collect(),
        _ => vec![],
    }
}
