//! Answers as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;

use super::answer::{Ended, RunAnswer};
use super::client::Client;
use super::progress::Follower;
use super::refusal::Refusal;
use bonded_web::event_stream::{SILENCE_MAX, event_stream};

const KEEP_ALIVE: Bytes = Bytes::from_static(b": the run goes on\n\n");

/// How an interface tells an answer piece by piece.
pub(super) trait AnswerWriter: Send {
    fn opening(&mut self) -> Vec<Bytes>;
    fn progress(&mut self, line: &str) -> Option<Bytes>;
    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes>;
    fn failed(&mut self, refusal: &Refusal) -> Vec<Bytes>;
}

/// One event. JSON has no line breaks of its own, so it is one line.
pub(super) fn frame(event: Option<&str>, data: &Value) -> Bytes {
    match event {
        Some(event) => format!("event: {event}\ndata: {data}\n\n").into(),
        None => format!("data: {data}\n\n").into(),
    }
}

/// A stream under way. When the connection drops it, the client in it is gone.
struct EventStream {
    client: Client,
    telling: Box<dyn AnswerWriter>,
    follower: Option<Follower>,
    ready: VecDeque<Bytes>,
    over: bool,
}

enum News {
    Lines(Vec<String>),
    Unreadable,
    Ended(Ended),
    Silence,
}

/// The response whose body tells what comes of a run.
pub(super) fn response(
    client: Client,
    mut telling: Box<dyn AnswerWriter>,
    follower: Option<Follower>,
) -> Response {
    let events = EventStream {
        client,
        ready: telling.opening().into(),
        telling,
        follower,
        over: false,
    };
    let pieces = stream::unfold(events, async |mut events| {
        let piece = events.next().await?;
        Some((Ok::<Bytes, Infallible>(piece), events))
    });
    event_stream(pieces)
}

impl EventStream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.over {
                return None;
            }
            match self.news().await {
                News::Lines(lines) => self.show(&lines),
                // The answer matters more than the progress towards it.
                News::Unreadable => self.follower = None,
                News::Ended(ended) => self.end(ended).await,
                News::Silence => return Some(KEEP_ALIVE),
            }
        }
    }

    async fn news(&mut self) -> News {
        let lines = async {
            match &mut self.follower {
                Some(follower) => follower.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            lines = lines => lines.map_or(News::Unreadable, News::Lines),
            ended = self.client.ended() => News::Ended(ended),
            () = tokio::time::sleep(SILENCE_MAX) => News::Silence,
        }
    }

    fn show(&mut self, lines: &[String]) {
        let pieces = lines.iter().filter_map(|line| self.telling.progress(line));
        self.ready.extend(pieces);
    }

    async fn end(&mut self, ended: Ended) {
        if let Some(follower) = &mut self.follower
            && let Ok(lines) = follower.catch_up().await
        {
            self.show(&lines);
        }
        self.ready.extend(match ended {
            Ok(answer) => self.telling.answered(&answer),
            Err(refusal) => self.telling.failed(&refusal),
        });
        self.over = true;
    }
}
