//! Answers as server-sent events.
//!
//! A stream begins before the run has an answer, so that its status is always 200; what goes wrong later is an event.
//! Silence is filled with comments, because connections that say nothing are closed by what lies between. The report
//! comes at the end, in one piece.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream;
use serde::Serialize;

use super::answer::{Ended, RunAnswer};
use super::client::Client;
use super::progress::Follower;
use super::refusal::AgentRefusal;
use crate::sorted_json::sorted_json;
use bonded_web::event_stream::{SILENCE_MAX, event_stream};

/// A comment, which clients pass over.
const KEEP_ALIVE: Bytes = Bytes::from_static(b": the run continues\n\n");

/// How an interface tells an answer piece by piece.
pub(super) trait AnswerWriter: Send {
    /// What comes before anything is known.
    fn opening(&mut self) -> Vec<Bytes>;
    /// What the run does.
    fn progress(&mut self, line: &str) -> Vec<Bytes>;
    /// The report, and the end of the stream.
    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes>;
    /// Why there is none, and the end of the stream.
    fn failed(&mut self, refusal: &AgentRefusal) -> Vec<Bytes>;
}

/// One event. JSON has no line breaks of its own, so it is one line.
pub(super) fn frame(event: Option<&str>, data: &impl Serialize) -> Bytes {
    let data = sorted_json(data);
    match event {
        Some(event) => format!("event: {event}\ndata: {data}\n\n").into(),
        None => format!("data: {data}\n\n").into(),
    }
}

/// A stream under way. When the connection drops it, the client in it is gone.
struct EventStream {
    /// Dropped with the connection.
    client: Client,
    /// In the words of the interface.
    telling: Box<dyn AnswerWriter>,
    /// None where progress is not wanted, or cannot be read.
    follower: Option<Follower>,
    /// What is to be sent next.
    ready: VecDeque<Bytes>,
    /// Nothing follows what is ready.
    over: bool,
}

/// What a stream waits for.
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
    /// Never waits while something is ready.
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

    /// Progress is looked at first, so that it comes before the end that it led to.
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

    /// Each as a piece of its own, or several.
    fn show(&mut self, lines: &[String]) {
        for line in lines {
            self.ready.extend(self.telling.progress(line));
        }
    }

    /// What the log has beyond the last progress is told before the answer.
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
