//! What a run came to, as a client is told it.
//!
//! The text of the report is the answer; why a run ended without one is an error with a stable code. A client learns
//! the report, or how the run ended; what the store says of its files is for whoever runs the server.

use std::sync::Arc;

use axum::http::StatusCode;
use bonded_host::HostError;
use bonded_kernel::{
    self as kernel, Event, FailureClass, Report, Run, RunId, Termination, TerminationKind, Usage,
};
use bonded_state::{Store, StoreError};
use serde_json::Value;

use super::access::Caller;
use super::call_handle::CallHandle;
use super::refusal::AgentRefusal;
use bonded_host::with_causes;

/// How many entries are read at a time.
const PART_ENTRIES: usize = 128;

/// A reply is at most so many entries before those of the calls that are under way.
const REPLY_ENTRIES_MAX: u64 = 1_024;

/// The code of a run that waits for a person.
pub(crate) const AWAITING_REVIEW: &str = "awaiting_review";

/// The accepted report, or the calls that the client executes, and what the run used for it.
#[derive(Debug)]
pub(crate) struct RunAnswer {
    /// The report as text, also where it is JSON; what the model said beside calls.
    pub(crate) content: String,
    /// The report where it is JSON.
    pub(crate) json: Option<Value>,
    /// What the client is to execute; nothing where the run has ended.
    pub(super) calls: Vec<HandedCall>,
    /// Tokens of all requests since the answer before, together.
    pub(crate) usage: Usage,
}

/// A call that the client is to execute.
#[derive(Debug)]
pub(super) struct HandedCall {
    /// Names it when the result is brought.
    pub(super) id: String,
    pub(super) tool: String,
    /// As the model wrote them, a JSON object.
    pub(super) arguments: String,
}

/// To whom it is told what a run came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hearer {
    pub(super) caller: Caller,
    /// What the run had used before.
    pub(super) used: Usage,
    /// Whether the server itself ends its runs.
    pub(super) stopping: bool,
}

/// What a client is told of a store that fails.
pub(crate) const STORE_FAILED: &str = "the store of runs failed; the log of the server says why";

/// Shared by all clients that wait for one run.
pub(crate) type Ended = Result<Arc<RunAnswer>, AgentRefusal>;

/// Tells what a run came to.
/// The order matters: a server that stops says so even where the run was cancelled for it, because the client may
/// simply ask again.
pub(super) async fn of(store: &dyn Store, driven: Result<Run, HostError>, hearer: Hearer) -> Ended {
    let run = driven.map_err(|error| match error {
        HostError::Interrupted { .. } => AgentRefusal::stopping(),
        error => unusable(&error),
    })?;
    let usage = run.spend().used().0.minus(&hearer.used);
    let Some(termination) = run.termination() else {
        let handed_out = kernel::handed_out(&run);
        if handed_out.is_empty() {
            return Err(waits(&run));
        }
        let handed = handed_out.iter().map(|call| HandedCall {
            id: CallHandle::write(hearer.caller, &run, call),
            tool: call.tool().to_owned(),
            arguments: call.arguments().to_owned(),
        });
        return Ok(Arc::new(RunAnswer {
            content: said_beside(store, &run).await.unwrap_or_default(),
            json: None,
            calls: handed.collect(),
            usage,
        }));
    };
    match termination.kind {
        TerminationKind::Done => {
            let (content, json) = content(run.report(), termination);
            Ok(Arc::new(RunAnswer {
                content,
                json,
                calls: vec![],
                usage,
            }))
        }
        TerminationKind::Cancelled if hearer.stopping => Err(AgentRefusal::stopping()),
        TerminationKind::Fatal => {
            // A log that cannot be read does not say whose fault it was.
            let class = provider_failure(store, run.id()).await.unwrap_or_default();
            Err(fatal(class, termination))
        }
        kind => Err(failed(status(kind), kind.as_str(), termination)),
    }
}

/// What the model said beside the calls that were handed out; nothing where the calls are a part of the text. The reply
/// is among the last entries: each of its calls has a few.
async fn said_beside(store: &dyn Store, run: &Run) -> Result<String, StoreError> {
    let after = run.head().seq.saturating_sub(REPLY_ENTRIES_MAX);
    let mut said = String::new();
    for entry in store.load(run.id(), after).await? {
        if let Event::DecisionMade(decision) = &entry.event {
            let is_apart = decision.calls.iter().all(|call| call.tag.is_none());
            said = match is_apart {
                true => decision.answer.text.trim().to_owned(),
                false => String::new(),
            };
        }
    }
    Ok(said)
}

/// Only somebody at the server can approve, unless the client may be asked.
fn waits(run: &Run) -> AgentRefusal {
    let id = run.id();
    let message =
        format!("run {id} needs approval: use `bonded approve {id}` or `bonded deny {id}`");
    AgentRefusal::failed(StatusCode::CONFLICT, AWAITING_REVIEW, message)
}

/// The text of the report, and the JSON where it is that.
fn content(report: Option<Report>, termination: &Termination) -> (String, Option<Value>) {
    let Some(report) = report else {
        return (termination.reason().to_string(), None);
    };
    let structured = report.content_json.or(report.messages);
    match (structured, report.content) {
        (Some(value), _) => (value.to_string(), Some(value)),
        (None, Some(text)) => (text.to_string(), None),
        (None, None) => (termination.reason().to_string(), None),
    }
}

/// Chosen so that clients which retry by status do the right thing; the header of the refusal forbids what would only
/// cost again.
fn status(kind: TerminationKind) -> StatusCode {
    match kind {
        TerminationKind::Done => StatusCode::OK,
        TerminationKind::Blocked => StatusCode::UNPROCESSABLE_ENTITY,
        TerminationKind::BudgetExhausted => StatusCode::PAYMENT_REQUIRED,
        TerminationKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        TerminationKind::Denied => StatusCode::FORBIDDEN,
        TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Cancelled
        | TerminationKind::Fatal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The reason is the run's own.
fn failed(status: StatusCode, code: &'static str, termination: &Termination) -> AgentRefusal {
    let kind = termination.kind.as_str();
    let message = format!("the run ended as {kind}: {}", termination.reason());
    AgentRefusal::failed(status, code, message)
}

/// A provider that failed is named by what it failed with.
fn fatal(class: Option<FailureClass>, termination: &Termination) -> AgentRefusal {
    let code = match class {
        None | Some(FailureClass::Interrupted) => {
            return failed(
                status(termination.kind),
                termination.kind.as_str(),
                termination,
            );
        }
        Some(FailureClass::Auth) => "provider_auth",
        Some(FailureClass::Quota) => "provider_quota",
        Some(FailureClass::RateLimit) => "provider_rate_limit",
        Some(FailureClass::Overflow) => "provider_overflow",
        Some(_) => "provider_failed",
    };
    failed(StatusCode::BAD_GATEWAY, code, termination)
}

/// What the last request failed with, if the run ended on that.
/// A failure counts only if nothing else came after it: one that was overcome is not why the run ended. The log is read
/// in parts, because it may be long.
async fn provider_failure(
    store: &dyn Store,
    run: &RunId,
) -> Result<Option<FailureClass>, StoreError> {
    let mut class = None;
    let mut after = 0;
    loop {
        let entries = store.load_part(run, after, PART_ENTRIES).await?;
        for entry in &entries {
            after = entry.seq;
            if let Event::AttemptFailed(failed) = &entry.event {
                class = Some(failed.class);
            } else if !matches!(entry.event, Event::TurnFailed { .. } | Event::RunEnded(_)) {
                class = None;
            }
        }
        if entries.is_empty() {
            return Ok(class);
        }
    }
}

/// The run could not be driven at all.
/// Conflicts with another driver can be tried again; everything else is for whoever runs the server.
pub(super) fn unusable(error: &HostError) -> AgentRefusal {
    let message = with_causes(error);
    match error {
        HostError::Store(StoreError::Held { .. }) | HostError::TakenOver { .. } => {
            AgentRefusal::held(message)
        }
        HostError::Store(error) => store_failed(error),
        HostError::OtherGoal { .. } => AgentRefusal::other_body(),
        HostError::Agent(_) | HostError::Workdir { .. } | HostError::Catalog { .. } => {
            AgentRefusal::failed(StatusCode::INTERNAL_SERVER_ERROR, "agent_unusable", message)
        }
        HostError::SecretGoal { .. } => AgentRefusal::bad_request("secret_goal", None, message),
        HostError::Images(_) => AgentRefusal::bad_request("unsupported_content", None, message),
        HostError::BadLog { .. }
        | HostError::NoQueues
        | HostError::IdTaken { .. }
        | HostError::NoSuchTurn { .. }
        | HostError::OfPlan { .. }
        | HostError::TakesNoGoal { .. }
        | HostError::Cut { .. }
        | HostError::Interrupted { .. }
        | HostError::Sandbox { .. }
        | HostError::NotDurable { .. }
        | HostError::Panicked { .. } => internal(&message),
    }
}

/// What the store says of its files is for whoever runs the server.
pub(super) fn store_failed(error: &StoreError) -> AgentRefusal {
    tracing::error!("error: {}", with_causes(error));
    internal(STORE_FAILED)
}

/// The store or the server itself has failed.
pub(super) fn internal(message: &str) -> AgentRefusal {
    AgentRefusal::failed(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}
