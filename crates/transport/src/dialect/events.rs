//! A streamed reply: server-sent events read to their end.
//!
//! The loop here is the same for all dialects; an accumulator knows what an event means. A stream counts as
//! whole only if the accumulator says so: a connection that ends early is a failure that may be billed, unless
//! the reason for the end had already come. Nothing that was heard meanwhile is taken back, which is why a
//! listener is told that nothing of it counts yet.

use std::borrow::Cow;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bonded_kernel::{Failure, FailureClass, Reply};
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use serde::Deserialize;
use sse_stream::SseByteStream;

use crate::body::Cut;
use crate::dialect::DONE_MARK;
use crate::failure::{ServerError, failed, malformed};
use crate::{Live, Writing};

/// The end of the body usually arrives together with the last event. Reading it lets the connection be
/// used again; a server that keeps the body open is not waited for.
const TAIL_PATIENCE: Duration = Duration::from_millis(20);

/// Puts a streamed reply together: [`push`](Self::push) each event's data, then [`finish`](Self::finish).
pub trait Accumulate: fmt::Debug + Send {
    /// Reads the data of one event that says something.
    fn read_event(&mut self, data: &str) -> Result<(), Failure>;

    /// The server said that nothing follows.
    fn end(&mut self);

    /// Takes the data of one event. What is not known is passed over.
    fn push(&mut self, data: &str) -> Result<(), Failure> {
        match data.trim() {
            "" => Ok(()),
            _ if self.has_ended() => Ok(()),
            DONE_MARK => {
                self.end();
                Ok(())
            }
            // Some servers keep a connection open with words that are no event.
            data if !data.starts_with(['{', '[']) => Ok(()),
            data => self.read_event(data),
        }
    }

    /// The text that has come since this was asked last, as far as it is surely no thought. `data` is that of
    /// the event that was just taken. Only a reply that somebody hears is asked, after each event.
    fn new_text<'a>(&'a mut self, data: &'a str) -> Cow<'a, str>;

    /// What the model is writing, where the event that was just taken brought no text to be heard.
    fn writing<'a>(&'a mut self, data: &str) -> Option<Writing<'a>>;

    /// Whether the model has begun to speak, so that it may be billed.
    fn has_spoken(&self) -> bool;

    /// Whether the reason why the model stopped is known, so that only trimmings can be missing.
    fn has_reason(&self) -> bool;

    /// Whether the server has said that nothing follows.
    fn has_ended(&self) -> bool;

    /// The reply, if the stream came to its proper end.
    fn finish(self: Box<Self>) -> Result<Reply, Failure>;
}

/// Reads the events of a stream to their end.
pub(super) async fn read<S>(
    mut reply: Box<dyn Accumulate>,
    pieces: S,
    mut live: Option<&mut (dyn Live + 'static)>,
) -> Result<Reply, Failure>
where
    S: Stream<Item = Result<Bytes, Cut>>,
{
    let mut events = pin!(SseByteStream::new(pieces));
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => match broken(error) {
                // Only trimmings can be missing once the reason is known why the model stopped.
                cut if cut.class == FailureClass::Network && reply.has_reason() => break,
                failure => return Err(failure),
            },
        };
        let Some(data) = event.data else { continue };
        if event.event.as_deref() == Some("error") {
            let error = ServerError::from_body(data.as_bytes());
            return Err(error.into_failure(reply.has_spoken()));
        }
        reply.push(&data)?;
        if let Some(live) = live.as_deref_mut() {
            let_hear(&mut *reply, &data, live);
        }
        if reply.has_ended() {
            // Whether the tail came in time changes nothing about the reply.
            let tail = async { while let Some(Ok(_)) = events.next().await {} };
            let _ = tokio::time::timeout(TAIL_PATIENCE, tail).await;
            break;
        }
    }
    let reply = reply.finish()?;
    if let Some(live) = live {
        live.end();
    }
    Ok(reply)
}

/// A listener is never given an empty piece.
fn let_hear(reply: &mut dyn Accumulate, data: &str, live: &mut dyn Live) {
    let text = reply.new_text(data);
    if !text.is_empty() {
        return live.hear(&text);
    }
    drop(text);
    if let Some(writing) = reply.writing(data) {
        live.notice(writing);
    }
}

/// The data of an event as what it must be.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str, what: &str) -> Result<T, Failure> {
    serde_json::from_str(data).map_err(|error| {
        let why = format!("an event of the stream is not {what} ({error})");
        malformed(&why, data.as_bytes())
    })
}

/// Whether a stream came to its proper end, where the reason why the model stopped is one.
pub(super) fn check_whole(reply: &impl Accumulate) -> Result<(), Failure> {
    if !reply.has_ended() && !reply.has_reason() {
        return Err(cut_short());
    }
    match reply.has_spoken() {
        true => Ok(()),
        false => Err(without_message()),
    }
}

/// It came to its end and said nothing, which no model does.
pub(super) fn without_message() -> Failure {
    malformed("the stream ended without a message", DONE_MARK.as_bytes())
}

/// The failure of a stream that ended before the reply did.
pub(super) fn cut_short() -> Failure {
    let message = "the connection was cut before the reply ended";
    failed(FailureClass::Network, message, true)
}

/// A cut that the body itself reported keeps its own class: too large, silent, or broken.
fn broken(error: sse_stream::Error) -> Failure {
    let why = error.to_string();
    match error {
        sse_stream::Error::Body(cause) => match cause.downcast::<Cut>() {
            Ok(cut) => cut.into_failure(),
            Err(_) => Cut::Broken { why }.into_failure(),
        },
        _ => failed(
            FailureClass::Malformed,
            format!("the stream of events is unreadable: {why}"),
            true,
        ),
    }
}
