//! What happens while a page is open, as lines of JSON: entries of the run that it shows, and that the list has changed.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use serde_json::json;
use tokio::time::{Instant, Sleep, sleep_until};

use super::access::Deed;
use super::ask::ConsoleAsk;
use super::list_watch::ListChanges;
use super::run_feed::{FeedPage, line_of};

/// Whatever stands between takes a silent connection for a dead one.
const BEAT: Duration = Duration::from_secs(10);

/// Where a page is.
struct Stream {
    /// Who asked: it is looked at again before anything is sent.
    ask: ConsoleAsk,
    list: ListChanges,
    /// The run that the page shows, and how far it has got.
    run: Option<FeedPage>,
    is_first: bool,
    /// Ends the stream with the server.
    stop: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    /// Kept from piece to piece, so that a busy page needs no timer for each.
    beat: Pin<Box<Sleep>>,
    sent_at: Instant,
}

/// A response that ends with the server or when the page goes.
pub(super) fn stream(ask: ConsoleAsk, run: Option<FeedPage>) -> Response {
    let now = Instant::now();
    let stream = Stream {
        list: ask.console.list_watch.changes(),
        run,
        is_first: true,
        stop: Box::pin(ask.console.stop.clone().cancelled_owned()),
        beat: Box::pin(sleep_until(now + BEAT)),
        sent_at: now,
        ask,
    };
    let pieces = futures_util::stream::unfold(stream, |mut stream| async {
        let piece = stream.next().await?;
        Some((Ok::<_, Infallible>(piece), stream))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Stream {
    /// Waits for the next thing to send.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_first) {
            // A page knows at once that the stream is there.
            return Some(beat());
        }
        let piece = loop {
            break tokio::select! {
                () = &mut self.stop => return None,
                piece = next_of(&mut self.run) => piece,
                version = self.list.next() => line_of(&json!({ "kind": "runs", "version": version })),
                () = &mut self.beat => match self.sent_at + BEAT {
                    due if due > Instant::now() => {
                        self.beat.as_mut().reset(due);
                        continue;
                    }
                    _ => {
                        self.beat.as_mut().reset(Instant::now() + BEAT);
                        beat()
                    }
                },
            };
        };
        self.sent_at = Instant::now();
        self.is_still_admitted().await.then_some(piece)
    }

    /// A session may have ended, and a person may have lost their role.
    async fn is_still_admitted(&self) -> bool {
        let ask = &self.ask;
        let Ok(access) = ask.console.door.admit(&ask.headers, false).await else {
            return false;
        };
        match &self.run {
            Some(page) => {
                let listed = &page.feed.listed;
                access.sight.permits(listed, Deed::Read).await.is_ok()
            }
            None => true,
        }
    }
}

/// What happens in the run that the page shows: entries, and what its model says.
async fn next_of(run: &mut Option<FeedPage>) -> Bytes {
    let Some(page) = run else {
        return std::future::pending().await;
    };
    page.next().await
}

fn beat() -> Bytes {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    line_of(&json!({ "kind": "beat", "now": now.as_millis() as u64 }))
}
