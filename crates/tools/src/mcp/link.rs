//! A live connection to a server: the one place that knows how servers are reached.
//!
//! Nothing above it knows whether a server is a process or an address. It stands for one process or one
//! session: when that is over, the link is of no use any more, and `upkeep` opens another.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ListToolsRequest,
    PingRequest, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RequestHandle, RunningService,
    ServiceError, serve_client_with_lifecycle,
};
use rmcp::{Peer, RoleClient};
use serde_json::Value;
use tokio::time::Instant;

use super::carrier::{Carrier, start_error};
use super::child::Living;
use super::error::McpError;
use super::http::{EventStream, Http, WebSocket};
use super::news::Voice;
use super::ourselves::Ourselves;
use super::settings::{HealthProbe, McpServer, McpTransport};
use super::witness::Witness;

type Service = RunningService<RoleClient, Ourselves>;

/// A server that has been greeted. Dropping it ends the server's process.
#[derive(Debug)]
pub(super) struct Link {
    peer: Peer<RoleClient>,
    carrier: Carrier,
    /// Dropping it closes the connection.
    service: Service,
}

impl Link {
    /// Reaches a server and greets it, within its start-up timeout. One that refuses the greeting of the
    /// older versions of the protocol is greeted in the way of the newest.
    pub(super) async fn open(
        server: &McpServer,
        voice: &Arc<Voice>,
        living: &Living,
    ) -> Result<Self, McpError> {
        let until = Instant::now() + Duration::from_millis(server.start_timeout_ms);
        let first = Self::greet(
            server,
            voice,
            living,
            ClientLifecycleMode::Initialize,
            until,
        );
        let refusal = match first.await? {
            Ok(link) => return Ok(link),
            Err(refusal) => refusal,
        };
        if refusal.is_of_server {
            let lifecycle = ClientLifecycleMode::Discover {
                preferred_versions: ProtocolVersion::KNOWN_VERSIONS
                    .iter()
                    .rev()
                    .cloned()
                    .collect(),
            };
            let second = Self::greet(server, voice, living, lifecycle, until);
            if let Ok(Ok(link)) = second.await {
                return Ok(link);
            }
        }
        Err(start_error(server, refusal.why))
    }

    /// The outer error is one of settings or of starting, after which a second greeting makes no sense; the
    /// inner one is the server's. Both greetings share one deadline. A process that was not greeted is ended,
    /// and the second greeting starts another.
    async fn greet(
        server: &McpServer,
        voice: &Arc<Voice>,
        living: &Living,
        lifecycle: ClientLifecycleMode,
        until: Instant,
    ) -> Result<Result<Self, GreetingRefusal>, McpError> {
        let witness = Arc::new(Witness::new(Arc::clone(voice)));
        let us = Ourselves::new(server.takes_form_defaults);
        let (carrier, greeted) = match &server.transport {
            McpTransport::Stdio(stdio) => {
                let (carrier, transport) = Carrier::stdio(server, stdio, witness, living)?;
                let greeting = Box::pin(serve_client_with_lifecycle(us, transport, lifecycle));
                (carrier, tokio::time::timeout_at(until, greeting).await)
            }
            McpTransport::Http(endpoint) => {
                let carrier = Carrier::remote(Arc::clone(&witness));
                let transport = Http::new(&server.name, endpoint, witness, living.born())?;
                let greeting = Box::pin(serve_client_with_lifecycle(us, transport, lifecycle));
                (carrier, tokio::time::timeout_at(until, greeting).await)
            }
            McpTransport::Sse(endpoint) => {
                let carrier = Carrier::remote(Arc::clone(&witness));
                let transport = EventStream::new(&server.name, endpoint, witness, living.born())?;
                let greeting = Box::pin(serve_client_with_lifecycle(us, transport, lifecycle));
                (carrier, tokio::time::timeout_at(until, greeting).await)
            }
            McpTransport::Websocket(endpoint) => {
                let carrier = Carrier::remote(Arc::clone(&witness));
                let transport = WebSocket::new(&server.name, endpoint, witness, living.born())?;
                let greeting = Box::pin(serve_client_with_lifecycle(us, transport, lifecycle));
                (carrier, tokio::time::timeout_at(until, greeting).await)
            }
        };
        let refusal = match greeted {
            Ok(Ok(service)) => {
                let peer = service.peer().clone();
                return Ok(Ok(Self {
                    peer,
                    carrier,
                    service,
                }));
            }
            Ok(Err(error)) => GreetingRefusal {
                is_of_server: matches!(error, ClientInitializeError::JsonRpcError(_)),
                why: carrier.why_not_greeted(&error).await,
            },
            Err(_) => GreetingRefusal {
                is_of_server: false,
                why: format!(
                    "did not answer `initialize` within {} ms{}",
                    server.start_timeout_ms,
                    carrier.remarks()
                ),
            },
        };
        carrier.stop();
        Ok(Err(refusal))
    }

    /// Sends a request. Its answer is awaited on what this returns.
    pub(super) async fn send(
        &self,
        request: ClientRequest,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let options = PeerRequestOptions::no_options();
        self.peer.send_request_with_option(request, options).await
    }

    /// It has no timeout of its own: whoever calls it has one.
    pub(super) async fn ask(&self, request: ClientRequest) -> Result<Value, ServiceError> {
        let answer = self.send(request).await?.await_response().await?;
        Ok(value_of(answer))
    }

    /// Whether the server answers at all; a refusal is an answer.
    pub(super) async fn is_alive(&self, probe: HealthProbe, wait: Duration) -> bool {
        let request = match probe {
            HealthProbe::Ping => ClientRequest::PingRequest(PingRequest::default()),
            HealthProbe::ListTools => ClientRequest::ListToolsRequest(ListToolsRequest::default()),
        };
        let answer = tokio::time::timeout(wait, self.ask(request)).await;
        matches!(answer, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Tells the server that nobody waits for an answer any more.
    pub(super) async fn cancel(&self, request: RequestId) {
        let reason = "the answer is no longer needed".into();
        let params = CancelledNotificationParam::new(Some(request), Some(reason));
        let notification = CancelledNotification::new(params);
        // A server that cannot be told has ended, and needs not be.
        let _ = self.peer.send_notification(notification.into()).await;
    }

    /// A process may have ended before its pipe was read to the end, so both are asked.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed() && !self.carrier.has_ended()
    }

    /// How often the server has said that its tools are others now.
    pub(super) fn changes(&self) -> u64 {
        self.carrier.changes()
    }

    /// Puts aside what the server made that would configure later programs, and says so.
    pub(super) async fn settle(&self) -> Option<String> {
        let long_watch = self.carrier.long_watch()?;
        // A tree may be large.
        let settled = tokio::task::spawn_blocking(move || long_watch.settle());
        settled.await.ok()?
    }

    /// What happened to a server that is not open any more, as the end of a sentence.
    pub(super) async fn last_words(&self) -> String {
        self.carrier.last_words().await
    }

    /// What is known of a server that still runs.
    pub(super) fn remarks(&self) -> String {
        self.carrier.remarks()
    }

    /// Begins to end the server, or the session with it.
    pub(super) fn stop(&self) {
        self.carrier.stop();
        if !self.carrier.is_child() {
            self.service.cancellation_token().cancel();
        }
    }
}

/// Why a server was not greeted.
struct GreetingRefusal {
    /// The server itself has refused.
    is_of_server: bool,
    /// As the end of a sentence.
    why: String,
}

/// The result as the server wrote it.
pub(super) fn value_of(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}
