//! Messages to a client as server-sent events.

use std::future::Future;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use bonded_host::CancellationToken;
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;

use super::sessions::Listening;
use crate::event_stream::{SILENCE_MAX, event_stream};

const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");

/// A request under way. When the connection drops it, the client is gone and the request with it.
struct Answering {
    answer: Option<BoxFuture<'static, Option<Value>>>,
    told: mpsc::Receiver<Value>,
    ready: std::collections::VecDeque<Bytes>,
}

/// What is told on the way to an answer, and the answer last.
pub(super) fn answer(
    answer: impl Future<Output = Option<Value>> + Send + 'static,
    told: mpsc::Receiver<Value>,
) -> Response {
    let answering = Answering {
        answer: Some(Box::pin(answer)),
        told,
        ready: [].into(),
    };
    event_stream(stream::unfold(answering, async |mut answering| {
        let piece = answering.next().await?;
        Some((Ok(piece), answering))
    }))
}

impl Answering {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let answer = self.answer.as_mut()?;
            tokio::select! {
                biased;
                Some(told) = self.told.recv() => self.ready.push_back(frame(&told)),
                answered = answer => {
                    self.answer = None;
                    while let Ok(told) = self.told.try_recv() {
                        self.ready.push_back(frame(&told));
                    }
                    self.ready.extend(answered.as_ref().map(frame));
                }
                () = tokio::time::sleep(SILENCE_MAX) => return Some(KEEP_ALIVE),
            }
        }
    }
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
    async fn next(&mut self) -> Option<Bytes> {
        let news = self.news.as_mut()?;
        tokio::select! {
            biased;
            () = self.ends[0].cancelled() => None,
            () = self.ends[1].cancelled() => None,
            told = news.recv() => told.as_ref().map(frame),
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
fn frame(message: &Value) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}
