//! One message of ours and what comes back.
//!
//! A request is over when its answer has been handed on: the future that sends it also reads what comes back,
//! and a failure on the way is the failure of that request alone. Greetings are the exception, because nobody
//! takes messages before a greeting has been sent; their answers are read by a task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use reqwest::{Method, Response};
use rmcp::RoleClient;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::{Notify, mpsc};

use super::Incoming;
use super::client::HttpCaller;
use super::fault::HttpFault;
use super::inlet::Inlet;
use super::session::HttpSession;
use super::status::{accepted, is_of, no_message};
use super::trail::Trail;
use crate::mcp::witness::Witness;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long a server gets to hear that a request is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything that is under way with one server.
pub(super) struct Exchanges {
    caller: HttpCaller,
    pub(super) inlet: Inlet,
    session: Mutex<HttpSession>,
    /// Told to end, by the id of the request.
    waiting: Mutex<HashMap<RequestId, Arc<Notify>>>,
}

impl Exchanges {
    pub(super) fn new(
        caller: HttpCaller,
        inbox: mpsc::Sender<Incoming>,
        witness: Arc<Witness>,
    ) -> Self {
        Self {
            caller,
            inlet: Inlet::new(inbox, witness),
            session: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// The version that a request names is noted before its headers are made, as the two must agree.
    pub(super) async fn deliver(
        self: Arc<Self>,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> Result<(), HttpFault> {
        let body = serde_json::to_vec(&message).map_err(|error| HttpFault::Broken {
            why: error.to_string(),
        })?;
        let headers = {
            let mut session = self.session();
            session.note_request(&message);
            session.headers_of(&message)
        };
        match message {
            JsonRpcMessage::Request(request) => {
                let is_greeting = matches!(
                    request.request,
                    ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                if is_greeting {
                    return self.greet(body, headers, request.id).await;
                }
                self.ask(body, headers, &request.id).await
            }
            JsonRpcMessage::Notification(notification) => {
                self.notify(body, headers, notification.notification).await
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                let sent = self.tell(body, headers).await;
                self.inlet.answered();
                sent
            }
        }
    }

    /// The answer is read meanwhile: nobody takes messages before a greeting is sent.
    async fn greet(
        self: Arc<Self>,
        body: Vec<u8>,
        headers: HeaderMap,
        id: RequestId,
    ) -> Result<(), HttpFault> {
        let response = self.post(body, headers).await?;
        self.session().open(&response);
        let exchanges = Arc::clone(&self);
        self.inlet.meanwhile(async move {
            if let Err(fault) = exchanges.read_answer(response, &id).await {
                exchanges.inlet.end(&fault).await;
            }
        });
        Ok(())
    }

    /// The exchange ends with the answer, with a fault, or when somebody cancels the request.
    async fn ask(
        &self,
        body: Vec<u8>,
        headers: HeaderMap,
        id: &RequestId,
    ) -> Result<(), HttpFault> {
        let cut = Arc::<Notify>::default();
        self.waiting().insert(id.clone(), Arc::clone(&cut));
        let exchange = async {
            let response = self.post(body, headers).await?;
            self.read_answer(response, id).await
        };
        let done = tokio::select! {
            done = exchange => done,
            () = cut.notified() => Err(HttpFault::GivenUp),
        };
        self.waiting().remove(id);
        done
    }

    /// A cancellation is sent first, within a bound, and then ends the exchange here whether the server heard
    /// of it or not. After the greeting has been confirmed, the stream for what the server says unasked is
    /// opened.
    async fn notify(
        self: Arc<Self>,
        body: Vec<u8>,
        headers: HeaderMap,
        notification: ClientNotification,
    ) -> Result<(), HttpFault> {
        match notification {
            ClientNotification::CancelledNotification(cancelled) => {
                let telling = self.tell(body, headers);
                let sent = tokio::time::timeout(CANCEL_TIMEOUT, telling).await;
                let id = cancelled.params.request_id;
                if let Some(cut) = id.and_then(|id| self.waiting().remove(&id)) {
                    cut.notify_one();
                }
                sent.unwrap_or(Err(HttpFault::GivenUp))
            }
            ClientNotification::InitializedNotification(_) => {
                self.tell(body, headers).await?;
                let exchanges = Arc::clone(&self);
                self.inlet
                    .meanwhile(async move { exchanges.listen().await });
                Ok(())
            }
            _ => self.tell(body, headers).await,
        }
    }

    /// Sends what has no answer.
    async fn tell(&self, body: Vec<u8>, headers: HeaderMap) -> Result<(), HttpFault> {
        self.post(body, headers).await.map(drop)
    }

    /// Ends the session, where there is one.
    pub(super) async fn end_session(&self) -> Result<(), HttpFault> {
        let headers = {
            let session = self.session();
            if !session.is_open() {
                return Ok(());
            }
            session.headers()
        };
        self.request(Method::DELETE, headers, None).await.map(drop)
    }

    async fn post(&self, body: Vec<u8>, headers: HeaderMap) -> Result<Response, HttpFault> {
        self.request(Method::POST, headers, Some(body)).await
    }

    pub(super) async fn get(&self, trail: &Trail) -> Result<Response, HttpFault> {
        let mut headers = self.session().headers();
        if let Some(id) = trail.last_id() {
            headers.insert(LAST_EVENT_ID, id.clone());
        }
        let response = self.request(Method::GET, headers, None).await?;
        let response = accepted(response, self.has_session()).await?;
        if is_of(&response, "text/event-stream") {
            return Ok(response);
        }
        Err(no_message(&response))
    }

    async fn request(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response, HttpFault> {
        let accept = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let request = self
            .caller
            .client
            .request(method, self.caller.url.clone())
            .headers(self.caller.headers.clone())
            .headers(headers)
            .header(ACCEPT, accept);
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body),
            None => request,
        };
        self.caller.send(request.build()?).await
    }

    /// Hands a message on, and waits until there is room for it.
    pub(super) async fn forward(
        &self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Result<(), HttpFault> {
        self.session().note_answer(&message);
        self.inlet.forward(message).await
    }

    pub(super) fn has_session(&self) -> bool {
        self.session().is_open()
    }

    fn session(&self) -> MutexGuard<'_, HttpSession> {
        // Every change is whole by itself.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RequestId, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
