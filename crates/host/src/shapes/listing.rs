//! A run of a list: its status, and what is shown of it.
//!
//! Most of it is known from the first and the last entry of a log, so that a long list is quick. Only a
//! run that may wait in an agent is loaded.

use bonded_kernel::{Entry, Event};
use bonded_state::{Listed, Store};

use super::json;
use crate::load::load_run;
use crate::result::Status;
use crate::review::PendingReview;

/// The status of a run whose log cannot be read.
pub const DAMAGED: &str = "damaged";

/// A run of the list as one line of JSON.
pub fn json_line(listed: &Listed, status: Option<Status>) -> String {
    match (status, &listed.ends) {
        (Some(status), Ok(ends)) => json::listed(listed, ends, status),
        _ => json::no_result(listed.run.as_str(), DAMAGED, "the log is damaged"),
    }
}

/// A log that cannot be read has no status of its own. A run that nobody drives may wait for a person in an
/// agent that it called: only its log says so.
pub async fn status(store: &dyn Store, listed: &Listed) -> Option<Status> {
    let ends = listed.ends.as_ref().ok()?;
    let last = &ends.last.event;
    let status = if matches!(last, Event::ReviewAsked { .. }) {
        Status::AwaitingReview
    } else {
        Status::of(last.ended().map(|it| it.termination.kind), &listed.held)
    };
    if status != Status::Interrupted || !calls_agents(&ends.first) {
        return Some(status);
    }
    let waits = async {
        let run = load_run(store, &listed.run).await?;
        PendingReview::of(store, &run).await
    };
    // What cannot be read now is told by the commands that need it.
    match waits.await {
        Ok(Some(_)) => Some(Status::AwaitingReview),
        Ok(None) | Err(_) => Some(status),
    }
}

/// Whether it could wait in an agent at all.
fn calls_agents(first: &Entry) -> bool {
    let started = first.event.started();
    let agent = started.and_then(|it| it.config.agent.as_ref());
    agent.is_some_and(|agent| !agent.agents.is_empty())
}
