//! Messages over a web socket: each is one text. The socket is the session.
//!
//! The handshake is a request of the same client as all others, so that headers, tokens, redirects, proxies and
//! certificates are treated alike; only what comes after it is another protocol.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::SinkExt as _;
use futures_util::stream::{SplitSink, SplitStream, StreamExt as _};
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Response, StatusCode, Upgraded};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use ring::rand::{SecureRandom as _, SystemRandom};
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Mutex, mpsc};
use tokio_websockets::{ClientBuilder, Limits, Message, WebSocketStream};

use super::client::HttpCaller;
use super::fault::HttpFault;
use super::inlet::Inlet;
use super::standing::LinkStanding;
use super::status::{accepted, no_message};
use super::{FAREWELL_TIMEOUT, Incoming, WAITING_MAX};
use crate::mcp::child::Born;
use crate::mcp::error::McpError;
use crate::mcp::frame::LINE_BYTES_MAX;
use crate::mcp::settings::HttpEndpoint;
use crate::mcp::witness::Witness;

/// What the protocol is called in a handshake.
const PROTOCOL: &str = "mcp";

/// What a server puts behind the key before it hashes both (RFC 6455).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

type SocketStream = WebSocketStream<Upgraded>;
type SocketWriter = Arc<Mutex<SplitSink<SocketStream, Message>>>;

/// The client's end of a socket.
pub(in crate::mcp) struct WebSocket {
    line: Arc<SocketLine>,
    inbox: mpsc::Receiver<Incoming>,
    _born: Born,
}

/// Shared between the task that reads and the calls that write.
struct SocketLine {
    caller: HttpCaller,
    inlet: Inlet,
    writer: LinkStanding<SocketWriter>,
}

impl WebSocket {
    pub(in crate::mcp) fn new(
        server: &str,
        endpoint: &HttpEndpoint,
        witness: Arc<Witness>,
        born: Born,
    ) -> Result<Self, McpError> {
        let (sender, inbox) = mpsc::channel(WAITING_MAX);
        let line = Arc::new(SocketLine {
            caller: HttpCaller::for_socket(server, endpoint)?,
            inlet: Inlet::new(sender, witness),
            writer: LinkStanding::default(),
        });
        let talking = Arc::clone(&line);
        line.inlet.meanwhile(async move { talking.talk().await });
        Ok(Self {
            line,
            inbox,
            _born: born,
        })
    }
}

impl SocketLine {
    async fn talk(&self) {
        let fault = match self.connect().await {
            Ok(socket) => {
                let (writer, reader) = socket.split();
                self.writer.come(Arc::new(Mutex::new(writer)));
                self.read(reader).await
            }
            Err(fault) => fault,
        };
        self.writer.go(fault.clone());
        self.inlet.end(&fault).await;
    }

    /// The answer must prove that it is one to this handshake, or a cache on the way could pass for a server.
    async fn connect(&self) -> Result<SocketStream, HttpFault> {
        let key = key()?;
        let request = self
            .caller
            .client
            .get(self.caller.url.clone())
            .headers(self.caller.headers.clone())
            .headers(greeting(&key)?);
        let response = self.caller.send(request.build()?).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let response = accepted(response, false).await?;
            return Err(no_message(&response));
        }
        if !agrees(&response, &key) {
            return Err(HttpFault::NoSocket);
        }
        let limits = Limits::default().max_payload_len(Some(LINE_BYTES_MAX));
        let upgraded = response.upgrade().await?;
        Ok(ClientBuilder::new().limits(limits).take_over(upgraded))
    }

    /// Reads to the end, and gives the reason of it.
    async fn read(&self, mut reader: SplitStream<SocketStream>) -> HttpFault {
        let mut noise_bytes = 0;
        loop {
            let message = match reader.next().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return fault_of(&error),
                None => return HttpFault::StreamEnded,
            };
            if message.is_close() {
                return HttpFault::StreamEnded;
            }
            if !message.is_text() && !message.is_binary() {
                continue;
            }
            let payload = message.as_payload();
            if let Err(fault) = self.inlet.take(payload, &mut noise_bytes).await {
                return fault;
            }
        }
    }

    async fn deliver(
        self: Arc<Self>,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> Result<(), HttpFault> {
        let broken = |why: String| HttpFault::Broken { why };
        let text = serde_json::to_string(&message).map_err(|error| broken(error.to_string()))?;
        let writer = self.writer.wait().await?;
        let sent = writer.lock().await.send(Message::text(text)).await;
        if matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        ) {
            self.inlet.answered();
        }
        sent.map_err(|error| fault_of(&error))
    }
}

/// Drawn anew for each handshake, so that no answer to an older one fits.
fn key() -> Result<String, HttpFault> {
    let mut bytes = [0; 16];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_err(|_| HttpFault::Unreachable {
        why: "the system gives no randomness".into(),
    })?;
    Ok(STANDARD.encode(bytes))
}

fn greeting(key: &str) -> Result<HeaderMap, HttpFault> {
    let key = HeaderValue::from_str(key).map_err(|_| HttpFault::NoSocket)?;
    Ok(HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL)),
        (SEC_WEBSOCKET_KEY, key),
    ]))
}

/// Whether a server has understood what it was asked to become.
fn agrees(response: &Response, key: &str) -> bool {
    let header = |name| {
        let value: Option<&HeaderValue> = response.headers().get(name);
        value.and_then(|value| value.to_str().ok())
    };
    let upgrade = header(UPGRADE).is_some_and(|it| it.eq_ignore_ascii_case("websocket"));
    let protocol = header(SEC_WEBSOCKET_PROTOCOL).is_none_or(|it| it == PROTOCOL);
    upgrade && protocol && header(SEC_WEBSOCKET_ACCEPT) == Some(&accept(key))
}

/// What a server answers to a key.
fn accept(key: &str) -> String {
    let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(ACCEPT_SUFFIX.as_bytes());
    STANDARD.encode(hash.finish())
}

fn fault_of(error: &tokio_websockets::Error) -> HttpFault {
    match error {
        tokio_websockets::Error::PayloadTooLong { .. } => HttpFault::TooLarge {
            bytes_max: LINE_BYTES_MAX,
        },
        error => HttpFault::Broken {
            why: error.to_string(),
        },
    }
}

impl Transport<RoleClient> for WebSocket {
    type Error = HttpFault;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpFault>> + Send + 'static {
        let line = Arc::clone(&self.line);
        async move { line.deliver(message).await }
    }

    /// May be dropped at any await.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inbox.recv().await.flatten()
    }

    async fn close(&mut self) -> Result<(), HttpFault> {
        let closing = async {
            let writer = self.line.writer.wait().await?;
            let closed = writer.lock().await.close().await;
            closed.map_err(|error| fault_of(&error))
        };
        // The server finds it out by itself, whether it could be told or not.
        let _ = tokio::time::timeout(FAREWELL_TIMEOUT, closing).await;
        self.inbox.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_handshake_is_the_one_of_the_standard() {
        // The example of RFC 6455, 1.3.
        assert_eq!(
            accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_ne!(key().expect("a key"), key().expect("another"));
    }
}
