//! The streamable HTTP transport: a request a POST, news by GET, the end by DELETE.
//!
//! What is checked, and in which order: where the page comes from (by the caller, before the body is read), what
//! the client can read, the message, the version, the session. A request of the newest version has no session and
//! stands alone; others need one, and get it with `initialize`. A call that takes long is answered as a stream of
//! events where the client can read one, so that neither side takes the other for dead; everything else is a single
//! JSON answer, if the client takes one.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bonded_kernel::Hash;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::events;
use super::fault::{HEADER_MISMATCH, UNKNOWN_METHOD, UNSUPPORTED_VERSION};
use super::http_refusal::{HttpRefusal, refused};
use super::lifecycle::{DISCOVER, Lifecycle};
use super::message::{self, RpcMessage};
use super::origin;
use super::request_headers::{Accepts, JSON, SESSION, check_version, last_event_id, session_id};
use super::served::Served;
use super::session::{McpSession, Received, RequestUnderWay};
use super::sessions::{Listening, Sessions, stranger};
use super::standard_headers;
use super::stream::{self, Terms};

/// How many messages may wait for a client that reads slowly.
const MESSAGES_MAX: usize = 16;

/// What is served, with the sessions of its clients.
#[derive(Debug)]
pub struct Endpoint<S> {
    served: Arc<S>,
    about: About,
    sessions: Sessions,
    /// Whether clients must show a token; then a page of the server's own name is welcome too.
    has_tokens: bool,
    /// How long the connection of one call may last; `None` is as long as the call.
    connection_max: Option<Duration>,
    stop: CancellationToken,
}

impl<S: Served> Endpoint<S> {
    /// Serves until `stop` is cancelled; requests under way are not its business.
    pub fn new(served: Arc<S>, has_tokens: bool, stop: CancellationToken) -> Self {
        Self {
            about: served.about(),
            served,
            sessions: Sessions::default(),
            has_tokens,
            connection_max: None,
            stop,
        }
    }

    /// Closes the connection of a call after so long; clients that know how come back for the rest.
    #[must_use]
    pub fn closing_after(mut self, connection_max: Option<Duration>) -> Self {
        self.connection_max = connection_max;
        self
    }

    /// The answer to a page of somebody else; to be asked before a body is read.
    pub fn unwelcome(&self, headers: &HeaderMap) -> Option<Response> {
        if origin::is_welcome(headers, self.has_tokens) {
            return None;
        }
        let message = "requests from pages of other origins are refused";
        Some(refused(StatusCode::FORBIDDEN, message).response())
    }

    /// Answers one message. The caller is whoever the token belongs to, and the body was bounded by whoever read
    /// it.
    pub async fn post(&self, caller: Hash, headers: &HeaderMap, body: &[u8]) -> Response {
        match self.posted(caller, headers, body).await {
            Ok(response) => response,
            Err(refused) => refused.response(),
        }
    }

    /// The same, with what HTTP refuses as an error.
    async fn posted(
        &self,
        caller: Hash,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response, HttpRefusal> {
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let message = "the client must accept application/json and text/event-stream";
            return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
        }
        let message = message::read(body).map_err(|misread| HttpRefusal {
            status: StatusCode::BAD_REQUEST,
            id: misread.id,
            fault: misread.fault,
        })?;
        check_version(headers)?;
        match message {
            RpcMessage::Request(request) if request.method == "initialize" => {
                self.greet(caller, RpcMessage::Request(request))
            }
            RpcMessage::Request(request) if stands_alone(headers, &request) => {
                if Lifecycle::of(&request) == Ok(Lifecycle::Inline) {
                    standard_headers::check(headers, &request).map_err(|fault| HttpRefusal {
                        status: StatusCode::BAD_REQUEST,
                        id: request.id.value().clone(),
                        fault,
                    })?;
                }
                let (session, _no_news) = stranger(caller);
                let received = session.take(&self.about, RpcMessage::Request(request));
                Ok(self.answer(received, accepts, status_of).await)
            }
            message => {
                let (session, _) = self.session(caller, headers)?;
                let received = session.take(&self.about, message);
                Ok(self.answer(received, accepts, |_| StatusCode::OK).await)
            }
        }
    }

    /// Makes a session and gives its id in a header. One that was refused, for instance for a missing version, is
    /// not kept.
    fn greet(&self, caller: Hash, message: RpcMessage) -> Result<Response, HttpRefusal> {
        let (session, news) = stranger(caller);
        let Received::Reply(reply) = session.take(&self.about, message) else {
            return Ok(empty(StatusCode::ACCEPTED));
        };
        let mut response = json(StatusCode::OK, &reply);
        if session.is_greeted() {
            let id = self.sessions.keep(session, news).ok_or_else(|| {
                let message = "there are too many sessions; try again later";
                refused(StatusCode::SERVICE_UNAVAILABLE, message)
            })?;
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(SESSION, id);
            }
        }
        Ok(response)
    }

    /// Answers as the client can read it. Whoever takes events and JSON gets events only for what takes long: a
    /// stream costs a task and, where it may be taken up again, memory.
    async fn answer(
        &self,
        received: Received,
        accepts: Accepts,
        status_of: fn(&Value) -> StatusCode,
    ) -> Response {
        let under_way = match received {
            Received::Nothing => return empty(StatusCode::ACCEPTED),
            Received::Reply(reply) => return json(status_of(&reply), &reply),
            Received::Request(under_way) => under_way,
        };
        let (out, messages) = mpsc::channel(MESSAGES_MAX);
        let served = self.served.clone();
        if accepts.events && (!accepts.json || takes_long(&under_way)) {
            let terms = Terms {
                streams: under_way.streams(),
                connection_max: self.connection_max,
                stop: self.stop.clone(),
            };
            let answering = async move { under_way.answer(&served, out).await };
            return events::answer(stream::begin(Box::pin(answering), messages, terms));
        }
        // Who wants a single answer hears nothing before it.
        drop(messages);
        match under_way.answer(&served, out).await {
            Some(reply) => json(status_of(&reply), &reply),
            None => empty(StatusCode::ACCEPTED),
        }
    }

    /// The stream of what belongs to no request, or the rest of one that does.
    pub fn get(&self, caller: Hash, headers: &HeaderMap) -> Response {
        match self.got(caller, headers) {
            Ok(response) => response,
            Err(refused) => refused.response(),
        }
    }

    /// A client that names the event it has seen last wants the rest of that stream, and no news.
    fn got(&self, caller: Hash, headers: &HeaderMap) -> Result<Response, HttpRefusal> {
        if !Accepts::of(headers).events {
            let message = "the client must accept text/event-stream";
            return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
        }
        check_version(headers)?;
        let (session, listening) = self.session(caller, headers)?;
        if let Some(last) = last_event_id(headers) {
            let pieces = session.streams().take_up(last);
            return pieces.map(events::answer).ok_or_else(|| {
                let message = "this stream is no longer kept; ask again with the same key";
                refused(StatusCode::BAD_REQUEST, message)
            });
        }
        let news = listening.begin().ok_or_else(|| {
            let message = "another client already listens to this session";
            refused(StatusCode::CONFLICT, message)
        })?;
        let ends = [session.over().clone(), self.stop.clone()];
        Ok(events::news(news, listening, ends))
    }

    /// Ends a session and what was begun in it.
    pub fn delete(&self, caller: Hash, headers: &HeaderMap) -> Response {
        let ended = session_id(headers).map(|id| self.sessions.end(id, caller));
        match ended {
            Ok(true) => empty(StatusCode::NO_CONTENT),
            Ok(false) => unknown_session().response(),
            Err(refused) => refused.response(),
        }
    }

    fn session(
        &self,
        caller: Hash,
        headers: &HeaderMap,
    ) -> Result<(Arc<McpSession>, Arc<Listening>), HttpRefusal> {
        let found = self.sessions.find(session_id(headers)?, caller);
        found.ok_or_else(unknown_session)
    }
}

impl HttpRefusal {
    fn response(&self) -> Response {
        json(self.status, &self.fault.reply(&self.id))
    }
}

/// Whether a request asks for no session: those of the newest version have none.
fn stands_alone(headers: &HeaderMap, request: &message::Request) -> bool {
    let is_in_session = headers.contains_key(SESSION);
    let is_greeted = Lifecycle::of(request) == Ok(Lifecycle::Greeted);
    !is_in_session && (!is_greeted || request.method == DISCOVER)
}

/// Whether a client should hear that the request is alive.
fn takes_long(under_way: &RequestUnderWay) -> bool {
    under_way.method() == "tools/call"
}

fn unknown_session() -> HttpRefusal {
    let message = "there is no such session; send initialize again";
    refused(StatusCode::NOT_FOUND, message)
}

/// Errors of requests without a session are told by the status too.
fn status_of(reply: &Value) -> StatusCode {
    match reply["error"]["code"].as_i64() {
        Some(UNKNOWN_METHOD) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static(JSON);
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
