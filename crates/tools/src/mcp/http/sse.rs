//! Messages over the older transport: one stream of events comes in, whose first event says where each message of ours
//! is posted to. The stream is the session: where it ends, all of it is over.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::body::Events;
use super::client::HttpCaller;
use super::fault::HttpFault;
use super::inlet::Inlet;
use super::standing::LinkStanding;
use super::status::{accepted, is_of, no_message};
use super::{Incoming, WAITING_MAX};
use crate::mcp::child::Born;
use crate::mcp::error::McpError;
use crate::mcp::settings::HttpEndpoint;
use crate::mcp::witness::Witness;

/// The client's end of a stream.
pub(in crate::mcp) struct EventStream {
    line: Arc<EventLine>,
    inbox: mpsc::Receiver<Incoming>,
    _born: Born,
}

struct EventLine {
    caller: HttpCaller,
    inlet: Inlet,
    /// Where messages are posted to.
    place: LinkStanding<Url>,
}

impl EventStream {
    pub(in crate::mcp) fn new(
        server: &str,
        endpoint: &HttpEndpoint,
        witness: Arc<Witness>,
        born: Born,
    ) -> Result<Self, McpError> {
        let (sender, inbox) = mpsc::channel(WAITING_MAX);
        let line = Arc::new(EventLine {
            caller: HttpCaller::new(server, endpoint)?,
            inlet: Inlet::new(sender, witness),
            place: LinkStanding::default(),
        });
        let listening = Arc::clone(&line);
        line.inlet
            .meanwhile(async move { listening.listen().await });
        Ok(Self {
            line,
            inbox,
            _born: born,
        })
    }
}

impl EventLine {
    async fn listen(&self) {
        let fault = match self.open().await {
            Ok(response) => self.read(response).await,
            Err(fault) => fault,
        };
        self.place.go(fault.clone());
        self.inlet.end(&fault).await;
    }

    async fn open(&self) -> Result<Response, HttpFault> {
        let request = self
            .caller
            .client
            .get(self.caller.url.clone())
            .headers(self.caller.headers.clone())
            .header(ACCEPT, "text/event-stream");
        let response = self.caller.send(request.build()?).await?;
        let response = accepted(response, false).await?;
        if is_of(&response, "text/event-stream") {
            return Ok(response);
        }
        Err(no_message(&response))
    }

    /// Reads events to the end, and gives the reason of it.
    async fn read(&self, response: Response) -> HttpFault {
        let mut events = Events::of(response);
        let mut noise_bytes = 0;
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return HttpFault::StreamEnded,
                Err(fault) => return fault,
            };
            let Some(data) = event.data else { continue };
            let taken = match event.event.as_deref() {
                Some("endpoint") => self.endpoint(&data).map(|place| self.place.come(place)),
                None | Some("" | "message") => {
                    self.inlet.take(data.as_bytes(), &mut noise_bytes).await
                }
                Some(_) => Ok(()),
            };
            if let Err(fault) = taken {
                return fault;
            }
        }
    }

    /// Where the server wants messages. What they carry is for the host that the user named, and for no other.
    fn endpoint(&self, written: &str) -> Result<Url, HttpFault> {
        let own = &self.caller.url;
        let place = own.join(written.trim());
        let place = place.map_err(|_| HttpFault::BadEndpoint)?;
        match place.origin() == own.origin() {
            true => Ok(place),
            false => Err(HttpFault::ForeignEndpoint {
                host: place.host_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    async fn deliver(
        self: Arc<Self>,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> Result<(), HttpFault> {
        let body = serde_json::to_vec(&message).map_err(|error| HttpFault::Broken {
            why: error.to_string(),
        })?;
        let place = self.place.wait().await?;
        let request = self
            .caller
            .client
            .post(place)
            .headers(self.caller.headers.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = self.caller.send(request.build()?).await;
        if matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        ) {
            self.inlet.answered();
        }
        // The answer comes on the stream.
        accepted(response?, true).await.map(drop)
    }
}

impl Transport<RoleClient> for EventStream {
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
        // The task that reads ends with it, and the stream with that.
        self.inbox.close();
        Ok(())
    }
}
