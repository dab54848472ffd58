//! An answer that comes as a stream of events: what is told on the way, and the answer last.
//!
//! The stream of a client that may take it up again outlives its connections: the client has some time to come back,
//! and gets what it missed. Without that time, or after it, the client is gone, and its request is dropped.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::events;
use super::frames::Frames;
use super::streams::{StreamReader, Streams, event_id};

/// How long a client may be away.
const AWAY_MAX: Duration = Duration::from_secs(30);
/// How much of what was sent is kept for one that comes back.
const KEPT_BYTES_MAX: usize = 256 * 1024;

pub(super) type Answering = BoxFuture<'static, Option<Value>>;

/// What holds for the connections of a stream.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// Where the client may take it up again, if it may.
    pub(super) streams: Option<Arc<Streams>>,
    /// After so long a connection is closed, and the client comes back for the rest.
    pub(super) connection_max: Option<Duration>,
    /// Nobody comes back to a server that stops.
    pub(super) stop: CancellationToken,
}

/// One task owns it and does everything in turn: readers that come and go, messages, the answer and the deadlines.
struct AnswerStream {
    name: Option<Name>,
    /// `None` once it is answered.
    answer: Option<Answering>,
    messages: mpsc::Receiver<Value>,
    frames: Frames,
    arrivals: mpsc::Receiver<StreamReader>,
    reader: Option<mpsc::Sender<Bytes>>,
    /// The first piece for the reader.
    opening: Option<Bytes>,
    /// When the reader must go, or when one must have come.
    deadline: Option<Instant>,
    connection_max: Option<Duration>,
    is_cancelled: bool,
    /// Nobody can come to read any more.
    is_forgotten: bool,
}

/// Under this name the client finds it again. Dropping it forgets the stream.
struct Name {
    streams: Arc<Streams>,
    stream: u64,
}

impl Drop for Name {
    fn drop(&mut self) {
        self.streams.forget(self.stream);
    }
}

/// Begins to answer, and gives the pieces for the first connection.
pub(super) fn begin(
    answer: Answering,
    messages: mpsc::Receiver<Value>,
    terms: Terms,
) -> mpsc::Receiver<Bytes> {
    let (name, arrivals) = match terms.streams {
        Some(streams) => {
            let (stream, arrivals) = streams.begin();
            (Some(Name { streams, stream }), arrivals)
        }
        None => (None, mpsc::channel(1).1),
    };
    let kept_bytes_max = if name.is_some() { KEPT_BYTES_MAX } else { 0 };
    let mut stream = AnswerStream {
        connection_max: terms.connection_max.filter(|_| name.is_some()),
        name,
        answer: Some(answer),
        messages,
        frames: Frames::keeping(kept_bytes_max),
        arrivals,
        reader: None,
        opening: None,
        deadline: None,
        is_cancelled: false,
        is_forgotten: false,
    };
    let (reader, pieces) = StreamReader::after(0);
    stream.welcome(reader);
    tokio::spawn(stream.flow(terms.stop));
    pieces
}

impl AnswerStream {
    /// The order of the arms is the order of what counts: a new reader before the loss of the old one, sending
    /// before taking more in, messages before the answer that must come last.
    async fn flow(mut self, stop: CancellationToken) {
        while self.goes_on() {
            let is_waiting = self.opening.is_some() || self.frames.is_waiting();
            let takes_in = self.answer.is_some() && self.frames.has_room();
            tokio::select! {
                biased;
                arrived = self.arrivals.recv(), if !self.is_forgotten => match arrived {
                    Some(reader) => self.welcome(reader),
                    None => self.is_forgotten = true,
                },
                () = gone(self.reader.as_ref()) => self.let_go(),
                () = room(self.reader.as_ref()), if is_waiting => self.send(),
                Some(message) = self.messages.recv(), if takes_in => self.take_in(&message),
                answered = answered(&mut self.answer) => self.end(answered),
                () = until(self.deadline) => match self.reader {
                    Some(_) => self.let_go(),
                    None => return,
                },
                () = stop.cancelled(), if self.reader.is_none() => return,
            }
        }
    }

    /// Whether somebody reads, or may come to read.
    fn goes_on(&mut self) -> bool {
        let is_read = self.answer.is_none() && self.opening.is_none() && !self.frames.is_waiting();
        if is_read && self.reader.is_some() {
            self.let_go();
        }
        self.reader.is_some() || !(self.is_cancelled || self.is_forgotten)
    }

    /// Whoever came last reads; a connection before that is dead or should be.
    fn welcome(&mut self, reader: StreamReader) {
        self.frames.take_up(reader.last);
        self.reader = Some(reader.out);
        // Without an event that has a name, a client that loses the connection has nothing to come back with.
        let opening =
            |name: &Name| events::opening(&event_id(name.stream, self.frames.last_sent()));
        self.opening = self.name.as_ref().map(opening);
        self.deadline = self.connection_max.map(|max| Instant::now() + max);
    }

    /// Sends the next piece, for which there is room.
    fn send(&mut self) {
        if let Some(reader) = &self.reader
            && let Some(piece) = self.opening.take().or_else(|| self.frames.send())
        {
            // A reader that has just closed its connection is noticed next.
            let _gone = reader.try_send(piece);
        }
    }

    /// From here on a reader has `AWAY_MAX` to come. What was sent and is kept waits for it.
    fn let_go(&mut self) {
        (self.reader, self.opening) = (None, None);
        self.deadline = Some(Instant::now() + AWAY_MAX);
    }

    fn take_in(&mut self, message: &Value) {
        let number = self.frames.next_number();
        let id = self.name.as_ref().map(|name| event_id(name.stream, number));
        self.frames.push(events::frame(id.as_deref(), message));
    }

    /// The answer is the last event. Messages that were sent before it and are still in the channel go before it.
    fn end(&mut self, answered: Option<Value>) {
        self.answer = None;
        while let Ok(message) = self.messages.try_recv() {
            self.take_in(&message);
        }
        match answered {
            Some(answer) => self.take_in(&answer),
            None => self.is_cancelled = true,
        }
        if let Some(name) = &self.name {
            name.streams.end(name.stream);
        }
    }
}

/// The reader has closed its connection.
async fn gone(reader: Option<&mpsc::Sender<Bytes>>) {
    match reader {
        Some(reader) => reader.closed().await,
        None => std::future::pending().await,
    }
}

/// Nobody else sends to the reader, so the room that is found stays.
async fn room(reader: Option<&mpsc::Sender<Bytes>>) {
    let found = match reader {
        Some(reader) => reader.reserve().await.is_ok(),
        None => false,
    };
    if !found {
        std::future::pending::<()>().await;
    }
}

async fn answered(answer: &mut Option<Answering>) -> Option<Value> {
    match answer {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
