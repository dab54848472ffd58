//! What is where.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use bonded_host::QueueMeasure;
use serde_json::{Value, json};

use super::AgentServer;
use super::ask::{self, Interface};
use super::refusal::Refusal;

type Served = State<Arc<AgentServer>>;

pub(super) fn router(server: Arc<AgentServer>, mcp: Option<Router<Arc<AgentServer>>>) -> Router {
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
async fn health(State(server): Served, headers: HeaderMap) -> Response {
    let mut health = json!({ "status": "ok" });
    let queues = server.tools.queue_measures();
    if server.tokens.caller(&headers).is_ok() && !queues.is_empty() {
        health["queues"] = queues.iter().map(queue_value).collect();
    }
    ask::json(&health)
}

fn queue_value((name, measure): &(String, QueueMeasure)) -> Value {
    json!({
        "name": name,
        "concurrent": measure.concurrent,
        "running": measure.running,
        "waiting": measure.waiting,
        "waitingMax": measure.waiting_max,
        "entered": measure.entered,
        "waitedMsTotal": measure.waited_ms_total,
        "waitedMsMax": measure.waited_ms_max,
    })
}

async fn models(State(server): Served, headers: HeaderMap) -> Result<Response, Refusal> {
    server.tokens.caller(&headers)?;
    Ok(ask::json(&server.models.list()))
}

async fn model(
    State(server): Served,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    server.tokens.caller(&headers)?;
    let id = id.map_or_else(|_| String::new(), |Path(id)| id);
    let model = server.models.find(&id)?;
    Ok(ask::json(&server.models.shown(model)))
}

async fn chat(State(server): Served, request: Request) -> Result<Response, Refusal> {
    ask::ask(&server, Interface::Chat, request).await
}

async fn responses(State(server): Served, request: Request) -> Result<Response, Refusal> {
    ask::ask(&server, Interface::Responses, request).await
}

async fn unknown_path(uri: Uri) -> Refusal {
    Refusal::unknown_path(uri.path())
}

async fn unknown_method(method: Method, uri: Uri) -> Refusal {
    Refusal::unknown_method(method.as_str(), uri.path())
}
