//! One client: what was agreed upon with it, its requests under way, and what it wants to be told of.
//!
//! Messages are taken in without waiting and under short locks, so that a cancellation which comes after its
//! request finds it. What a session has begun ends with it: requests and watches hang on one token, and questions
//! on their requests. It knows no transport, and does not know whether it is kept under an id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bonded_kernel::Hash;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::fault::RpcFault;
use super::lifecycle::{self, Lifecycle};
use super::message::{Id, Outbox, Params, Request, RpcMessage};
use super::questions::{Abilities, Questions};
use super::streams::Streams;

/// How many requests of one client may be under way.
const UNDER_WAY_MAX: usize = 1024;
/// How much of a client's name is kept.
const NAME_CHARS_MAX: usize = 64;

/// Shared by the transport, by each request under way and by whoever watches for it.
#[derive(Debug)]
pub(super) struct McpSession {
    /// Whose token greeted; `Hash::ZERO` over stdio.
    pub(super) caller: Hash,
    /// Set by the first `initialize`, and never again.
    greeted: OnceLock<Greeted>,
    /// By the key of the id: how to cancel each request that is not answered.
    under_way: Mutex<BTreeMap<String, CancellationToken>>,
    /// By address: how to end each watch.
    pub(super) watched: Mutex<BTreeMap<String, CancellationToken>>,
    questions: Questions,
    streams: Arc<Streams>,
    /// Cancelled when the session ends; the tokens of requests and watches are its children.
    pub(super) over: CancellationToken,
    /// Takes what belongs to no request.
    pub(super) news: Outbox,
}

/// What a client and we have said to each other.
#[derive(Debug)]
struct Greeted {
    version: &'static str,
    abilities: Abilities,
    name: String,
}

/// What a message leads to.
#[derive(Debug)]
pub(super) enum Received {
    Nothing,
    Reply(Value),
    Request(RequestUnderWay),
}

/// A request until it is answered. Dropping it forgets it.
#[derive(Debug)]
pub(super) struct RequestUnderWay {
    pub(super) session: Arc<McpSession>,
    pub(super) request: Request,
    pub(super) lifecycle: Lifecycle,
    pub(super) cancel: CancellationToken,
}

impl McpSession {
    /// A client, and where the news for it go.
    pub(super) fn new(caller: Hash, news: Outbox) -> Arc<Self> {
        Arc::new(Self {
            caller,
            greeted: OnceLock::new(),
            under_way: Mutex::default(),
            watched: Mutex::default(),
            questions: Questions::default(),
            streams: Arc::default(),
            over: CancellationToken::new(),
            news,
        })
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.greeted.get().is_some()
    }

    pub(super) fn client_name(&self) -> Option<&str> {
        self.greeted.get().map(|greeted| greeted.name.as_str())
    }

    pub(super) fn can_be_asked(&self, method: &str) -> bool {
        let greeted = self.greeted.get();
        greeted.is_some_and(|greeted| greeted.abilities.include(method))
    }

    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(super) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    pub(super) fn is_idle(&self) -> bool {
        lock(&self.under_way).is_empty()
    }

    /// Ends everything that the client has begun.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Takes a message in. It does not wait, so that messages take effect in the order in which they came.
    pub(super) fn take(self: &Arc<Self>, about: &About, message: RpcMessage) -> Received {
        match message {
            RpcMessage::Request(request) => match self.begin(about, &request) {
                Ok(Begun::Answer(result)) => Received::Reply(request.reply(Ok(result))),
                Ok(Begun::UnderWay(lifecycle, cancel)) => Received::Request(RequestUnderWay {
                    session: self.clone(),
                    request,
                    lifecycle,
                    cancel,
                }),
                Err(fault) => Received::Reply(request.reply(Err(fault))),
            },
            RpcMessage::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    self.cancel(&params);
                }
                Received::Nothing
            }
            RpcMessage::Reply { id, answered } => {
                self.questions.answer(&id, answered);
                Received::Nothing
            }
        }
    }

    /// What can be answered at once is; everything else is entered under its id before this returns. An id that is
    /// under way already is refused, because a cancellation could not say which of the two it means.
    fn begin(&self, about: &About, request: &Request) -> Result<Begun, RpcFault> {
        let lifecycle = Lifecycle::of(request)?;
        match request.method.as_str() {
            lifecycle::DISCOVER => return Ok(Begun::Answer(lifecycle::discovered(about))),
            "ping" => return Ok(Begun::Answer(json!({}))),
            "initialize" => return self.greet(about, &request.params).map(Begun::Answer),
            _ => {}
        }
        if lifecycle == Lifecycle::Greeted && !self.is_greeted() {
            let message = "the client must send initialize first";
            return Err(RpcFault::invalid_request(message));
        }
        let cancel = self.over.child_token();
        let mut under_way = lock(&self.under_way);
        if under_way.len() >= UNDER_WAY_MAX {
            let message = format!("{UNDER_WAY_MAX} requests are under way already; wait for one");
            return Err(RpcFault::invalid_request(message));
        }
        let key = request.id.key();
        if under_way.contains_key(&key) {
            let message = format!("a request with the id {key} is under way already");
            return Err(RpcFault::invalid_request(message));
        }
        under_way.insert(key, cancel.clone());
        Ok(Begun::UnderWay(lifecycle, cancel))
    }

    /// Agrees upon a version and notes what the client can. A second greeting changes nothing and is refused.
    fn greet(&self, about: &About, params: &Params) -> Result<Value, RpcFault> {
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let wanted = wanted.ok_or_else(|| {
            RpcFault::invalid_params("initialize needs \"protocolVersion\", which is a text")
        })?;
        let version = lifecycle::agreed(wanted);
        let greeted = Greeted {
            version,
            abilities: Abilities::of(params.get("capabilities")),
            name: name_of(params.get("clientInfo")),
        };
        if self.greeted.set(greeted).is_err() {
            let message = "this client has already sent initialize";
            return Err(RpcFault::invalid_request(message));
        }
        Ok(lifecycle::greeting(about, version))
    }

    /// A cancellation of what is not under way is nothing: the answer may have crossed it.
    fn cancel(&self, params: &Params) {
        let id = params.get("requestId").and_then(Id::of);
        let under_way = lock(&self.under_way);
        if let Some(cancel) = id.and_then(|id| under_way.get(&id.key())) {
            cancel.cancel();
        }
    }
}

/// What a request is at first: answered, or entered with its lifecycle and the token that cancels it.
enum Begun {
    Answer(Value),
    UnderWay(Lifecycle, CancellationToken),
}

impl RequestUnderWay {
    pub(super) fn method(&self) -> &str {
        &self.request.method
    }

    /// Where the client may take the answer up again, if it speaks a version that says how.
    pub(super) fn streams(&self) -> Option<Arc<Streams>> {
        let version = self.session.greeted.get().map(|greeted| greeted.version);
        let may = self.lifecycle == Lifecycle::Greeted && version == Some(lifecycle::RESUMABLE);
        may.then(|| self.session.streams.clone())
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        lock(&self.session.under_way).remove(&self.request.id.key());
    }
}

/// What a client calls itself, as it may be shown.
fn name_of(info: Option<&Value>) -> String {
    let field = |name: &str| info.and_then(|info| info.get(name)?.as_str());
    let words = [field("name"), field("version")];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let shown = name.chars().filter(|c| !c.is_control());
    shown.take(NAME_CHARS_MAX).collect()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
