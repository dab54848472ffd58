//! What happens while a page is open, as lines of JSON: entries of the run that it shows, and that the list has changed.

use std::convert::Infallible;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::access::Deed;
use super::ask::ConsoleAsk;
use super::list_watch::ListChanges;
use super::run_feed::{FeedPage, line_of};

/// Whatever stands between takes a silent connection for a dead one.
const BEAT: Duration = Duration::from_secs(10);
/// The list is asked for again after each change of it, so that changes are sent together.
const LIST_PAUSE: Duration = Duration::from_millis(500);

/// Where a page is.
struct Stream {
    /// Who asked: it is looked at again before anything is sent.
    ask: ConsoleAsk,
    list: ListChanges,
    /// The version of the list that was sent last.
    sent: u64,
    /// When the next one is to be sent.
    list_due: Option<Instant>,
    /// The run that the page shows, and how far it has got.
    run: Option<FeedPage>,
    is_first: bool,
}

/// A response that ends with the server or when the page goes.
pub(super) fn stream(ask: ConsoleAsk, run: Option<FeedPage>) -> Response {
    let list = ask.console.list_watch.changes();
    let sent = *list.changes.borrow();
    let stream = Stream {
        ask,
        sent,
        list_due: None,
        list,
        run,
        is_first: true,
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
    /// Waits for the next thing to tell.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_first) {
            // A page knows at once that the stream is there.
            return Some(beat());
        }
        let console = self.ask.console.clone();
        let piece = tokio::select! {
            () = console.stop.cancelled() => return None,
            piece = next_of(&mut self.run) => piece,
            version = changed(&mut self.list, self.sent, &mut self.list_due) => {
                self.sent = version;
                line_of(&json!({ "kind": "runs", "version": version }))
            }
            () = tokio::time::sleep(BEAT) => beat(),
        };
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

/// The list's version once it is another than the one that was sent, and some time after that. It may be given up at any
/// time: what was not sent is still another version then, and is due when it was. The store is looked at by a task that
/// lives as long as we do.
async fn changed(list: &mut ListChanges, sent: u64, due: &mut Option<Instant>) -> u64 {
    let changes = &mut list.changes;
    if changes.wait_for(|version| *version != sent).await.is_err() {
        return std::future::pending().await;
    }
    sleep_until(*due.get_or_insert_with(|| Instant::now() + LIST_PAUSE)).await;
    *due = None;
    *list.changes.borrow()
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
