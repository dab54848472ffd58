//! One client's socket, from its greeting to its end.
//!
//! Nothing is queued for a client: events are read from the store when the last ones have been taken, so that a slow
//! client costs no memory, and one that takes nothing is dropped.
//!
//! Whether the client may listen at all, and to what, is found out at a version of what decides it. The version comes with
//! the events too: where it is the same, nothing was taken from anybody, and nobody is asked again. The promise is that
//! nothing is told that happened after the client was shut out.

use std::sync::Arc;

use bonded_workspace_rules::Code;

use axum::http::HeaderMap;
use bonded_kernel::{Millis, UserId};
use bonded_workspace::store::{FollowedStream, WorkspaceError};
use futures_util::future::select_all;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_websockets::{CloseCode, Limits, Message, ServerBuilder, WebSocketStream};

use super::heard::{self, Heard, Subject};
use super::message::SocketMessage;
use super::patch;
use super::stream::Subscription;
use crate::json_api::refusal::ApiRefusal;
use crate::sorted_json::sorted_json;
use crate::workspace::access::{self, WorkspaceCaller};
use crate::workspace::dto::StreamDetails;
use crate::workspace::site::Site;

/// How many streams one client may follow at once.
const STREAMS_MAX: usize = 64;

/// One for each client.
#[derive(Debug)]
pub(super) struct Connection<S> {
    /// What all requests share.
    site: Arc<Site>,
    /// Who they were when they came; who they are is looked up again.
    user: UserId,
    /// What the client came in with; it is looked at again and again.
    headers: HeaderMap,
    /// Messages are as long as bodies at most.
    socket: WebSocketStream<S>,
    /// What the client follows.
    streams: Vec<Subscription>,
    /// What decides whether the client may listen.
    access: FollowedStream,
    /// When it was last found that it may.
    admitted: Admitted,
    /// When anything came from the client last.
    heard_at: Instant,
    /// When the next sign of life is due.
    beat_at: Instant,
}

/// How long a client need not be asked again who it is.
#[derive(Clone, Copy, Debug, Default)]
struct Admitted {
    /// Up to this version of what decides it.
    version: u64,
    /// And up to this moment, by the wall clock.
    until: Option<Millis>,
}

/// Why a socket is closed.
struct Over(CloseCode, &'static str);

/// What a connection waits for.
enum News {
    Heard(Message),
    Gone,
    Stream(usize, Result<u64, WorkspaceError>),
    /// Something that decides who may listen has changed.
    Access,
    Beat,
    Stop,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Nothing is followed yet.
    pub(super) fn new(site: Arc<Site>, user: UserId, headers: HeaderMap, stream: S) -> Self {
        let limits = Limits::default().max_payload_len(Some(site.settings.body_bytes_max));
        let socket = ServerBuilder::new().limits(limits).serve(stream);
        let now = Instant::now();
        Self {
            beat_at: now + site.settings.heartbeat,
            heard_at: now,
            streams: vec![],
            access: FollowedStream::of_access(),
            // It is asked with the first message, and before the first event.
            admitted: Admitted::default(),
            site,
            user,
            headers,
            socket,
        }
    }

    /// Talks until either side has enough.
    pub(super) async fn talk(mut self) {
        loop {
            let went_on = match self.news().await {
                News::Heard(message) => self.heard(message).await,
                News::Stream(index, last) => self.follow(index, last).await,
                News::Access => self.check_again().await,
                News::Beat => self.beat().await,
                News::Stop => Err(Over(CloseCode::GOING_AWAY, "the server is stopping")),
                News::Gone => return,
            };
            if let Err(Over(code, why)) = went_on {
                let close = self.socket.send(Message::close(Some(code), why));
                // It is over, whether or not the client hears of it.
                let _unheard = timeout(self.site.settings.heartbeat, close).await;
                return;
            }
        }
    }

    /// Waits for whatever comes first. Nothing is lost by dropping the rest: streams are read from the store.
    async fn news(&mut self) -> News {
        let Self {
            site,
            socket,
            streams,
            access,
            admitted,
            beat_at,
            ..
        } = self;
        let changed = async {
            if streams.is_empty() {
                return std::future::pending().await;
            }
            let changes = streams.iter_mut().map(|it| Box::pin(it.changed(site)));
            let (last, index, _) = select_all(changes).await;
            News::Stream(index, last)
        };
        tokio::select! {
            () = site.stop.cancelled() => News::Stop,
            message = socket.next() => match message {
                Some(Ok(message)) => News::Heard(message),
                Some(Err(_)) | None => News::Gone,
            },
            news = changed => news,
            // A store that fails says so when the client is looked up.
            _version = access.beyond(&site.store, admitted.version) => News::Access,
            () = sleep_until(*beat_at) => News::Beat,
        }
    }

    /// Any message shows that the client lives. Who it is is looked up before what it says is done.
    async fn heard(&mut self, message: Message) -> Result<(), Over> {
        self.heard_at = Instant::now();
        if message.is_close() {
            return Err(Over(CloseCode::NORMAL_CLOSURE, ""));
        }
        if message.is_ping() || message.is_pong() {
            return Ok(());
        }
        let (request_id, heard) = heard::read(message.as_payload());
        let name = request_id.as_deref();
        let caller = self.known(name).await?;
        let answered = match heard {
            Ok(heard) => self.answer(&caller, name, heard).await,
            Err(refusal) => Err(refusal),
        };
        match answered {
            Ok(None) => Ok(()),
            Ok(Some(reply)) => self.tell(&reply).await,
            Err(refusal) => self.tell(&SocketMessage::error(name, refusal)).await,
        }
    }

    /// Who the client is, if what it came in with is still good; else it hears why not, and nothing more.
    async fn known(&mut self, name: Option<&str>) -> Result<WorkspaceCaller, Over> {
        match access::caller(&self.site, &self.headers, false).await {
            Ok(caller) => Ok(caller),
            Err(refusal) => {
                self.tell(&SocketMessage::error(name, refusal)).await?;
                Err(Over(
                    CloseCode::POLICY_VIOLATION,
                    "the client is no longer authenticated",
                ))
            }
        }
    }

    /// Finds out whether the client may hear of what was read at a version, unless that is known.
    async fn check(&mut self, version: u64) -> Result<(), Over> {
        let is_over = |until: Millis| until <= self.site.now();
        if version <= self.admitted.version && !self.admitted.until.is_some_and(is_over) {
            return Ok(());
        }
        self.check_again().await
    }

    /// Asks who the client is and what it may follow. A stream that it may not follow any more ends.
    async fn check_again(&mut self) -> Result<(), Over> {
        // Read first: what changes while we ask is another version.
        let version = match self.site.store.access_version().await {
            Ok(version) => version,
            Err(error) => {
                self.tell(&SocketMessage::error(None, error.into())).await?;
                return Err(Over(
                    CloseCode::INTERNAL_SERVER_ERROR,
                    "it cannot be found out who the client is",
                ));
            }
        };
        let caller = self.known(None).await?;
        let mut at = 0;
        while let Some(stream) = self.streams.get(at) {
            match stream.check_role(&self.site, self.user).await {
                Ok(()) => at += 1,
                Err(refusal) => self.end_stream(at, refusal).await?,
            }
        }
        self.admitted = Admitted {
            version,
            until: caller.session.map(|session| session.expires_at),
        };
        Ok(())
    }

    /// Says why a stream ends.
    async fn end_stream(&mut self, at: usize, refusal: ApiRefusal) -> Result<(), Over> {
        let stream_id = self.streams.swap_remove(at).id();
        let refusal = refusal.details(StreamDetails { stream_id });
        self.tell(&SocketMessage::error(None, refusal)).await
    }

    /// None where there is nothing to say.
    async fn answer(
        &mut self,
        caller: &WorkspaceCaller,
        name: Option<&str>,
        heard: Heard,
    ) -> Result<Option<SocketMessage>, ApiRefusal> {
        let request_id = name.map(str::to_owned);
        match heard {
            Heard::Ping => Ok(Some(SocketMessage::Pong { request_id })),
            Heard::ApplyPatch(patch) => patch::apply(&self.site, caller, name, patch)
                .await
                .map(Some),
            Heard::Subscribe { of, cursor } => self.subscribe(name, of, cursor).await.map(Some),
            Heard::Unsubscribe { stream_id } => {
                self.streams.retain(|stream| stream.id() != stream_id);
                Ok(Some(SocketMessage::Unsubscribed {
                    request_id,
                    stream_id,
                }))
            }
            Heard::Ack {
                stream_id,
                event_seq,
            } => self.ack(&stream_id, event_seq).map(|()| None),
        }
    }

    /// The reply comes before the first event of the stream.
    async fn subscribe(
        &mut self,
        name: Option<&str>,
        of: Subject,
        cursor: Option<u64>,
    ) -> Result<SocketMessage, ApiRefusal> {
        // Subscribing again begins anew at the cursor that is said now.
        self.streams.retain(|stream| stream.of != of);
        if self.streams.len() >= STREAMS_MAX {
            return Err(ApiRefusal::bad(format!(
                "at most {STREAMS_MAX} streams on one socket"
            )));
        }
        let (stream, version) = Subscription::begin(&self.site, self.user, of, cursor).await?;
        let reply = SocketMessage::Subscribed {
            request_id: name.map(str::to_owned),
            stream_id: stream.id(),
            current_version: version,
            replay_cursor: stream.cursor,
        };
        self.streams.push(stream);
        Ok(reply)
    }

    /// The client keeps its own cursor; what it acknowledges is only checked against what it was told.
    fn ack(&self, stream_id: &str, event_seq: u64) -> Result<(), ApiRefusal> {
        let stream = self.streams.iter().find(|stream| stream.id() == stream_id);
        match stream {
            Some(stream) if event_seq <= stream.cursor => Ok(()),
            Some(stream) => {
                let message = format!(
                    "{stream_id} was told up to {}, not {event_seq}",
                    stream.cursor
                );
                Err(ApiRefusal::new(Code::WsBadPayload, message))
            }
            None => Err(ApiRefusal::new(
                Code::WsBadPayload,
                "there is no such stream on this socket",
            )),
        }
    }

    /// Tells what is new on a stream, some of it at a time.
    async fn follow(&mut self, at: usize, last: Result<u64, WorkspaceError>) -> Result<(), Over> {
        let Some(stream) = self.streams.get_mut(at) else {
            return Ok(());
        };
        let of = stream.of;
        let next = match last {
            Ok(last) => stream.next(&self.site, last).await,
            Err(error) => Err(error.into()),
        };
        let next = match next {
            Ok(next) => next,
            Err(refusal) => {
                self.known(None).await?;
                return self.end_stream(at, refusal).await;
            }
        };
        if next.events.is_empty() {
            return Ok(());
        }
        self.check(next.access).await?;
        if !self.streams.iter().any(|stream| stream.of == of) {
            return Ok(());
        }
        for event in next.events {
            self.send(event.message(of)).await?;
        }
        Ok(())
    }

    /// Shows that the server lives, and finds out whether the client does and may still listen.
    async fn beat(&mut self) -> Result<(), Over> {
        let settings = &self.site.settings;
        self.beat_at = Instant::now() + settings.heartbeat;
        if self.heard_at.elapsed() >= settings.client_timeout {
            return Err(Over(
                CloseCode::GOING_AWAY,
                "the client was silent for too long",
            ));
        }
        self.check_again().await?;
        self.send(Message::ping("")).await
    }

    /// As text, one message for each.
    async fn tell(&mut self, message: &SocketMessage) -> Result<(), Over> {
        self.send(Message::text(sorted_json(message))).await
    }

    /// A client that takes nothing for too long is dropped: waiting for it would hold what the others need.
    async fn send(&mut self, message: Message) -> Result<(), Over> {
        let too_slow = || {
            Over(
                CloseCode::GOING_AWAY,
                "the client did not read what was sent",
            )
        };
        let sent = timeout(self.site.settings.client_timeout, self.socket.send(message)).await;
        sent.map_err(|_| too_slow())?.map_err(|_| too_slow())
    }
}
