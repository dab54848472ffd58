//! A live connection to a server: the one place that knows how servers are reached.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientConfig,
    ClientRequest, Implementation, PingRequest, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RequestHandle, RunningService, ServiceError,
    serve_client,
};
use rmcp::{Peer, RoleClient};
use serde_json::Value;
use tokio::process::Command;

use super::child::{Living, Process};
use super::environment::{Lookup, environment};
use super::error::McpError;
use super::settings::{McpServer, McpTransport, StdioCommand};
use super::stdio::Stdio;
use super::witness::Witness;

/// How long a process that has closed its stdout gets to end, so that an error can say how it did.
const LAST_WORDS_MS: u64 = 500;

/// A server that has been greeted. Dropping it ends the server's process.
#[derive(Debug)]
pub(super) struct Link {
    peer: Peer<RoleClient>,
    carrier: Carrier,
    /// Dropping it closes the connection.
    _service: RunningService<RoleClient, ClientConfig>,
}

/// What carries the messages.
#[derive(Debug)]
enum Carrier {
    Stdio {
        process: Process,
        witness: Arc<Witness>,
    },
}

impl Link {
    /// Starts a server and greets it, within its start-up timeout.
    pub(super) async fn open(
        server: &McpServer,
        lookup: &Lookup,
        living: &Living,
    ) -> Result<Self, McpError> {
        let McpTransport::Stdio(stdio) = &server.transport;
        let witness = Arc::<Witness>::default();
        let mut command = command_of(server, stdio, lookup)?;
        let (process, stdin, stdout) = Process::spawn(&mut command, Arc::clone(&witness), living)
            .map_err(|error| spawn_error(server, stdio, &error))?;
        let transport = Stdio::new(stdin, stdout, Arc::clone(&witness));
        let carrier = Carrier::Stdio { process, witness };
        let timeout = Duration::from_millis(server.start_timeout_ms);
        let greeting = Box::pin(serve_client(ourselves(), transport));
        let why = match tokio::time::timeout(timeout, greeting).await {
            Ok(Ok(service)) => {
                return Ok(Self {
                    peer: service.peer().clone(),
                    carrier,
                    _service: service,
                });
            }
            Ok(Err(error)) => carrier.why_not_greeted(&error).await,
            Err(_) => format!(
                "did not answer `initialize` within {} ms{}",
                server.start_timeout_ms,
                carrier.remarks()
            ),
        };
        carrier.stop();
        Err(start_error(server, why))
    }

    /// Sends a request. Its answer is awaited on what this returns.
    pub(super) async fn send(
        &self,
        request: ClientRequest,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let options = PeerRequestOptions::no_options();
        self.peer.send_request_with_option(request, options).await
    }

    pub(super) async fn ask(&self, request: ClientRequest) -> Result<Value, ServiceError> {
        let answer = self.send(request).await?.await_response().await?;
        Ok(value_of(answer))
    }

    /// Whether the server answers at all; a refusal is an answer.
    pub(super) async fn answers_ping(&self, wait: Duration) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = tokio::time::timeout(wait, self.ask(ping)).await;
        matches!(answer, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Tells the server that nobody waits for an answer any more.
    pub(super) async fn cancel(&self, request: RequestId) {
        let reason = "nobody waits for the answer any more".into();
        let params = CancelledNotificationParam::new(Some(request), Some(reason));
        let notification = CancelledNotification::new(params);
        // A server that cannot be told has ended, and needs not be.
        let _ = self.peer.send_notification(notification.into()).await;
    }

    pub(super) fn is_open(&self) -> bool {
        let Carrier::Stdio { process, .. } = &self.carrier;
        !self.peer.is_transport_closed() && !process.has_ended()
    }

    /// What happened to a server that is not open any more, as the end of a sentence.
    pub(super) async fn last_words(&self) -> String {
        self.carrier.last_words().await
    }

    /// What is known of a server that still runs.
    pub(super) fn remarks(&self) -> String {
        self.carrier.remarks()
    }

    /// Begins to end the server.
    pub(super) fn stop(&self) {
        self.carrier.stop();
    }
}

impl Carrier {
    async fn why_not_greeted(&self, error: &ClientInitializeError) -> String {
        let why = match error {
            ClientInitializeError::JsonRpcError(error) => {
                format!("refused `initialize`: {}", error.message)
            }
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => {
                let last_words = self.last_words().await;
                return format!("ended before it answered `initialize`: it {last_words}");
            }
            ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_) => {
                "answered `initialize` with something else than the protocol demands".into()
            }
            other => format!("could not be initialised: {other}"),
        };
        format!("{why}{}", self.remarks())
    }

    async fn last_words(&self) -> String {
        let Self::Stdio { process, witness } = self;
        let what = match witness.why_broken() {
            Some(why) => why,
            None => {
                let wait = Duration::from_millis(LAST_WORDS_MS);
                let end = process.end_within(wait).await;
                end.unwrap_or_else(|| "closed its stdout".into())
            }
        };
        format!("{what}{}", self.remarks())
    }

    fn remarks(&self) -> String {
        let Self::Stdio { witness, .. } = self;
        witness.remarks()
    }

    fn stop(&self) {
        let Self::Stdio { process, .. } = self;
        process.stop();
    }
}

fn ourselves() -> ClientConfig {
    let name = Implementation::new("bonded", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// The result as the server wrote it.
pub(super) fn value_of(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

fn command_of(
    server: &McpServer,
    stdio: &StdioCommand,
    lookup: &Lookup,
) -> Result<Command, McpError> {
    let environment =
        environment(std::env::vars_os(), &stdio.env, lookup).map_err(|unset| McpError::Unset {
            server: server.name.clone(),
            variable: unset.variable,
            missing: unset.missing,
        })?;
    let mut command = Command::new(&stdio.command);
    command.args(&stdio.args).env_clear().envs(environment);
    if let Some(cwd) = &stdio.cwd {
        command.current_dir(cwd);
    }
    Ok(command)
}

fn spawn_error(server: &McpServer, stdio: &StdioCommand, error: &io::Error) -> McpError {
    let missing_cwd = stdio.cwd.as_deref().filter(|cwd| !cwd.is_dir());
    let (why, hint) = match (missing_cwd, error.kind()) {
        (Some(cwd), _) => (
            format!("its working directory {} is not there", cwd.display()),
            "make it, or correct the server's `cwd`",
        ),
        (None, io::ErrorKind::NotFound) => (
            "there is no such program".into(),
            "install it, or give its full path as the server's `command`",
        ),
        (None, io::ErrorKind::PermissionDenied) => (
            "it may not be executed".into(),
            "make it executable, or correct the server's `command`",
        ),
        (None, _) => (error.to_string(), "correct the server's `command`"),
    };
    McpError::Spawn {
        server: server.name.clone(),
        command: stdio.command.clone(),
        why,
        hint,
    }
}

pub(super) fn start_error(server: &McpServer, why: String) -> McpError {
    McpError::Start {
        server: server.name.clone(),
        command: server.address().into(),
        why,
        hint: "run the command by hand to see what it needs, and whether it speaks MCP on stdio",
    }
}
