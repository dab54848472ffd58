//! What is where.
//!
//! The paths are those of OpenAI's API and `/health`; MCP is merged in where it is served. Everything that is not there
//! is refused in the same shape, so that a client with a wrong base address is told where it is.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bonded_host::QueueMeasure;
use serde::Serialize;

use super::AgentServer;
use super::ask::{self, Interface};
use super::refusal::AgentRefusal;
use crate::console::pages;

/// What every handler shares.
type AgentServerState = State<Arc<AgentServer>>;

/// What is served beside the agents is merged by the caller.
pub(crate) fn router(server: Arc<AgentServer>, mcp: Option<Router<Arc<AgentServer>>>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/v1/models", get(models))
        .route("/v1/models/{id}", get(model))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/responses", post(responses))
        .merge(mcp.unwrap_or_default())
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .with_state(server)
}

/// Anybody may ask whether the server lives; what it does is for those who may ask the agents.
async fn health(State(server): AgentServerState, headers: HeaderMap) -> Response {
    let queues = server.tools.queue_measures();
    let is_known = server.tokens.caller(&headers).is_ok();
    ask::json(&ServerHealth {
        status: "ok",
        queues: (is_known && !queues.is_empty())
            .then(|| queues.iter().map(ListedQueue::from).collect()),
    })
}

/// Whether the server lives, and for those who may ask, how its queues are used.
#[derive(Debug, Serialize)]
struct ServerHealth<'a> {
    /// Always `ok`: a server that does not live does not answer.
    status: &'static str,
    /// Absent for strangers, and where there are no queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Vec<ListedQueue<'a>>>,
}

/// How a queue of tools is used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedQueue<'a> {
    /// As the configuration calls it.
    name: &'a str,
    /// How many calls may run at once.
    concurrent: usize,
    /// How many run.
    running: usize,
    /// How many wait.
    waiting: usize,
    /// The most that ever waited at once.
    waiting_max: usize,
    /// How many calls have come since the start.
    entered: u64,
    /// How long they waited together, in milliseconds.
    waited_ms_total: u64,
    /// The longest wait, in milliseconds.
    waited_ms_max: u64,
}

impl<'a> From<&'a (String, QueueMeasure)> for ListedQueue<'a> {
    fn from((name, measure): &'a (String, QueueMeasure)) -> Self {
        Self {
            name,
            concurrent: measure.concurrent,
            running: measure.running,
            waiting: measure.waiting,
            waiting_max: measure.waiting_max,
            entered: measure.entered,
            waited_ms_total: measure.waited_ms_total,
            waited_ms_max: measure.waited_ms_max,
        }
    }
}

/// Only for those who may ask: the names of agents are nobody else's business.
async fn models(
    State(server): AgentServerState,
    headers: HeaderMap,
) -> Result<Response, AgentRefusal> {
    server.tokens.caller(&headers)?;
    Ok(ask::json(&server.models.list()))
}

/// An id that cannot be read is one that is not there.
async fn model(
    State(server): AgentServerState,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, AgentRefusal> {
    server.tokens.caller(&headers)?;
    let id = id.map_or_else(|_| String::new(), |Path(id)| id);
    let model = server.models.find(&id)?;
    Ok(ask::json(&server.models.listed(model)))
}

async fn chat(State(server): AgentServerState, request: Request) -> Result<Response, AgentRefusal> {
    ask::ask(&server, Interface::Chat, request).await
}

async fn responses(
    State(server): AgentServerState,
    request: Request,
) -> Result<Response, AgentRefusal> {
    ask::ask(&server, Interface::Responses, request).await
}

/// A page of the app, or a refusal that says what there is.
async fn unknown_path(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    let page = pages::page(&method, &headers, &uri);
    page.unwrap_or_else(|| AgentRefusal::unknown_path(uri.path()).into_response())
}

async fn unknown_method(method: Method, uri: Uri) -> AgentRefusal {
    AgentRefusal::unknown_method(method.as_str(), uri.path())
}
