//! What a process says of itself to those who operate it: whether it lives, whether it can work, and its figures.
//!
//! The first two are open to everybody and say nothing about what the process holds. Figures are of all clients together:
//! they are for those who have a token for them, and for the one caller where there is no other.

mod door;
mod readiness;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use bonded_host::CancellationToken;
use bonded_telemetry::{Metrics, QueueFigures};
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::agents::Tokens;
use crate::listening::serve_router;
use crate::sorted_json::sorted_json;
pub(crate) use door::{FiguresDoor, TokensDoor};
pub use readiness::{NotReady, Readiness};

/// How long a store may take to say how its queues stand.
const LOOK: Duration = Duration::from_secs(3);
/// How long clients may take to read the last of their answers.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Whoever knows how queues stand.
pub trait Queues: Send + Sync {
    /// `None` where it cannot be said just now.
    fn figures(&self) -> BoxFuture<'_, Option<Vec<QueueFigures>>>;
}

/// What is served to those who operate the process.
#[derive(Clone, Debug)]
pub struct Operations {
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Those that may read the figures and nothing else.
    pub tokens: Tokens,
}

/// The figures of a server, and who may read them.
pub(crate) struct Figures {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) door: Box<dyn FiguresDoor>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) queues: Option<Arc<dyn Queues>>,
}

/// Serves a process that has nothing else to serve, until `stop` is cancelled.
pub async fn serve(
    listener: TcpListener,
    operations: Operations,
    readiness: Arc<Readiness>,
    queues: Arc<dyn Queues>,
    stop: CancellationToken,
) {
    let figures = Figures {
        metrics: operations.metrics,
        door: Box::new(TokensDoor {
            own: operations.tokens,
            server: Tokens::default(),
        }),
        readiness: readiness.clone(),
        queues: Some(queues),
    };
    let router = probes(readiness).merge(router(figures));
    serve_router(listener, router, LAST_WORDS, stop).await;
}

/// Whether the process lives and can work.
pub(crate) fn probes(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(readiness)
}

/// The figures.
pub(crate) fn router(figures: Figures) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .with_state(Arc::new(figures))
}

#[derive(Debug, Serialize)]
struct Probe {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

fn probe(status: StatusCode, body: &Probe) -> Response {
    let mut response = Response::new(Body::from(sorted_json(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// That it answers is the answer.
async fn alive() -> Response {
    let (status, reason) = ("ok", None);
    probe(StatusCode::OK, &Probe { status, reason })
}

async fn ready(State(readiness): State<Arc<Readiness>>) -> Response {
    match readiness.check().await {
        Ok(()) => {
            let (status, reason) = ("ready", None);
            probe(StatusCode::OK, &Probe { status, reason })
        }
        Err(why) => {
            let (status, reason) = ("not_ready", Some(why.as_str()));
            probe(StatusCode::SERVICE_UNAVAILABLE, &Probe { status, reason })
        }
    }
}

/// What cannot be looked up in time is left out: what is counted is told all the same.
async fn metrics(State(figures): State<Arc<Figures>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = figures.door.admit(&headers).await {
        return refusal;
    }
    let is_ready = figures.readiness.check().await.is_ok();
    let queues = match &figures.queues {
        Some(queues) => tokio::time::timeout(LOOK, queues.figures()).await.ok(),
        None => None,
    };
    let metrics = &figures.metrics;
    metrics.look(is_ready, queues.flatten().as_deref());
    let (text, content_type) = metrics.render();
    let mut response = Response::new(Body::from(text));
    if let Ok(content_type) = HeaderValue::from_str(&content_type) {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}
