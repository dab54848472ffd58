//! A run of a list: its status, and what is shown of it.
//!
//! Most of it is known from the first and the last entry of a log, so that a long list is quick. Only a
//! run that may wait in an agent is loaded.

use bonded_kernel::{Entry, Event, Served};
use bonded_state::{Listed, Store};

use serde_json::{Value, json};

use super::json as shapes;
use crate::client_results::waits_for_client;
use crate::error::HostError;
use crate::load::load_run;
use crate::result::Status;
use crate::review::PendingReview;

/// What began a run, where that was not a person who asked for this very run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// A rule of a workspace, by its name, else by its id.
    Rule(String),
    /// An item of a plan.
    Plan { plan: String, item: String },
    /// A turn of another run.
    Fork { run: String },
    /// An agent that called this one.
    Agent { run: String },
    /// A client of a server.
    Served(Served),
}

impl Beginning {
    /// What the first entry of a run says; rules are known to the workspace alone.
    pub fn of(first: &Entry) -> Option<Self> {
        let started = first.event.started()?;
        let config = &started.config;
        if let Some(item) = &config.item {
            return Some(Self::Plan {
                plan: item.plan.clone(),
                item: item.item.clone(),
            });
        }
        if let Some(origin) = &started.forked_from {
            return Some(Self::Fork {
                run: origin.run.to_string(),
            });
        }
        if let Some(parent) = &config.parent {
            return Some(Self::Agent {
                run: parent.run.to_string(),
            });
        }
        config.served.map(Self::Served)
    }

    /// As one word or two before a goal.
    pub fn label(&self) -> String {
        let short = |id: &str| id.chars().take(8).collect::<String>();
        match self {
            Self::Rule(name) => format!("rule {name}"),
            Self::Plan { plan, item } => format!("plan {} {item}", short(plan)),
            Self::Fork { run } => format!("fork of {}", short(run)),
            Self::Agent { run } => format!("called by {}", short(run)),
            Self::Served(by) => format!("served {}", by.as_str()),
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        match self {
            Self::Rule(name) => json!({ "kind": "rule", "rule": name }),
            Self::Plan { plan, item } => json!({ "kind": "plan", "plan": plan, "item": item }),
            Self::Fork { run } => json!({ "kind": "fork", "runId": run }),
            Self::Agent { run } => json!({ "kind": "agent", "runId": run }),
            Self::Served(by) => json!({ "kind": "served", "protocol": by.as_str() }),
        }
    }
}

/// The status of a run whose log cannot be read.
pub const DAMAGED: &str = "damaged";

/// A run of the list as one line of JSON, with what its log says of its beginning.
pub fn json_line(listed: &Listed, status: Option<Status>) -> String {
    let first = listed.ends.as_ref().ok().map(|ends| &ends.first);
    let from = first.and_then(Beginning::of).as_ref().map(Beginning::json);
    json_line_from(listed, status, from, None)
}

/// The same where more is known than the log says: of its beginning, and of what it waits for in a queue.
pub fn json_line_from(
    listed: &Listed,
    status: Option<Status>,
    from: Option<Value>,
    waits_for: Option<&str>,
) -> String {
    match (status, &listed.ends) {
        (Some(status), Ok(ends)) => shapes::listed(listed, ends, status, from, waits_for),
        _ => shapes::no_result(listed.run.as_str(), DAMAGED, "the log is damaged"),
    }
}

/// A log that cannot be read has no status of its own. A run that nobody drives may wait for its client, or for a person
/// in an agent that it called: only its log says so.
pub async fn status(store: &dyn Store, listed: &Listed) -> Option<Status> {
    let ends = listed.ends.as_ref().ok()?;
    let last = &ends.last.event;
    let status = if matches!(last, Event::ReviewAsked { .. }) {
        Status::AwaitingReview
    } else {
        Status::of(last.ended().map(|it| it.termination.kind), &listed.held)
    };
    let is_left = matches!(status, Status::Interrupted | Status::Queued);
    if !is_left || !may_wait(&ends.first) {
        return Some(status);
    }
    let waits = async {
        let run = load_run(store, &listed.run).await?;
        if waits_for_client(&run) {
            return Ok(Some(Status::AwaitingClient));
        }
        let pending = PendingReview::of(store, &run).await?;
        Ok::<_, HostError>(pending.map(|_| Status::AwaitingReview))
    };
    // What cannot be read now is told by the commands that need it.
    Some(waits.await.ok().flatten().unwrap_or(status))
}

/// Whether it could wait for its client, or in an agent, at all.
fn may_wait(first: &Entry) -> bool {
    first.event.started().is_some_and(|started| {
        let config = &started.config;
        let agent = config.agent.as_ref();
        config.client_tools.is_some() || agent.is_some_and(|agent| !agent.agents.is_empty())
    })
}
