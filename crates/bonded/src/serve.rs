//! Agents as models of an OpenAI-compatible server.
//!
//! The server asks the host and decides nothing: a request becomes a goal, its run goes through the same
//! store as any other, and what was accepted as the report becomes the answer. Text that is not the report
//! never leaves.

mod access;
mod answer;
mod ask;
mod body;
mod chat;
mod client;
mod connection;
mod conversation;
mod key;
mod models;
mod places;
mod progress;
mod refusal;
mod request;
mod responses;
mod routes;
mod runs;
mod stall;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use bonded_host::agent::{Agent, AgentTools};
use bonded_host::{CancellationToken, Host};
use bonded_kernel::Limits;
use tokio::net::TcpListener;

pub(crate) use access::{Tokens, needs_tokens};
use models::Models;
use places::Places;
use runs::Runs;

/// How long clients may take to read the last of their answers.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a server is made of.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) agents: Vec<Agent>,
    pub(crate) tokens: Tokens,
    /// How many runs are driven at once.
    pub(crate) concurrency: usize,
    /// The limits that no agent speaks of.
    pub(crate) limits: Limits,
    /// How long runs may go on after the server was told to stop.
    pub(crate) stop_after: Duration,
    /// Whether the end of each run is told on stderr.
    pub(crate) tells: bool,
}

/// What all requests share.
#[derive(Debug)]
struct Server {
    models: Models,
    tokens: Tokens,
    limits: Limits,
    runs: Arc<Runs>,
    tools: Arc<AgentTools>,
}

/// Serves until `stop` is cancelled and the runs under way have ended, by themselves or as cancelled.
pub(crate) async fn serve(
    listener: TcpListener,
    settings: Settings,
    host: Arc<Host>,
    tools: Arc<AgentTools>,
    stop: CancellationToken,
) {
    let end_runs = CancellationToken::new();
    let places = Places::new(settings.concurrency);
    let runs = Runs::new(host, places, end_runs.clone(), settings.tells);
    let server = Arc::new(Server {
        models: Models::new(settings.agents),
        tokens: settings.tokens,
        limits: settings.limits,
        runs: runs.clone(),
        tools,
    });
    let mut connections = connection::accept(listener, routes::router(server), stop).await;
    let mut quiet = std::pin::pin!(async {
        connections.wait().await;
        runs.ended().await;
    });
    if tokio::time::timeout(settings.stop_after, &mut quiet)
        .await
        .is_err()
    {
        end_runs.cancel();
        // A client that does not read must not keep the process; every run has been told to end.
        let _unread = tokio::time::timeout(LAST_WORDS, &mut quiet).await;
        runs.ended().await;
    }
}
