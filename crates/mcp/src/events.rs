//! Messages to a client as server-sent events.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::sessions::Listening;
use bonded_web::event_stream::{SILENCE_MAX, event_stream};

/// A comment, which clients pass over.
const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");
/// After how many milliseconds a client comes back that has lost its connection.
const RETRY_MS: u32 = 1000;

/// The pieces of an answer, for as long as the connection holds.
pub(super) fn answer(pieces: mpsc::Receiver<Bytes>) -> Response {
    event_stream(stream::unfold(pieces, async |mut pieces| {
        let piece = match timeout(SILENCE_MAX, pieces.recv()).await {
            Ok(piece) => piece?,
            Err(_silent) => KEEP_ALIVE,
        };
        Some((Ok(piece), pieces))
    }))
}

/// A client that listens for news. Its place is free again when the connection drops it.
struct Hearing {
    news: Option<mpsc::Receiver<Value>>,
    listening: Arc<Listening>,
    ends: [CancellationToken; 2],
}

/// The news of a session, until one of the tokens is cancelled.
pub(super) fn news(
    news: mpsc::Receiver<Value>,
    listening: Arc<Listening>,
    ends: [CancellationToken; 2],
) -> Response {
    let hearing = Hearing {
        news: Some(news),
        listening,
        ends,
    };
    // The head of the answer would wait for the first event otherwise.
    let opening = stream::iter([Ok(KEEP_ALIVE)]);
    let events = stream::unfold(hearing, async |mut hearing| {
        let piece = hearing.next().await?;
        Some((Ok(piece), hearing))
    });
    event_stream(stream::StreamExt::chain(opening, events))
}

impl Hearing {
    /// The next piece; `None` ends the stream. A stop goes before news, so that a server which ends is not kept by
    /// a busy session.
    async fn next(&mut self) -> Option<Bytes> {
        let news = self.news.as_mut()?;
        tokio::select! {
            biased;
            () = self.ends[0].cancelled() => None,
            () = self.ends[1].cancelled() => None,
            message = news.recv() => message.map(|message| frame(None, &message)),
            () = tokio::time::sleep(SILENCE_MAX) => Some(KEEP_ALIVE),
        }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        if let Some(news) = self.news.take() {
            self.listening.end(news);
        }
    }
}

/// One event. JSON has no line breaks of its own, so it is one line.
pub(super) fn frame(id: Option<&str>, message: &Value) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}event: message\ndata: {message}\n\n").into()
}

/// An event that says nothing: it names the place to come back to, and when.
pub(super) fn opening(id: &str) -> Bytes {
    format!("id: {id}\nretry: {RETRY_MS}\ndata:\n\n").into()
}
