//! What is served.
//!
//! This is the seam between the protocol and the program: the crate calls these methods, and what implements them
//! never sees a transport. Futures that are dropped are the only way in which a cancellation reaches it, so an
//! implementation must be good at being dropped at any await.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::Hash;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::about::About;
use super::fault::RpcFault;
use super::message::{self, Outbox, Params};
use super::session::McpSession;

/// What a server offers beyond the protocol itself: its tools, resources and prompts, by the protocol's methods.
pub trait Served: Send + Sync + 'static {
    /// Asked once, when serving begins: what it says must hold for as long as the server lives.
    fn about(&self) -> About;

    /// Answers a request. A request that is cancelled, or whose client is gone, is dropped.
    fn answer<'a>(
        &'a self,
        asked: &'a ClientRequest,
        peer: RequestClient,
    ) -> BoxFuture<'a, Result<Value, RpcFault>>;

    /// Where a resource stands now, for whoever wants to be told of its changes.
    fn mark<'a>(&'a self, caller: Hash, uri: &'a str) -> BoxFuture<'a, Result<u64, RpcFault>>;

    /// Waits until a resource has gone beyond a mark, and gives the next one; `None` if it changes no more.
    fn changed<'a>(
        &'a self,
        uri: &'a str,
        mark: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, RpcFault>>;
}

/// A request that is understood.
#[derive(Debug)]
pub struct ClientRequest {
    /// The protocol's method, such as `tools/call`. Greetings, pings and subscriptions never come here.
    pub method: String,
    /// The parameters by name, with `_meta` among them; empty where the client has sent none.
    pub params: Params,
    /// Who asks: the hash of a token, or nobody in particular.
    pub caller: Hash,
}

impl ClientRequest {
    /// A parameter that is a text.
    pub fn text(&self, name: &str) -> Result<&str, RpcFault> {
        let value = self.params.get(name).and_then(Value::as_str);
        let fault = || {
            let message = format!("{} needs {name:?}, which is a text", self.method);
            RpcFault::invalid_params(message)
        };
        value.ok_or_else(fault)
    }

    /// What stands beside the parameters.
    pub fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(name)
    }
}

/// The client of a request, who can be told things before the answer.
#[derive(Clone, Debug)]
pub struct RequestClient {
    /// Where messages before the answer go; closed where the client takes a single answer only.
    pub(super) out: Outbox,
    /// The name under which the client wants to hear of progress.
    pub(super) progress_token: Option<Value>,
    /// The client, where it can be asked: one that was greeted and hears what it is told.
    pub(super) session: Option<Arc<McpSession>>,
}

impl RequestClient {
    /// Whether the client has named a progress token; without one, what `progress` is given goes nowhere.
    pub fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// Tells how far the request has come, if the client wants to know.
    pub async fn progress(&self, progress: u64, total: Option<u64>, message: &str) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total {
            params["total"] = total.into();
        }
        if !message.is_empty() {
            params["message"] = message.into();
        }
        self.notify("notifications/progress", &params).await;
    }

    /// What the client calls itself, if it was greeted.
    pub fn client_name(&self) -> Option<&str> {
        self.session.as_ref()?.client_name()
    }

    /// Whether the client has said that it can be asked this.
    pub fn can_be_asked(&self, method: &str) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.can_be_asked(method)) && !self.out.is_closed()
    }

    /// Asks the client something, on the way to the answer of its own request. Whoever stops waiting takes the
    /// question back.
    pub async fn ask(
        &self,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, RpcFault> {
        match &self.session {
            Some(session) if self.can_be_asked(method) => {
                let questions = session.questions();
                questions.ask(&self.out, method, params, patience).await
            }
            _ => {
                let message = format!("the client has not declared that it supports {method}");
                Err(RpcFault::internal(message))
            }
        }
    }

    /// Sends a notification ahead of the answer to this request. It waits for a client that reads slowly.
    pub async fn notify(&self, method: &str, params: &Value) {
        // A client that is gone hears nothing; its request is dropped by whoever noticed.
        let _gone = self.out.send(message::notification(method, params)).await;
    }
}
