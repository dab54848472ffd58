//! Agents as models of an OpenAI-compatible server, and whatever is served beside them.
//!
//! The server asks the host and decides nothing: a request becomes a goal, its run goes through the same
//! store as any other, and what was accepted as the report becomes the answer. Text that is not the report
//! never leaves.

mod access;
mod answer;
mod ask;
pub(crate) mod body;
mod call_handle;
mod chat;
mod client;
mod client_tools;
mod conversation;
mod key;
mod models;
mod own;
mod places;
mod progress;
mod refusal;
mod request;
mod responses;
mod resumption;
pub(crate) mod routes;
mod run_queue;
mod runs;
mod stream;
mod token_keeper;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use bonded_host::agent::{Agent, AgentTools, Moment};
use bonded_host::{CancellationToken, Host, Queueing};
use bonded_kernel::Limits;
use bonded_web::guests::Asker;

pub(crate) use access::Caller;
pub use access::{Tokens, needs_tokens};
pub(crate) use answer::{AWAITING_REVIEW, Ended, RunAnswer, STORE_FAILED};
pub(crate) use client::Client;
pub use client_tools::ClientToolsMode;
pub(crate) use client_tools::GivenTools;
pub(crate) use conversation::{Role, Utterance};
pub(crate) use key::RunKey;
pub(crate) use models::{Model, Models};
pub use own::Apart;
pub(crate) use own::Own;
use places::Places;
pub(crate) use progress::Follower;
pub(crate) use refusal::AgentRefusal;
pub(crate) use request::{AgentRequest, Streaming, named_wish};
use run_queue::RunQueue;
pub(crate) use runs::Runs;
pub use token_keeper::TokenKeeper;

/// What a server is made of.
#[derive(Debug)]
pub struct ServerSettings {
    /// Each is served as a model under its name.
    pub agents: Vec<Agent>,
    /// Who may ask; none means that only this machine may.
    pub tokens: Tokens,
    /// Whether callers have directories and runs of their own.
    pub apart: Apart,
    /// How many runs are driven at once.
    pub concurrency: usize,
    /// The limits that no agent speaks of.
    pub limits: Limits,
    /// How long runs may go on after the server was told to stop.
    pub stop_after: Duration,
    /// Whether the end of each run is told on stderr.
    pub tells: bool,
    /// Whether the agents are offered to MCP clients too.
    pub mcp: bool,
    /// What is done with tools that clients send.
    pub client_tools: ClientToolsMode,
    /// Whether every stream tells what its run does, also to clients that did not ask.
    pub tells_progress: bool,
    /// What prompts may ask of the machine and the clock.
    pub moment: fn() -> Moment,
    /// Whether the person at an MCP client may approve calls.
    pub asks_clients: bool,
    /// Where runs wait for a worker; without it they are driven here.
    pub queueing: Option<Queueing>,
    /// Who runs the server.
    pub person: String,
    /// After so long the connection of a call over MCP is closed, for the client to come back.
    pub connection_max: Option<Duration>,
}

/// What all requests share.
#[derive(Debug)]
pub struct AgentServer {
    pub(crate) models: Models,
    pub(crate) tokens: Tokens,
    pub(crate) apart: Apart,
    pub(crate) limits: Limits,
    pub(crate) runs: Arc<Runs>,
    pub(crate) asks_clients: bool,
    client_tools: ClientToolsMode,
    /// Whether runs are driven elsewhere, by whoever knows nothing of their clients.
    is_queued: bool,
    tells_progress: bool,
    tools: Arc<AgentTools>,
}

impl AgentServer {
    /// Who asks; where there are several tokens, the connection is known by it from now on.
    pub(crate) fn caller(&self, head: &Parts) -> Result<Caller, AgentRefusal> {
        let caller = self.tokens.caller(&head.headers)?;
        if let Some(asker) = head.extensions.get::<Asker>()
            && self.tokens.count() > 1
        {
            asker.is(caller.0);
        }
        Ok(caller)
    }

    /// Waits until no run is under way.
    pub async fn runs_ended(&self) {
        self.runs.ended().await;
    }

    /// A server whose runs end when `end_runs` is cancelled.
    /// Nothing runs yet: runs begin with requests.
    pub fn new(
        settings: ServerSettings,
        host: Arc<Host>,
        tools: Arc<AgentTools>,
        end_runs: CancellationToken,
    ) -> Arc<Self> {
        let places = Places::new(settings.concurrency, settings.tokens.count());
        let queue = settings.queueing.map(|queueing| RunQueue {
            queueing,
            tokens: settings.tokens.clone(),
            person: settings.person,
        });
        let has_queue = queue.is_some();
        let runs = Runs::new(host, places, queue, end_runs, settings.tells);
        if !has_queue {
            runs.bound_earlier_waits();
        }
        Arc::new(Self {
            models: Models::new(settings.agents, settings.moment),
            tokens: settings.tokens,
            apart: settings.apart,
            limits: settings.limits,
            runs,
            is_queued: has_queue,
            asks_clients: settings.asks_clients,
            client_tools: settings.client_tools,
            tells_progress: settings.tells_progress,
            tools,
        })
    }
}
