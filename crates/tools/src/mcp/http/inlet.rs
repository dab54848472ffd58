//! The way in: texts of a server become messages, within bounds, and wait until they are taken.
//!
//! All transports over a network share it. The channel behind it is short, and a full one makes the reader
//! wait, so that a fast server is slowed down by the network itself and not by our memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::RxJsonRpcMessage;
use tokio::sync::mpsc;

use super::Incoming;
use super::fault::HttpFault;
use crate::mcp::frame::{Frame, parse};
use crate::mcp::witness::Witness;

/// How many requests of the server may wait for our answer.
const UNANSWERED_MAX: usize = 256;

/// How much a stream may hold that is no message.
const NOISE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(super) struct Inlet {
    inbox: mpsc::Sender<Incoming>,
    witness: Arc<Witness>,
    unanswered: AtomicUsize,
}

impl Inlet {
    pub(super) fn new(inbox: mpsc::Sender<Incoming>, witness: Arc<Witness>) -> Self {
        Self {
            inbox,
            witness,
            unanswered: AtomicUsize::new(0),
        }
    }

    /// Reads one text. `None` is no message, and counts as noise where it is none of the protocol's either.
    pub(super) fn read(
        &self,
        text: &[u8],
        noise_bytes: &mut u64,
    ) -> Result<Option<RxJsonRpcMessage<RoleClient>>, HttpFault> {
        match parse(text) {
            Frame::Message(message) => return Ok(Some(*message)),
            Frame::Notice(notice) => self.witness.notice(&notice),
            Frame::Ignored => {}
            Frame::Noise => {
                *noise_bytes += text.len() as u64 + 1;
                self.witness.noise(text);
            }
        }
        if *noise_bytes > NOISE_BYTES_MAX {
            let bytes_max = NOISE_BYTES_MAX;
            return Err(HttpFault::Noise { bytes_max });
        }
        Ok(None)
    }

    /// Reads one text, and hands on what it holds.
    pub(super) async fn take(&self, text: &[u8], noise_bytes: &mut u64) -> Result<(), HttpFault> {
        match self.read(text, noise_bytes)? {
            Some(message) => self.forward(message).await,
            None => Ok(()),
        }
    }

    /// Hands a message on, and waits until there is room for it.
    pub(super) async fn forward(
        &self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Result<(), HttpFault> {
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        if is_request && self.unanswered.fetch_add(1, Ordering::Relaxed) >= UNANSWERED_MAX {
            let max = UNANSWERED_MAX;
            return Err(HttpFault::TooManyRequests { max });
        }
        let sent = self.inbox.send(Some(message)).await;
        sent.map_err(|_| HttpFault::Closed)
    }

    /// A request of the server has its answer.
    pub(super) fn answered(&self) {
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
    }

    /// Nothing more comes, and why.
    ///
    /// The reason is noted before the end is sent: whoever sees the end asks for it at once.
    pub(super) async fn end(&self, fault: &HttpFault) {
        self.witness.broken(fault.to_string());
        // Nobody waits any more if this fails.
        let _ = self.inbox.send(None).await;
    }

    /// Does something in a task of its own that ends with the transport.
    pub(super) fn meanwhile(&self, work: impl Future<Output = ()> + Send + 'static) {
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = inbox.closed() => {}
                () = work => {}
            }
        });
    }
}
