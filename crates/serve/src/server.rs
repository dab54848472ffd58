//! A listener on which agents are served, with MCP and with whatever stands beside them, until it is stopped.
//!
//! Stopping goes in steps: no new connections, then time for the runs under way, then runs are let go of, and last some
//! time for clients to read. A run that was let go of stays in the store, and is taken up by whoever asks with its key.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bonded_host::agent::AgentTools;
use bonded_host::{CancellationToken, Host};
use bonded_telemetry::QueueFigures;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;

use crate::agents::{AgentServer, Runs, ServerSettings, routes};
use crate::console::{self, Console, RunPages};
use crate::listening::accept;
use crate::mcp::endpoint;
use crate::operations::{self, Figures, Operations, Queues, Readiness, TokensDoor};

/// How long clients may take to read the last of their answers.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What stands beside agents.
#[derive(Debug)]
pub enum Beside {
    /// The pages of their runs.
    Pages(Box<RunPages>),
    /// A workspace, which has pages of its own.
    Workspace(Router),
}

/// Serves agents, and what is `beside` them, until `stop` is cancelled and the runs under way have ended, or were let
/// go of. The pages of what is beside them stand before those of the agents.
pub async fn serve(
    listener: TcpListener,
    settings: ServerSettings,
    host: Arc<Host>,
    tools: Arc<AgentTools>,
    (beside, operations): (Beside, Operations),
    stop: CancellationToken,
) {
    let end_runs = CancellationToken::new();
    let (stop_after, has_mcp) = (settings.stop_after, settings.mcp);
    let connection_max = settings.connection_max;
    let interrupt = host.interrupt.clone();
    let readiness = Readiness::new(host.store.clone(), stop.clone());
    let beside = match beside {
        Beside::Pages(pages) => {
            let console = Console::of(host.clone(), *pages, stop.clone());
            console::routes::router(console).merge(operations::probes(readiness.clone()))
        }
        Beside::Workspace(router) => router,
    };
    let tokens = settings.tokens.clone();
    let server = AgentServer::new(settings, host, tools, end_runs.clone());
    let runs = server.runs.clone();
    let mcp = has_mcp.then(|| endpoint::router(server.clone(), connection_max, stop.clone()));
    let figures = operations::router(Figures {
        metrics: operations.metrics,
        door: Box::new(TokensDoor {
            own: operations.tokens,
            server: tokens,
        }),
        readiness,
        queues: Some(runs.clone()),
    });
    let router = routes::router(server, mcp).merge(beside).merge(figures);
    let mut connections = accept(listener, router, stop).await;
    let mut quiet = std::pin::pin!(async {
        connections.wait().await;
        runs.ended().await;
    });
    if tokio::time::timeout(stop_after, &mut quiet).await.is_err() {
        // Runs are let go of: whoever asks again with the same key takes them up.
        interrupt.cancel();
        end_runs.cancel();
        runs.ended().await;
        // A client that does not read must not keep the process.
        let _unread = tokio::time::timeout(LAST_WORDS, &mut quiet).await;
    }
}

impl Queues for Runs {
    fn figures(&self) -> BoxFuture<'_, Option<Vec<QueueFigures>>> {
        Box::pin(std::future::ready(Some(vec![self.queue()])))
    }
}
