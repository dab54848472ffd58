//! Messages over streamable HTTP: each of ours is a POST, and what comes back is one message or a stream of
//! events. A stream that breaks is taken up again where it broke, as long as the server has said how.
//!
//! Memory is bounded by a few messages and time by whoever waits: dropping the transport ends everything
//! that is under way, and cancelling a request ends its exchange.

mod auth;
mod body;
mod client;
mod exchange;
mod fault;
mod inlet;
mod reading;
mod session;
mod socket;
mod sse;
mod standing;
mod status;
mod trail;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

pub use self::auth::{
    Grant, IdentityProvider, LoggedIn, Oauth, OauthError, OauthSettings, ProviderPlace, Subject,
    SubjectKind, login, logout,
};
use self::client::HttpCaller;
pub use self::client::{check_socket_url, check_url};
use self::exchange::Exchanges;
pub(super) use self::fault::{Arrival, HttpFault};
pub(super) use self::socket::WebSocket;
pub(super) use self::sse::EventStream;
use super::child::Born;
use super::error::McpError;
use super::settings::HttpEndpoint;
use super::witness::Witness;

/// How many messages may wait until they are taken. A stream waits meanwhile.
const WAITING_MAX: usize = 4;

/// How long the end of a session may take.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);

/// What comes in. `None` is the end.
type Incoming = Option<RxJsonRpcMessage<RoleClient>>;

/// The client's end of a session.
pub(super) struct Http {
    exchanges: Arc<Exchanges>,
    inbox: mpsc::Receiver<Incoming>,
    /// Whoever ends the server waits until the session has ended.
    _born: Born,
}

impl Http {
    pub(super) fn new(
        server: &str,
        endpoint: &HttpEndpoint,
        witness: Arc<Witness>,
        born: Born,
    ) -> Result<Self, McpError> {
        let caller = HttpCaller::new(server, endpoint)?;
        let (sender, inbox) = mpsc::channel(WAITING_MAX);
        Ok(Self {
            exchanges: Arc::new(Exchanges::new(caller, sender, witness)),
            inbox,
            _born: born,
        })
    }
}

impl Transport<RoleClient> for Http {
    type Error = HttpFault;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpFault>> + Send + 'static {
        let exchanges = Arc::clone(&self.exchanges);
        async move { exchanges.deliver(message).await }
    }

    /// May be dropped at any await.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inbox.recv().await.flatten()
    }

    async fn close(&mut self) -> Result<(), HttpFault> {
        self.inbox.close();
        // The server forgets the session sooner or later, whether it could be told or not.
        let _ = tokio::time::timeout(FAREWELL_TIMEOUT, self.exchanges.end_session()).await;
        Ok(())
    }
}
